// A story: what one writer does to one table, step by step, and what the table must hold after each step.
//
// Told to a store that fails somewhere, it is checked afterwards against the store below as another process would find it. One commit a step;
// step number n is commit identifier n, counted from 1. Plain values; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "format/table_schema.h"

namespace headrace::crash {

struct Row {
  int64_t id = 0;
  std::string name;
  int32_t amount = 0;
  auto operator<=>(const Row&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Row& row);

enum class Kind : int8_t { kInsert = 0, kUpdateBefore = 1, kUpdateAfter = 2, kDelete = 3 };

struct Change {
  Kind kind = Kind::kInsert;
  Row row;
  auto operator<=>(const Change&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Change& change);

struct Step {
  std::vector<Change> changes;
  bool full_compaction = false;
};

struct Story {
  std::string name;
  bool has_key = true;
  std::string partition_column;  // "" or "name"
  std::map<std::string, std::string> options;
  std::vector<Step> steps;

  NewTable Table() const;
  int last_step() const { return static_cast<int>(steps.size()); }
};

// The rows after the first `steps` steps, sorted.
std::vector<Row> StateAfter(const Story& story, int steps);

// The changes that a follower must have seen of each row identity, in order, after the first `steps` steps. With the producer `input` that
// is every change written; with `none` the last of each key in each step.
std::map<int64_t, std::vector<Change>> ChangesAfter(const Story& story, int steps);

// Random inserts, updates (both images), deletes and, at every third step, a full compaction. The same seed gives the same story.
Story MakeStory(std::string name, uint64_t seed, int steps, bool has_key,
                std::map<std::string, std::string> options, std::string partition_column = "");

// The same story of other ids: each id is moved up by `offset`.
Story MoveIds(Story story, int64_t offset);

}  // namespace headrace::crash
