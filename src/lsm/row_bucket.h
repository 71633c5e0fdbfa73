// The BucketTree of an append table: rows in the order they came, in files that are only ever joined. See bucket_tree.h.
#pragma once

#include <memory>
#include <vector>

#include "lsm/bucket_tree.h"
#include "lsm/tree_changes.h"

namespace headrace {

class RowBucket final : public BucketTree {
 public:
  static Result<std::unique_ptr<BucketTree>> Open(BucketTreeSpec spec, const std::vector<DataFileMeta>& live);

  Status Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                const std::shared_ptr<arrow::Array>& kinds) override;
  int64_t buffered_rows() const override { return buffered_rows_; }
  int64_t buffered_bytes() const override { return buffered_bytes_; }
  // Files of an append table are joined without being sorted: there is nothing to gain from putting rows aside.
  Result<bool> Spill() override { return false; }
  Status Flush() override;
  bool ShouldWaitForCompaction() const override { return false; }
  bool HasFilesForLookup() const override { return false; }
  std::optional<CompactionPlan> PickCompaction(bool full) override;
  bool compaction_under_way() const override { return compacting_; }
  Result<CompactionResult> RunCompaction(const CompactionPlan& plan) const override;
  Status ApplyCompaction(const CompactionResult& result) override;
  Status DropCompaction(const CompactionResult* result) override;
  FileChange TakeChange() override { return changes_.Take(); }
  Status Discard() override;
  int64_t max_sequence() const override { return next_sequence_ - 1; }
  std::vector<DataFileMeta> LiveFiles() const override { return live_; }

 private:
  RowBucket(BucketTreeSpec spec, const std::vector<DataFileMeta>& live);

  BucketTreeSpec spec_;  // changes with an applied compaction: its index entries and deletions
  FileNames names_;
  std::vector<DataFileMeta> live_;  // in sequence order
  std::vector<std::shared_ptr<arrow::RecordBatch>> buffer_;
  int64_t buffered_rows_ = 0;
  int64_t buffered_bytes_ = 0;
  TreeChanges changes_;
  int64_t next_sequence_ = 0;  // of the next row that comes in
  bool compacting_ = false;
};

}  // namespace headrace
