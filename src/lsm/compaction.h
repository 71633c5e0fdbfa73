// Carrying out a compaction plan of a merge tree.
//
// Sections that overlap are merged and rewritten on the output level; a file that overlaps nothing only changes its level, unless
// it is small (below 0.7 of the target size: rewritten with its neighbours) or may hold deletes that must not reach the top
// level. True afterwards: reading the tree gives the same rows; every row keeps its sequence number. On failure no new
// file is left. Source: MergeTreeCompactTask, MergeTreeCompactRewriter.
#pragma once

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"
#include "lsm/compaction_picker.h"
#include "lsm/merge_policy.h"

namespace headrace {

// The increment has `removed` (with the levels they are listed on) and `added` alone.
Result<FileIncrement> Compact(const CompactionPlan& plan, const BucketFiles& files, FileNames* names,
                              const MergePolicy& policy);

// Files below this size are worth rewriting: 0.7 of target-file-size.
int64_t CompactionFileBytes(const TableOptions& options);

}  // namespace headrace
