#include "file/data_file_writer.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <parquet/metadata.h>

#include "file/file_facts.h"
#include "file/parquet_file.h"
#include "file/physical_columns.h"

namespace headrace {
namespace {

constexpr int64_t kRowsBetweenSizeChecks = 1000;
// Files of the levels above 0 are where keys are looked up: a small page a column is read for one. Level 0 and changelogs are read whole.
constexpr int64_t kLookedUpPageRows = 1024;

// Rolls over Parquet files of one role; key-value and row files differ only in their plan of facts.
class RollingWriter final : public DataFileWriter {
 public:
  RollingWriter(const FileWriteSpec& spec, FactsPlan plan, int64_t first_sequence, ParquetSettings settings)
      : spec_(spec),
        plan_(std::move(plan)),
        next_sequence_(first_sequence),
        settings_(std::move(settings)),
        target_bytes_(std::max<int64_t>(1, spec.options->target_file_bytes)) {}
  ~RollingWriter() override { Abort(); }

  Status Write(const arrow::RecordBatch& batch) override {
    if (state_ != State::kOpen)
      return Invalid("writing into ", spec_.directory, ": the writer is closed or has failed");
    const Status status = WriteSlices(*Stored(batch));
    if (!status.ok()) Abort();
    return status;
  }

  Result<std::vector<DataFileMeta>> Close() override {
    if (state_ != State::kOpen)
      return Invalid("closing files in ", spec_.directory, ": the writer is closed or has failed");
    const Status status = CloseFile();
    if (!status.ok()) {
      Abort();
      return status;
    }
    state_ = State::kClosed;
    return std::move(files_);
  }

  // After Close() the files belong to the caller.
  void Abort() override {
    if (state_ != State::kOpen) return;
    state_ = State::kFailed;
    file_.reset();
    for (const DataFileMeta& file : files_) (void)spec_.store->Delete(PathOf(file.name));
    files_.clear();
  }

  int64_t row_count() const override { return row_count_; }

 private:
  enum class State { kOpen, kClosed, kFailed };

  // The batch without the columns that the file does not store.
  std::shared_ptr<arrow::RecordBatch> Stored(const arrow::RecordBatch& batch) const {
    const int dropped = std::min(plan_.dropped_columns, batch.num_columns());
    if (dropped == 0) return batch.Slice(0);
    arrow::FieldVector fields = batch.schema()->fields();
    arrow::ArrayVector columns = batch.columns();
    fields.erase(fields.begin(), fields.begin() + dropped);
    columns.erase(columns.begin(), columns.begin() + dropped);
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
  }

  std::string PathOf(const std::string& name) const { return spec_.directory + "/" + name; }

  Status WriteSlices(const arrow::RecordBatch& batch) {
    for (int64_t row = 0; row < batch.num_rows();) {
      if (file_ == nullptr) HEADRACE_RETURN_NOT_OK(OpenFile(*batch.Slice(row)));
      const int64_t count = std::min(batch.num_rows() - row, RowsUntilCheck(batch));
      const std::shared_ptr<arrow::RecordBatch> slice = batch.Slice(row, count);
      HEADRACE_RETURN_NOT_OK(file_->Write(*slice));
      HEADRACE_RETURN_NOT_OK(facts_->Add(*slice));
      row += count;
      row_count_ += count;
      if (file_->EstimatedBytes() >= target_bytes_) HEADRACE_RETURN_NOT_OK(CloseFile());
    }
    return Status::OK();
  }

  // Far from the target size a look is not worth cutting the batch: at most half of the rows that would still fit.
  int64_t RowsUntilCheck(const arrow::RecordBatch& batch) const {
    int64_t bytes = file_->EstimatedBytes();
    int64_t rows = facts_->row_count();
    if (rows == 0) {
      bytes = std::max<int64_t>(1, arrow::util::ReferencedBufferSize(batch).ValueOr(batch.num_rows() * 64));
      rows = batch.num_rows();
      const double fitting =
          static_cast<double>(target_bytes_) * static_cast<double>(rows) / static_cast<double>(bytes);
      return Rounded(fitting / 2);
    }
    const double left = static_cast<double>(target_bytes_ - bytes);
    return Rounded(left * static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(1, bytes)) / 2);
  }

