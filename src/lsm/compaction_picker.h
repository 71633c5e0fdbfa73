// Which runs to compact next: universal compaction, decided from sizes alone.
//
// A plan takes a prefix of the runs, newest first, so that age order is kept; it never writes to level 0, and a run on the output
// level is always part of it. Pure functions of values, exactly as Java Paimon 1.3.1 decides. Source: UniversalCompaction,
// CompactStrategy, MergeTreeCompactManager.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/table_options.h"
#include "lsm/levels.h"

namespace headrace {

struct CompactionPolicy {
  int32_t run_trigger = 5;                       // num-sorted-run.compaction-trigger
  int32_t max_size_amplification_percent = 200;  // compaction.max-size-amplification-percent
  int32_t size_ratio_percent = 1;                // compaction.size-ratio
};

CompactionPolicy CompactionPolicyOf(const TableOptions& options);

struct CompactionPlan {
  std::vector<TreeFilePtr> files;  // newest run first
  Level output{0};
  Level max_level{0};         // of the tree
  bool drop_deletes = false;  // nothing older lies below the output
};

// The compaction that the tree's shape asks for, or nothing.
std::optional<CompactionPlan> PickCompaction(const Levels& levels, const CompactionPolicy& policy);

// Everything to the top level; nothing when all of it is there already.
std::optional<CompactionPlan> PickFullCompaction(const Levels& levels);

}  // namespace headrace
