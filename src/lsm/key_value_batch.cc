#include "lsm/key_value_batch.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"

namespace headrace {

KeyValueShape::KeyValueShape(const TableSchema& schema) : schema_(ToArrowSchema(KeyValueFields(schema))) {
  for (const std::string& key : schema.TrimmedPrimaryKeys()) key_columns_.push_back(schema.FieldIndex(key));
  const arrow::FieldVector& fields = schema_->fields();
  values_schema_ = arrow::schema(
      arrow::FieldVector(fields.begin() + static_cast<std::ptrdiff_t>(key_columns_.size()), fields.end()));
}

std::shared_ptr<arrow::RecordBatch> KeyValueShape::Assemble(
    std::shared_ptr<arrow::Array> sequences, std::shared_ptr<arrow::Array> kinds,
    const std::vector<std::shared_ptr<arrow::Array>>& values) const {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  columns.reserve(key_columns_.size() + 2 + values.size());
  for (const int key : key_columns_) columns.push_back(values[static_cast<size_t>(key)]);
  const int64_t rows = sequences->length();
  columns.push_back(std::move(sequences));
  columns.push_back(std::move(kinds));
  columns.insert(columns.end(), values.begin(), values.end());
  return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
}

std::shared_ptr<arrow::RecordBatch> KeyValueShape::Assemble(
    const arrow::RecordBatch& sequence_kind_values) const {
  const std::vector<std::shared_ptr<arrow::Array>> columns = sequence_kind_values.columns();
  return Assemble(columns[0], columns[1], {columns.begin() + 2, columns.end()});
}

std::vector<std::shared_ptr<arrow::Array>> ColumnsAt(const arrow::RecordBatch& batch,
                                                     const std::vector<int>& positions) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  columns.reserve(positions.size());
  for (const int position : positions) columns.push_back(batch.column(position));
  return columns;
}

}  // namespace headrace
