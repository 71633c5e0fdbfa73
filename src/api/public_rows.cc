// Schemas with Paimon's types, and the readers that give them.
#include "api/public_rows.h"

#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "base/error.h"
#include "headrace/table.h"

namespace headrace {
namespace {

class ShapedReader final : public arrow::RecordBatchReader {
 public:
  ShapedReader(std::unique_ptr<arrow::RecordBatchReader> rows, std::shared_ptr<arrow::Schema> schema)
      : rows_(std::move(rows)), schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = nullptr;
    if (rows_ == nullptr) return Status::OK();
    HEADRACE_RETURN_NOT_OK(rows_->ReadNext(batch));
    if (*batch != nullptr)
      *batch = arrow::RecordBatch::Make(schema_, (*batch)->num_rows(), (*batch)->columns());
    return Status::OK();
  }

 private:
  std::unique_ptr<arrow::RecordBatchReader> rows_;  // null: no rows
  std::shared_ptr<arrow::Schema> schema_;
};

class OneBatch final : public arrow::RecordBatchReader {
 public:
  explicit OneBatch(std::shared_ptr<arrow::RecordBatch> batch)
      : batch_(std::move(batch)), schema_(batch_->schema()) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = std::exchange(batch_, nullptr);
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;  // null: it has been given
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::shared_ptr<arrow::Schema> PublicSchemaOf(const std::vector<DataField>& fields) {
  arrow::FieldVector annotated;
  for (const DataField& field : fields) {
    annotated.push_back(ToArrowField(field)->WithMergedMetadata(
        arrow::key_value_metadata({kTypeMetadataKey}, {ToSql(field.type)})));
  }
  return arrow::schema(std::move(annotated));
}

std::unique_ptr<arrow::RecordBatchReader> WithSchema(std::unique_ptr<arrow::RecordBatchReader> rows,
                                                     std::shared_ptr<arrow::Schema> schema) {
  return std::make_unique<ShapedReader>(std::move(rows), std::move(schema));
}

std::unique_ptr<arrow::RecordBatchReader> ReaderOf(std::shared_ptr<arrow::RecordBatch> batch) {
  return std::make_unique<OneBatch>(std::move(batch));
}

}  // namespace headrace
