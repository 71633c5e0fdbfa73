// Looks at a table as a process that knows nothing finds it, and says what is wrong with it.
//
// True of a sound table: its snapshots are numbered without a gap; each names only files that exist with the size they should have; each
// holds exactly the rows of the steps committed so far, in their order; a step has one APPEND and at most one COMPACT snapshot; the
// changes of all snapshots together are those of these steps, each once and in each key's order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/table.h"
#include "io/store.h"
#include "tests/crash/story.h"
#include "tests/crash/teller.h"

namespace headrace::crash {

// A writer whose story the table should tell, and what that writer knew last.
struct Writer {
  std::string user;
  const Story* story = nullptr;
  const Progress* progress = nullptr;
};

// What was found, for further checks.
struct Finding {
  std::vector<std::string> faults;  // empty: sound
  bool exists = false;
  std::map<std::string, int> steps;  // of each writer's story, that the newest snapshot holds
  int64_t snapshots = 0;
  std::map<int64_t, std::string> sound;  // snapshots that were looked into, and their bytes
};

// Checks that the table holds at least what each writer had acknowledged, and at most the step that it was about.
// Snapshots that `before` found sound are only checked to be the same still.
Finding Witness(const std::shared_ptr<Store>& store, const std::vector<Writer>& writers,
                const Finding* before = nullptr);
Finding Witness(const std::shared_ptr<Store>& store, const Story& story, const Progress& progress,
                const Finding* before = nullptr);

// The same of a table that is open.
Result<std::vector<Row>> ReadState(const Table& table);
Result<std::map<int64_t, std::vector<Change>>> ReadChanges(const Table& table);

// Reads the newest state through a store that may fail: the rows, or the error. Never an error disguised as rows.
Result<std::vector<Row>> ReadState(const std::shared_ptr<Store>& store);
// All changes from snapshot 1 on, of each id in order.
Result<std::map<int64_t, std::vector<Change>>> ReadChanges(const std::shared_ptr<Store>& store);

}  // namespace headrace::crash