  static int64_t Rounded(double rows) {
    constexpr double kMost = 1 << 30;
    const auto whole = static_cast<int64_t>(std::clamp(rows, 0.0, kMost)) / kRowsBetweenSizeChecks;
    return std::max<int64_t>(1, whole) * kRowsBetweenSizeChecks;
  }

  Status OpenFile(const arrow::RecordBatch& first) {
    name_ = spec_.role == FileRole::kData ? spec_.names->NextData() : spec_.names->NextChangelog();
    HEADRACE_ASSIGN_OR_RETURN(
        file_, ParquetFile::Create(spec_.store, PathOf(name_), plan_.fields, settings_, first));
    facts_.emplace(&plan_, next_sequence_);
    return Status::OK();
  }

  Status CloseFile() {
    if (file_ == nullptr) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<parquet::FileMetaData> footer, file_->Close());
    DataFileMeta& meta = files_.emplace_back();  // listed at once, so that Abort() deletes it
    meta.name = name_;
    meta.size_bytes = file_->size_bytes();
    meta.schema_id = spec_.schema->id;
    meta.level = spec_.level;
    meta.source = spec_.source;
    meta.creation_local_ms = spec_.clock->LocalNowMs();
    file_.reset();
    next_sequence_ += facts_->row_count();
    const Status status = facts_->Finish(*footer, spec_.options->stats_dense_store, &meta);
    return status.ok() ? status : WithContext("statistics of " + PathOf(name_), status);
  }

  FileWriteSpec spec_;
  FactsPlan plan_;
  int64_t next_sequence_;
  ParquetSettings settings_;
  int64_t target_bytes_;
  State state_ = State::kOpen;
  int64_t row_count_ = 0;
  std::string name_;
  std::unique_ptr<ParquetFile> file_;
  std::optional<FileFacts> facts_;
  std::vector<DataFileMeta> files_;  // closed and durable
};

Result<std::unique_ptr<DataFileWriter>> OpenWriter(const FileWriteSpec& spec, FactsPlan plan,
                                                   int64_t first_sequence) {
  ParquetSettings settings;
  const bool own = spec.role == FileRole::kChangelog && !spec.options->changelog_compression.empty();
  settings.compression = own ? spec.options->changelog_compression : spec.options->file_compression;
  settings.zstd_level = spec.options->zstd_level;
  settings.dictionary = spec.options->parquet_dictionary;
  settings.pack_integers = spec.options->integer_encoding == IntegerEncoding::kDelta;
  settings.pool = WriterPool(spec.pool);
  settings.row_group_bytes = spec.memory_bytes;
  if (spec.role == FileRole::kData && spec.level > Level(0)) settings.page_rows = kLookedUpPageRows;
  HEADRACE_RETURN_NOT_OK(CheckParquetCompression(settings.compression));
  return std::make_unique<RollingWriter>(spec, std::move(plan), first_sequence, std::move(settings));
}

}  // namespace

FileNames::FileNames(std::string uuid, const TableOptions& options)
    : uuid_(std::move(uuid)),
      data_prefix_(options.data_file_prefix),
      changelog_prefix_(options.changelog_file_prefix) {}

std::string FileNames::NextData() {
  return data_prefix_ + uuid_ + "-" + std::to_string(next_++) + ".parquet";
}

std::string FileNames::NextChangelog() {
  return changelog_prefix_ + uuid_ + "-" + std::to_string(next_++) + ".parquet";
}

Result<std::unique_ptr<DataFileWriter>> OpenKeyValueWriter(const FileWriteSpec& spec) {
  return OpenWriter(spec, PlanKeyValueFacts(spec.schema, *spec.options, spec.level), 0);
}

Result<std::unique_ptr<DataFileWriter>> OpenRowWriter(const FileWriteSpec& spec, int64_t first_sequence) {
  return OpenWriter(spec, PlanRowFacts(spec.schema, *spec.options, spec.level), first_sequence);
}

}  // namespace headrace
