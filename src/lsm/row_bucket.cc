#include "lsm/row_bucket.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "base/uuid.h"
#include "file/physical_columns.h"
#include "lsm/append_compaction.h"
#include "lsm/bucket_index.h"
#include "lsm/row_kinds.h"

namespace headrace {

Result<std::unique_ptr<BucketTree>> RowBucket::Open(BucketTreeSpec spec,
                                                    const std::vector<DataFileMeta>& live) {
  return std::unique_ptr<BucketTree>(new RowBucket(std::move(spec), live));
}

RowBucket::RowBucket(BucketTreeSpec spec, const std::vector<DataFileMeta>& live)
    : spec_(std::move(spec)), names_(spec_.uuid, *spec_.files.options), live_(InSequenceOrder(live)) {
  // Without buckets every writer numbers from 0: order means nothing there.
  if (spec_.files.options->bucket < 0) return;
  for (const DataFileMeta& file : live_) next_sequence_ = std::max(next_sequence_, file.max_sequence + 1);
}

Status RowBucket::Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                         const std::shared_ptr<arrow::Array>& kinds) {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> bytes,
                            KindsOrInserts(kinds, rows->num_rows(), spec_.files.pool));
  const int8_t* kind = static_cast<const arrow::Int8Array&>(*bytes).raw_values();
  const int8_t* wrong = std::find_if(kind, kind + rows->num_rows(), [](int8_t k) { return k != 0; });
  if (wrong != kind + rows->num_rows()) {
    return Invalid("row ", wrong - kind, " is a ", ShortName(static_cast<RowKind>(*wrong)),
                   "; a table without a primary key takes inserts (+I) alone");
  }
  if (rows->num_rows() == 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const int64_t batch_bytes, arrow::util::ReferencedBufferSize(*rows));
  buffer_.push_back(rows);
  buffered_rows_ += rows->num_rows();
  buffered_bytes_ += batch_bytes;
  next_sequence_ += rows->num_rows();
  return Status::OK();
}

Status RowBucket::Flush() {
  if (buffer_.empty()) return Status::OK();
  const FileWriteSpec write = spec_.files.WriteSpec(&names_, FileRole::kData, Level(0), FileSource::kAppend);
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileWriter> writer,
                            OpenRowWriter(write, next_sequence_ - buffered_rows_));
  for (const std::shared_ptr<arrow::RecordBatch>& batch : buffer_)
    HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
  FileIncrement flushed;
  HEADRACE_ASSIGN_OR_RETURN(flushed.added, writer->Close());
  live_.insert(live_.end(), flushed.added.begin(), flushed.added.end());
  changes_.AddFlushed(std::move(flushed));
  buffer_.clear();
  buffered_rows_ = 0;
  buffered_bytes_ = 0;
  return Status::OK();
}

std::optional<CompactionPlan> RowBucket::PickCompaction(bool full) {
  const TableOptions& options = *spec_.files.options;
  if (compacting_ || (options.write_only && !full)) return std::nullopt;
  const std::optional<std::vector<DataFileMeta>> inputs =
      PickAppendCompaction(live_, options, full, spec_.files.deletions.get());
  if (!inputs.has_value()) return std::nullopt;
  CompactionPlan plan;
  for (const DataFileMeta& meta : *inputs)
    plan.files.push_back(std::make_shared<const TreeFile>(TreeFile{meta, {}, {}}));
  compacting_ = true;
  return plan;
}

Result<CompactionResult> RowBucket::RunCompaction(const CompactionPlan& plan) const {
  std::vector<DataFileMeta> inputs;
  for (const TreeFilePtr& file : plan.files) inputs.push_back(file->meta);
  FileNames names(NewUuid(), *spec_.files.options);
  CompactionResult result;
  HEADRACE_ASSIGN_OR_RETURN(result.increment, CompactAppend(inputs, spec_.files, &names));
  if (spec_.files.deletions == nullptr) return result;
  const Status dropped = DropDeletions(spec_.files, spec_.index, &result.increment);
  if (!dropped.ok()) {
    (void)DeleteMade(result.increment, spec_.files);
    return dropped;
  }
  result.deletions =
      std::make_shared<const DeletionVectors>(DeletionsWithout(*spec_.files.deletions, inputs));
  return result;
}

Status RowBucket::ApplyCompaction(const CompactionResult& result) {
  compacting_ = false;
  for (const DataFileMeta& gone : result.increment.removed) {
    const auto found = std::find(live_.begin(), live_.end(), gone);
    if (found == live_.end())
      return Invalid("data file ", gone.name, " is to be removed from a bucket that does not hold it");
    live_.erase(found);
  }
  live_.insert(live_.end(), result.increment.added.begin(), result.increment.added.end());
  live_ = InSequenceOrder(std::move(live_));
  if (result.deletions != nullptr) spec_.files.deletions = result.deletions;
  spec_.index = IndexAfter(std::move(spec_.index), result.increment);
  return changes_.AddCompacted(result.increment, spec_.files);
}

Status RowBucket::DropCompaction(const CompactionResult* result) {
  compacting_ = false;
  return result == nullptr ? Status::OK() : DeleteMade(result->increment, spec_.files);
}

Status RowBucket::Discard() {
  buffer_.clear();
  return changes_.Discard(spec_.files);
}

}  // namespace headrace
