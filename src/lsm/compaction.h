// Carrying out a compaction plan of a merge tree.
//
// Sections that overlap are merged and rewritten on the output level; a file that overlaps nothing only changes its level, unless
// it is small (below 0.7 of the target size: rewritten with its neighbours) or may hold deletes that must not reach the top
// level. Where the table asks for it the compaction also tells the changelog what it made of level 0 (producer lookup) or of everything
// (full-compaction), and marks replaced rows of deeper files as deleted instead of rewriting them (deletion vectors).
// True afterwards: reading the tree gives the same rows; every row keeps its sequence number. On failure no new
// file is left. Source: MergeTreeCompactTask, MergeTreeCompactRewriter, ChangelogMergeTreeRewriter, LookupMergeTreeCompactRewriter,
// FullChangelogMergeTreeCompactRewriter, FileRewriteCompactTask.
#pragma once

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"
#include "lsm/compaction_picker.h"
#include "lsm/merge_policy.h"

namespace headrace {

class LookupCache;  // lsm/lookup_cache.h

struct CompactionTask {
  CompactionPlan plan;
  BucketFiles files;  // with the bucket's deletion vectors as of the plan
  MergePolicy policy;
  LookupCache* lookup_cache = nullptr;  // what lookups of the engine share; null: one of its own
  bool tells_changes = true;            // false: the files before it do not count for a stream (an overwrite)
};

// What a compaction changed: `removed` files with the levels they are listed on, `added`, `changelog`; and where vectors changed the
// bucket's complete new ones.
struct Compacted {
  FileIncrement increment;
  std::shared_ptr<const DeletionVectors> deletions;  // null: they are as before
};
Result<Compacted> Compact(const CompactionTask& task, FileNames* names);

// Files below this size are worth rewriting: 0.7 of target-file-size.
int64_t CompactionFileBytes(const TableOptions& options);

}  // namespace headrace
