// What *decide* hands to *reduce* where a key's row is put together column by column: the steps that make each column.
//
// Columns of one group (a sequence group, or everything else) share one list of steps a result row: which version comes next, and what
// it does. A step names a version, never a value; how a function takes it is the reducer's business (aggregate_column.h).
// Plain values, one window at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "lsm/segments.h"

namespace headrace {

enum class Step : uint8_t {
  kWhole,  // the version as it is stored is the result: the only one of its key, or the delete that removed the row
  kStart,  // a retraction that what follows starts from: columns that are NOT NULL have its value, the others none
  kAdd,          // an added version, not older than what came before
  kLateAdd,      // an added version that the group's order columns put before what is there
  kRetract,      // takes something back
  kLateRetract,  // the same, put before what is there
};

struct Steps {
  std::vector<RowRef> rows;
  std::vector<Step> steps;       // of each of the rows
  std::vector<uint32_t> starts;  // the steps of result i are [starts[i], starts[i + 1]), or to the end

  size_t count() const { return starts.size(); }
  size_t end(size_t i) const { return i + 1 < starts.size() ? starts[i + 1] : rows.size(); }

  void Begin() { starts.push_back(static_cast<uint32_t>(rows.size())); }
  void Push(Step step, RowRef row) {
    rows.push_back(row);
    steps.push_back(step);
  }
  // Forgets the steps of the result under way.
  void Restart() {
    rows.resize(starts.back());
    steps.resize(starts.back());
  }
  void clear() {
    rows.clear();
    steps.clear();
    starts.clear();
  }
};

// Everything about the results of some segments but their values.
struct Decision {
  std::vector<uint32_t> segments;  // those that have a result, ascending
  std::vector<RowRef> newest;  // of each result: the last version that took part, which gives key and number
  std::vector<int8_t> kinds;
  std::vector<Steps> groups;  // one a column group

  void clear() {
    segments.clear();
    newest.clear();
    kinds.clear();
    for (Steps& steps : groups) steps.clear();
  }
};

}  // namespace headrace
