// Which runs to compact next: universal compaction, decided from sizes alone.
//
// A plan takes a prefix of the runs, newest first, so that age order is kept; it never writes to level 0, and a run on the output
// level is always part of it. Pure functions of values, as Java Paimon decides; where 1.3.1 and 2.x differ (docs/compatibility.md), as 2.x.
// Source: UniversalCompaction, EarlyFullCompaction, ForceUpLevel0Compaction, OffPeakHours, CompactStrategy, MergeTreeCompactManager.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/deletion_vector.h"
#include "format/table_options.h"
#include "lsm/levels.h"

namespace headrace {

struct CompactionPolicy {
  int32_t run_trigger = 5;                       // num-sorted-run.compaction-trigger
  int32_t max_size_amplification_percent = 200;  // compaction.max-size-amplification-percent
  int32_t size_ratio_percent = 1;                // compaction.size-ratio, and in off-peak hours its extra
  // Early full compactions; only where there is more than one run.
  std::optional<int64_t> full_interval_ms = {};        // compaction.optimization-interval
  std::optional<int64_t> small_bucket_bytes = {};      // compaction.total-size-threshold
  std::optional<int64_t> most_incremental_bytes = {};  // compaction.incremental-size-threshold
  bool always_drop_deletes = false;  // deletion vectors: nothing below the output counts any more
};

// `hour` of the local day, 0 to 23: decides about off-peak hours.
CompactionPolicy CompactionPolicyOf(const TableOptions& options, int hour);

// What a wall clock says at a pick (Clock::LocalNowMs). `last_full_ms`: when everything was last compacted into one run; nothing: not known.
struct CompactionTime {
  int64_t now_ms = 0;
  std::optional<int64_t> last_full_ms = {};
};

// What a tree tells of its last full compaction: the newest file of the top level.
std::optional<int64_t> LastFullCompaction(const Levels& levels);

struct CompactionPlan {
  std::vector<TreeFilePtr> files;  // newest run first
  Level output{0};
  Level max_level{0};         // of the tree
  bool drop_deletes = false;  // nothing older lies below the output
  bool everything = false;    // all runs, to the top level
  bool one_by_one = false;    // each file is rewritten by itself
  Levels tree = {};           // all the tree's files when the plan was made
};

// The compaction that the tree's shape asks for, or nothing.
std::optional<CompactionPlan> PickCompaction(const Levels& levels, const CompactionPolicy& policy,
                                             const CompactionTime& time = {});

// All of level 0, with as many of the deeper runs as are not much larger; nothing when level 0 is empty.
std::optional<CompactionPlan> PickLevelZero(const Levels& levels, const CompactionPolicy& policy);

// Everything to the top level. Where all of it is there already: the files that have deleted rows, or all when `rewrite_all`; else nothing.
std::optional<CompactionPlan> PickFullCompaction(const Levels& levels,
                                                 const DeletionVectors* deletions = nullptr,
                                                 bool rewrite_all = false);

}  // namespace headrace
