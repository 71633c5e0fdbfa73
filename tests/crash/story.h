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
  bool moves = false;            // the key lacks the partition column, and updates change it
  std::map<std::string, std::string> options;
  std::vector<Step> steps;

  NewTable Table() const;
  int last_step() const { return static_cast<int>(steps.size()); }
};
inline std::ostream& operator<<(std::ostream& out, const Story& story) { return out << story.name; }

// What a table must hold, and what its followers must have seen, after the steps applied so far, in the order in which they were committed.
// Steps may come from several writers of one table.
class Model {
 public:
  explicit Model(const Story& table);  // of its key and options, not of its steps

  void Apply(const Step& step);

  std::vector<Row> Rows() const;  // sorted
  // Of each id, in order. With the producer `input` and in append tables every change written; with `none` the last of each key in each step.
  const std::map<int64_t, std::vector<Change>>& changes() const { return changes_; }

 private:
  bool has_key_;
  bool every_change_;
  std::vector<Row> appended_;
  std::map<int64_t, Row> by_id_;
  std::map<int64_t, std::vector<Change>> changes_;
};

Model ModelOf(const Story& story);  // after all of its steps

// Random inserts, updates (both images), deletes and, at every third step, a full compaction. The same seed gives the same story.
Story MakeStory(std::string name, uint64_t seed, int steps, bool has_key,
                std::map<std::string, std::string> options, std::string partition_column = "",
                bool moves = false);

}  // namespace headrace::crash
