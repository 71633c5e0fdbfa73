// Turning the rows of a sheet into Arrow columns.
#include "api/sheet.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace headrace {
namespace {

Result<std::shared_ptr<arrow::Array>> NumberColumn(const std::vector<std::vector<SheetCell>>& rows,
                                                   size_t column) {
  arrow::Int64Builder builder;
  for (const auto& row : rows) {
    const int64_t* number = std::get_if<int64_t>(&row[column]);
    HEADRACE_RETURN_NOT_OK(number != nullptr ? builder.Append(*number) : builder.AppendNull());
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> TextColumn(const std::vector<std::vector<SheetCell>>& rows,
                                                 size_t column) {
  arrow::StringBuilder builder;
  for (const auto& row : rows) {
    const std::string* text = std::get_if<std::string>(&row[column]);
    HEADRACE_RETURN_NOT_OK(text != nullptr ? builder.Append(*text) : builder.AppendNull());
  }
  return builder.Finish();
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> Sheet::Finish() const {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool number = columns_[i].number;
    fields.push_back(arrow::field(columns_[i].name, number ? arrow::int64() : arrow::utf8()));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> array,
                              number ? NumberColumn(rows_, i) : TextColumn(rows_, i));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), static_cast<int64_t>(rows_.size()),
                                  std::move(arrays));
}

}  // namespace headrace
