// One bucket of a session: its tree, and the compaction that runs beside it.
//
// At most one compaction is under way; its result is taken over on the session's thread. One thread calls it.
// Source: MergeTreeWriter, MergeTreeCompactManager: when compactions start and when a writer waits for one.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <utility>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/task_group.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"
#include "lsm/bucket_tree.h"

namespace headrace {

class BucketWriter {
 public:
  // `base` is the snapshot that the tree's files are of. Without `compactors` a compaction runs where it is started.
  BucketWriter(std::unique_ptr<BucketTree> tree, BucketFiles files, SnapshotId base, TaskGroup* compactors)
      : tree_(std::move(tree)), files_(std::move(files)), base_(base), compactors_(compactors) {}
  ~BucketWriter();
  BucketWriter(const BucketWriter&) = delete;
  BucketWriter& operator=(const BucketWriter&) = delete;

  Status Append(const std::shared_ptr<arrow::RecordBatch>& rows, const std::shared_ptr<arrow::Array>& kinds);
  int64_t buffered_bytes() const { return tree_->buffered_bytes(); }

  // Makes room in memory: rows are put aside, or flushed where that cannot be.
  Status Relieve();
  // Buffer to files, then a compaction if the tree asks for one. Waits for the one under way when too many runs have gathered.
  Status Flush();
  // Buffer to files, then a compaction of everything (full) or as the tree asks. Waits for an earlier one; not for this one.
  Status Compact(bool full);
  // Everything to files, finished compactions taken over (the one under way too when `wait`, and then whatever it takes to empty level 0
  // of a table that needs lookup), and what all that changed.
  Result<FileChange> PrepareChange(bool wait);

  // What is flushed but not handed over yet, the buffer included; compactions are undone, their files deleted. The writer ends: it was
  // built on files that others have replaced.
  Result<FileIncrement> Salvage();

  SnapshotId base() const { return base_; }
  void set_base(SnapshotId base) { base_ = base; }
  // Holds rows or files that no PrepareChange has handed over.
  bool dirty() const { return dirty_; }
  bool compaction_under_way() const { return running_.valid(); }
  // The tree does not know of files that others have added: it starts no more compactions.
  bool stale() const { return stale_; }
  void set_stale() { stale_ = true; }
  // A compaction found a file missing. Usual when another writer's compaction was followed by expiry; else the table is damaged.
  const Status& lost() const { return lost_; }
  // Why the bucket could not be compacted since the last time this was asked: the overflow of a key, or OK. It keeps its files, and the next
  // PrepareChange tries again.
  Status TakeHeldBack() { return std::exchange(held_back_, Status::OK()); }

 private:
  // Whether there was one to start; without compactors it is done.
  Result<bool> StartCompaction(bool full);
  // Takes the result of the compaction under way, if it has ended or `wait`.
  Status FinishCompaction(bool wait);
  Status TakeOver(const Result<CompactionResult>& result);
  Status DropRunning();

  std::unique_ptr<BucketTree> tree_;  // null after Salvage
  BucketFiles files_;
  SnapshotId base_;
  TaskGroup* compactors_;
  std::future<Result<CompactionResult>> running_;
  bool dirty_ = false;
  bool stale_ = false;
  Status lost_;
  Status held_back_;  // while it is set, no compaction starts
};

}  // namespace headrace
