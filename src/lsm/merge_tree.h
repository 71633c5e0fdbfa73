// The BucketTree of a table with a primary key: a write buffer over levels of sorted runs. See bucket_tree.h.
#pragma once

#include <memory>
#include <vector>

#include "lsm/bucket_tree.h"
#include "lsm/levels.h"
#include "lsm/spilled_rows.h"
#include "lsm/tree_changes.h"
#include "lsm/write_buffer.h"

namespace headrace {

class MergeTree final : public BucketTree {
 public:
  static Result<std::unique_ptr<BucketTree>> Open(BucketTreeSpec spec, const std::vector<DataFileMeta>& live);

  Status Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                const std::shared_ptr<arrow::Array>& kinds) override;
  int64_t buffered_rows() const override { return buffer_.rows() + spilled_rows(); }
  int64_t buffered_bytes() const override { return buffer_.bytes(); }
  Result<bool> Spill() override;
  Status Flush() override;
  bool ShouldWaitForCompaction() const override;
  bool HasFilesForLookup() const override;
  std::optional<CompactionPlan> PickCompaction(bool full) override;
  bool compaction_under_way() const override { return compacting_; }
  Result<CompactionResult> RunCompaction(const CompactionPlan& plan) const override;
  Status ApplyCompaction(const CompactionResult& result) override;
  Status DropCompaction(const CompactionResult* result) override;
  FileChange TakeChange() override { return changes_.Take(); }
  Status Discard() override;
  int64_t max_sequence() const override { return next_sequence_ - 1; }
  std::vector<DataFileMeta> LiveFiles() const override;

 private:
  bool MarksAreWhole() const;
  MergeTree(BucketTreeSpec spec, KeyOrder key_order, Levels levels, WriteBuffer buffer,
            std::unique_ptr<SpilledRows> spilled);

  bool with_changelog() const;
  int64_t spilled_rows() const { return spilled_ == nullptr ? 0 : spilled_->rows(); }
  void ForgetRows();
  Status EditLevels(const FileIncrement& increment);
  std::optional<CompactionPlan> PickByShape();
  bool IsLevelZeroDue();

  BucketTreeSpec
      spec_;  // its index and deletions change where a compaction is applied, never while one is under way
  const KeyOrder key_order_;
  FileNames names_;
  Levels levels_;
  WriteBuffer buffer_;
  std::unique_ptr<SpilledRows> spilled_;  // older than the buffer; null: rows are not put aside
  TreeChanges changes_;
  int64_t next_sequence_;  // after the largest in any live file: numbers survive a restart
  bool compacting_ = false;
  int32_t picks_without_level_zero_ =
      0;  // lookup-compact = gentle: since level 0 was last taken along by force
  std::optional<int64_t> last_full_ms_;
};

}  // namespace headrace
