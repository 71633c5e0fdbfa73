// Which of two versions of a key is the newer one.
//
// In this order: the sequence fields, the sequence number, an add over a retraction, the file's age (lower level, then newer
// level-0 file). Where no two files that overlap in keys overlap in sequence numbers, numbers need not be read: the file's age
// then stands for them. Pure. Source: lsm.md §5; Java 1.3.1 leaves the last two to chance.
#pragma once

#include <cstdint>
#include <vector>

#include "file/physical_columns.h"
#include "lsm/run_reader.h"

namespace headrace {

// The files of a section with their age, run by run.
struct AgedSection {
  std::vector<std::vector<MergeFile>> runs;
  bool numbers_needed = false;  // age alone does not decide: sequence numbers (or fields) must be read
};

AgedSection AgeFiles(const Section& section, bool has_sequence_fields);

// Negative when a is the older one. `by_age`: age decides alone.
inline int CompareVersions(const LoadedRows& a, int64_t a_row, const LoadedRows& b, int64_t b_row,
                           bool by_age) {
  const int age = a.file->age < b.file->age ? -1 : 1;
  if (by_age) return age;
  if (a.order.size() > 0) {
    const int order = a.order.Compare(a_row, b.order, b_row);
    if (order != 0) return order;
  }
  if (a.numbers[a_row] != b.numbers[b_row]) return a.numbers[a_row] < b.numbers[b_row] ? -1 : 1;
  const bool a_retracts = IsRetract(a.kinds[a_row]);
  if (a_retracts != IsRetract(b.kinds[b_row])) return a_retracts ? -1 : 1;
  return age;
}

}  // namespace headrace
