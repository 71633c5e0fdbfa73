// Rows of files as they are, one file after the other.
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "lsm/merge.h"

namespace headrace {
namespace {

std::shared_ptr<arrow::Schema> SchemaOf(const TableSchema& schema, const ReadColumns& columns) {
  std::vector<DataField> fields;
  if (columns.keys) fields = KeyFields(schema);
  const std::vector<DataField> own = SequenceAndKindFields();
  if (columns.sequence) fields.push_back(own[0]);
  if (columns.kind) fields.push_back(own[1]);
  const std::vector<DataField> values = schema.FieldsOf(columns.values);
  fields.insert(fields.end(), values.begin(), values.end());
  return ToArrowSchema(fields);
}

class Concatenation final : public RowStream {
 public:
  Concatenation(BucketFiles files, std::vector<DataFileMeta> metas, ReadColumns columns, int64_t batch_rows)
      : files_(std::move(files)),
        metas_(std::move(metas)),
        columns_(std::move(columns)),
        batch_rows_(batch_rows),
        schema_(SchemaOf(*files_.schema, columns_)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (reader_ == nullptr) {
        if (next_ == metas_.size()) return nullptr;
        HEADRACE_ASSIGN_OR_RETURN(reader_, files_.Open(metas_[next_++], columns_, batch_rows_));
      }
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, reader_->Next());
      if (batch == nullptr) {
        reader_.reset();
      } else if (batch->num_rows() > 0) {
        return batch;
      }
    }
  }

 private:
  BucketFiles files_;
  std::vector<DataFileMeta> metas_;
  ReadColumns columns_;
  int64_t batch_rows_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t next_ = 0;
  std::unique_ptr<DataFileReader> reader_;
};

}  // namespace

Result<std::unique_ptr<RowStream>> OpenConcatenation(const BucketFiles& files,
                                                     std::vector<DataFileMeta> metas, ReadColumns columns,
                                                     int64_t batch_rows) {
  for (const std::string& name : columns.values) {
    if (files.schema->FieldIndex(name) < 0) return NotFound("there is no column '", name, "' to read");
  }
  return std::make_unique<Concatenation>(files, std::move(metas), std::move(columns), batch_rows);
}

}  // namespace headrace
