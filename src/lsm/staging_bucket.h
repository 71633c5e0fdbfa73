// The BucketTree of a postponed bucket: rows of a table with a primary key in the order they came, until a compaction gives each its bucket.
// See bucket_tree.h.
//
// Nothing is sorted, merged or numbered: every row has the sequence number -1, and several of one key may lie in one file. What is there
// already is of no concern. Files are Avro where every column has an Avro form, else Parquet. Source: PostponeBucketWriter.
#pragma once

#include <memory>
#include <vector>

#include "lsm/bucket_tree.h"
#include "lsm/key_value_batch.h"
#include "lsm/tree_changes.h"

namespace headrace {

class StagingBucket final : public BucketTree {
 public:
  static Result<std::unique_ptr<BucketTree>> Open(BucketTreeSpec spec);

  Status Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                const std::shared_ptr<arrow::Array>& kinds) override;
  int64_t buffered_rows() const override { return buffered_rows_; }
  int64_t buffered_bytes() const override { return buffered_bytes_; }
  // Files of rows as they came are as good as rows put aside.
  Result<bool> Spill() override { return false; }
  Status Flush() override;
  bool ShouldWaitForCompaction() const override { return false; }
  std::optional<CompactionPlan> PickCompaction(bool) override { return std::nullopt; }
  bool compaction_under_way() const override { return false; }
  bool HasFilesForLookup() const override { return false; }
  Result<CompactionResult> RunCompaction(const CompactionPlan& plan) const override;
  Status ApplyCompaction(const CompactionResult& result) override;
  Status DropCompaction(const CompactionResult*) override { return Status::OK(); }
  FileChange TakeChange() override { return changes_.Take(); }
  Status Discard() override;
  int64_t max_sequence() const override { return -1; }
  std::vector<DataFileMeta> LiveFiles() const override { return written_; }

 private:
  explicit StagingBucket(BucketTreeSpec spec);

  const BucketTreeSpec spec_;
  const KeyValueShape shape_;
  FileNames names_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> buffer_;  // in the columns of key-value files
  int64_t buffered_rows_ = 0;
  int64_t buffered_bytes_ = 0;
  TreeChanges changes_;
  std::vector<DataFileMeta> written_;
};

}  // namespace headrace
