#include "lsm/staging_bucket.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/util/byte_size.h>

#include "file/avro_data_file.h"
#include "lsm/row_kinds.h"

namespace headrace {

Result<std::unique_ptr<BucketTree>> StagingBucket::Open(BucketTreeSpec spec) {
  return std::unique_ptr<BucketTree>(new StagingBucket(std::move(spec)));
}

StagingBucket::StagingBucket(BucketTreeSpec spec)
    : spec_(std::move(spec)), shape_(*spec_.files.schema), names_(spec_.uuid, *spec_.files.options) {}

Status StagingBucket::Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                             const std::shared_ptr<arrow::Array>& kinds) {
  std::shared_ptr<arrow::RecordBatch> kept = rows;
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> kept_kinds,
                            KindsOrInserts(kinds, rows->num_rows(), spec_.files.pool));
  if (spec_.files.options->ignore_delete)
    HEADRACE_RETURN_NOT_OK(LeaveOutRetractions(&kept, &kept_kinds, spec_.files.pool));
  if (kept->num_rows() == 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::Array> sequences,
      arrow::MakeArrayFromScalar(
          arrow::Int64Scalar(-1), kept->num_rows(),
          spec_.files.pool == nullptr ? arrow::default_memory_pool() : spec_.files.pool));
  HEADRACE_ASSIGN_OR_RETURN(const int64_t bytes, arrow::util::ReferencedBufferSize(*kept));
  buffer_.push_back(shape_.Assemble(std::move(sequences), std::move(kept_kinds), kept->columns()));
  buffered_rows_ += kept->num_rows();
  buffered_bytes_ += bytes;
  return Status::OK();
}

Status StagingBucket::Flush() {
  if (buffer_.empty()) return Status::OK();
  const FileWriteSpec write = spec_.files.WriteSpec(&names_, FileRole::kData, Level(0), FileSource::kAppend);
  const bool avro = CheckAvroForm(*spec_.files.schema).ok();
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileWriter> writer,
                            avro ? OpenAvroKeyValueWriter(write) : OpenKeyValueWriter(write));
  for (const std::shared_ptr<arrow::RecordBatch>& batch : buffer_)
    HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
  FileIncrement flushed;
  HEADRACE_ASSIGN_OR_RETURN(flushed.added, writer->Close());
  written_.insert(written_.end(), flushed.added.begin(), flushed.added.end());
  changes_.AddFlushed(std::move(flushed));
  buffer_.clear();
  buffered_rows_ = 0;
  buffered_bytes_ = 0;
  return Status::OK();
}

Result<CompactionResult> StagingBucket::RunCompaction(const CompactionPlan&) const {
  return Invalid("compacting ", spec_.files.directory,
                 ": rows that wait for a bucket are not compacted there");
}

Status StagingBucket::ApplyCompaction(const CompactionResult&) {
  return Invalid("compacting ", spec_.files.directory,
                 ": rows that wait for a bucket are not compacted there");
}

Status StagingBucket::Discard() {
  buffer_.clear();
  return changes_.Discard(spec_.files);
}

}  // namespace headrace
