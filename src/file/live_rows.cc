#include "file/live_rows.h"

#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

namespace headrace {
namespace {

class LiveRows final : public DataFileReader {
 public:
  LiveRows(std::unique_ptr<DataFileReader> reader, std::shared_ptr<const DeletionVector> deleted,
           arrow::MemoryPool* pool)
      : reader_(std::move(reader)),
        deleted_(std::move(deleted)),
        pool_(pool == nullptr ? arrow::default_memory_pool() : pool) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return reader_->schema(); }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, reader_->Next());
      if (batch == nullptr) return batch;
      const int64_t begin = next_row_;
      next_row_ += batch->num_rows();
      const int64_t hidden = deleted_->CountDeleted(begin, next_row_);
      if (hidden == 0) return batch;
      if (hidden < batch->num_rows()) return Filtered(*batch, begin, hidden);
    }
  }

 private:
  // Column by column: as a whole, a batch would be gathered row by row where most of it can be copied.
  Result<std::shared_ptr<arrow::RecordBatch>> Filtered(const arrow::RecordBatch& batch, int64_t begin,
                                                       int64_t hidden) const {
    const int64_t rows = batch.num_rows();
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bits,
                              arrow::AllocateBuffer((rows + 7) / 8, pool_));
    std::memset(bits->mutable_data(), 0xFF, static_cast<size_t>(bits->size()));
    deleted_->ClearDeleted(begin, begin + rows, bits->mutable_data());
    const auto live = std::make_shared<arrow::BooleanArray>(rows, std::move(bits));
    arrow::compute::ExecContext context(pool_);
    arrow::ArrayVector columns;
    for (const std::shared_ptr<arrow::Array>& column : batch.columns()) {
      HEADRACE_ASSIGN_OR_RETURN(const arrow::Datum kept,
                                arrow::compute::Filter(column, arrow::Datum(live),
                                                       arrow::compute::FilterOptions::Defaults(), &context));
      columns.push_back(kept.make_array());
    }
    return arrow::RecordBatch::Make(batch.schema(), rows - hidden, std::move(columns));
  }

  std::unique_ptr<DataFileReader> reader_;
  std::shared_ptr<const DeletionVector> deleted_;
  arrow::MemoryPool* pool_;
  int64_t next_row_ = 0;  // of the file
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> HideDeleted(std::unique_ptr<DataFileReader> reader,
                                                    const DataFileMeta& file,
                                                    std::shared_ptr<const DeletionVector> deleted,
                                                    arrow::MemoryPool* pool) {
  if (const int64_t beyond = deleted->NextDeleted(file.row_count); beyond >= 0)
    return Corruption("reading data file ", file.name, ": its deletion vector marks row ", beyond,
                      ", the file has ", file.row_count, " rows");
  if (deleted->empty()) return reader;
  return std::make_unique<LiveRows>(std::move(reader), std::move(deleted), pool);
}

}  // namespace headrace
