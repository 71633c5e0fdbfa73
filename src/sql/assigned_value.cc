// Casts, and lengths in characters and bytes.
#include "sql/assigned_value.h"

#include <algorithm>
#include <string_view>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "sql/duck_type.h"

namespace headrace {
namespace {

std::string Cast(const std::string& expression, const std::string& type) {
  return "CAST(" + expression + " AS " + type + ")";
}

bool IsText(const DataType& type) { return type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar; }

bool HasLength(const DataType& type) {
  return IsText(type) || type.root == TypeRoot::kBinary || type.root == TypeRoot::kVarBinary;
}

int64_t LengthOf(std::string_view value, const DataType& type) {
  if (!IsText(type)) return static_cast<int64_t>(value.size());
  // Bytes of UTF-8 that begin a character.
  return std::count_if(value.begin(), value.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

std::string AssignedSql(const std::string& expression, const DataType& type) {
  const std::string cast = Cast(expression, DuckTypeOf(type));
  switch (type.root) {
    case TypeRoot::kTimestamp:
      if (type.precision > 0) return cast;
      return Cast(Cast(Cast(expression, "TIMESTAMP"), "TIMESTAMP_S"), DuckTypeOf(type));
    case TypeRoot::kTimestampLtz:
      if (type.precision > 3) return cast;
      return std::string("date_trunc('") + (type.precision == 0 ? "second" : "milliseconds") + "', " + cast +
             ")";
    case TypeRoot::kTime:
      return "TIME '00:00:00' + to_milliseconds(epoch_ms(" + cast + ")" +
             (type.precision == 0 ? " // 1000 * 1000" : "") + ")";
    default: return cast;
  }
}

Status CheckLengths(const arrow::Array& values, const DataField& field) {
  if (!HasLength(field.type)) return Status::OK();
  const auto& texts = static_cast<const arrow::BinaryArray&>(values);
  for (int64_t row = 0; row < texts.length(); ++row) {
    // No value has more characters than bytes.
    if (texts.IsNull(row) || texts.value_length(row) <= field.type.length) continue;
    const int64_t length = LengthOf(texts.GetView(row), field.type);
    if (length > field.type.length)
      return Invalid("a value does not fit column ", field.name, " ", ToSql(field.type), ": it has ", length,
                     IsText(field.type) ? " characters" : " bytes");
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> FitColumns(const arrow::RecordBatch& batch, int first,
                                                       const std::vector<DataField>& fields,
                                                       const std::function<bool(const DataField&)>& checked) {
  arrow::ArrayVector columns;
  arrow::FieldVector arrow_fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const DataField& field = fields[i];
    arrow_fields.push_back(ToArrowField(field));
    std::shared_ptr<arrow::Array> column = batch.column(first + static_cast<int>(i));
    if (!column->type()->Equals(*arrow_fields.back()->type())) {
      auto cast = arrow::compute::Cast(*column, arrow_fields.back()->type());
      if (!cast.ok()) {
        return Invalid("a value does not fit column ", field.name, " ", ToSql(field.type), ": ",
                       cast.status().message());
      }
      column = std::move(cast).ValueUnsafe();
    }
    if (checked(field)) HEADRACE_RETURN_NOT_OK(CheckLengths(*column, field));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(arrow_fields)), batch.num_rows(),
                                  std::move(columns));
}

}  // namespace headrace
