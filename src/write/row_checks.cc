#include "write/row_checks.h"

#include <algorithm>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "format/value.h"
#include "write/change_kinds.h"

namespace headrace {
namespace {

Status CheckColumns(const Table& table, const arrow::RecordBatch& rows) {
  const std::vector<DataField>& fields = table.schema->fields;
  if (rows.num_columns() != static_cast<int>(fields.size()))
    return Invalid("writing to table ", table.name, ": the rows have ", rows.num_columns(),
                   " columns, the table has ", fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto& given = rows.schema()->field(static_cast<int>(i));
    if (given->name() != fields[i].name)
      return Invalid("writing to table ", table.name, ": column ", i, " is '", given->name(), "', expected '",
                     fields[i].name, "'");
    const auto expected = ToArrowType(fields[i].type);
    if (!given->type()->Equals(*expected))
      return Invalid("writing to table ", table.name, ": column ", fields[i].name, " has the type ",
                     given->type()->ToString(), ", expected ", expected->ToString(), " for ",
                     ToSql(fields[i].type));
  }
  return Status::OK();
}

int64_t FirstNull(const arrow::Array& array) {
  for (int64_t row = 0; row < array.length(); ++row)
    if (array.IsNull(row)) return row;
  return array.length();
}

Status CheckNulls(const Table& table, const arrow::RecordBatch& rows) {
  const auto& keys = table.schema->primary_keys;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const DataField& field = table.schema->fields[static_cast<size_t>(i)];
    const bool is_key = std::find(keys.begin(), keys.end(), field.name) != keys.end();
    const auto& column = rows.column(i);
    if ((field.type.nullable && !is_key) || column->null_count() == 0) continue;
    return Invalid("writing to table ", table.name, ": row ", FirstNull(*column) + 1, " has null in column ",
                   field.name, ", which is ", is_key ? "part of the primary key" : "NOT NULL");
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> CheckKinds(const Table& table,
                                                 const std::shared_ptr<arrow::Array>& kinds, int64_t rows) {
  if (kinds == nullptr) return nullptr;
  if (kinds->type_id() != arrow::Type::INT8 || kinds->length() != rows || kinds->null_count() != 0)
    return Invalid("writing to table ", table.name, ": row kinds are ", kinds->length(), " values of type ",
                   kinds->type()->ToString(), " with ", kinds->null_count(), " nulls, expected ", rows,
                   " of int8 without null");
  const auto& values = static_cast<const arrow::Int8Array&>(*kinds);
  for (int64_t row = 0; row < rows; ++row) {
    if (values.Value(row) >= 0 && values.Value(row) <= 3) continue;
    return Invalid("writing to table ", table.name, ": row ", row + 1, " has the kind ", +values.Value(row),
                   ", which is none of 0 (+I), 1 (-U), 2 (+U), 3 (-D)");
  }
  return kinds;
}

// Null becomes the default: each row takes its own value or the one put behind the last row.
Result<std::shared_ptr<arrow::Array>> WithDefault(const Table& table, const DataField& field,
                                                  const std::shared_ptr<arrow::Array>& column,
                                                  arrow::MemoryPool* pool) {
  const auto value = ValueFromText(*field.default_value, field.type);
  if (!value.ok())
    return WithContext("default value of column " + field.name + " of table " + table.name, value.status());
  HEADRACE_ASSIGN_OR_RETURN(const auto one, ArrayOf(*value, field.type, 1, pool));
  HEADRACE_ASSIGN_OR_RETURN(const auto both, arrow::Concatenate({column, one}, pool));
  arrow::Int64Builder indices(pool);
  HEADRACE_RETURN_NOT_OK(indices.Reserve(column->length()));
  for (int64_t row = 0; row < column->length(); ++row)
    indices.UnsafeAppend(column->IsNull(row) ? column->length() : row);
  HEADRACE_ASSIGN_OR_RETURN(const auto picks, indices.Finish());
  return arrow::compute::Take(*both, *picks);
}

Result<std::shared_ptr<arrow::RecordBatch>> WithDefaults(const Table& table,
                                                         const std::shared_ptr<arrow::RecordBatch>& rows,
                                                         arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::RecordBatch> result = rows;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const DataField& field = table.schema->fields[static_cast<size_t>(i)];
    if (!field.default_value.has_value() || rows->column(i)->null_count() == 0) continue;
    HEADRACE_ASSIGN_OR_RETURN(const auto filled, WithDefault(table, field, rows->column(i), pool));
    HEADRACE_ASSIGN_OR_RETURN(result, result->SetColumn(i, rows->schema()->field(i), filled));
  }
  return result;
}

// A table without a key cannot find the row that a delete means.
Result<CheckedRows> InsertsOnly(const Table& table, CheckedRows checked, arrow::MemoryPool* pool) {
  if (checked.kinds == nullptr) return checked;
  const auto& kinds = static_cast<const arrow::Int8Array&>(*checked.kinds);
  arrow::Int64Builder kept(pool);
  for (int64_t row = 0; row < kinds.length(); ++row) {
    const int8_t kind = kinds.Value(row);
    if (!IsRetract(kind)) {
      HEADRACE_RETURN_NOT_OK(kept.Append(row));
      continue;
    }
    if (!table.options.ignore_delete)
      return Invalid("writing to table ", table.name, ": row ", row + 1, " has the kind ",
                     ShortName(static_cast<RowKind>(kind)),
                     ", but the table has no primary key: only inserts can be written; set ignore-delete to "
                     "drop deletes");
  }
  checked.kinds = nullptr;
  if (kept.length() == checked.rows->num_rows()) return checked;
  HEADRACE_ASSIGN_OR_RETURN(const auto picks, kept.Finish());
  HEADRACE_ASSIGN_OR_RETURN(const auto taken,
                            arrow::compute::Take(arrow::Datum(checked.rows), arrow::Datum(picks)));
  checked.rows = taken.record_batch();
  return checked;
}

}  // namespace

Result<CheckedRows> CheckRows(const Table& table, const std::shared_ptr<arrow::RecordBatch>& rows,
                              const std::shared_ptr<arrow::Array>& kinds, arrow::MemoryPool* pool) {
  HEADRACE_RETURN_NOT_OK(CheckColumns(table, *rows));
  HEADRACE_RETURN_NOT_OK(CheckNulls(table, *rows));
  CheckedRows checked;
  HEADRACE_ASSIGN_OR_RETURN(checked.kinds, CheckKinds(table, kinds, rows->num_rows()));
  HEADRACE_ASSIGN_OR_RETURN(checked.rows, WithDefaults(table, rows, pool));
  HEADRACE_ASSIGN_OR_RETURN(checked, WithChangeKinds(table, std::move(checked), pool));
  if (table.schema->has_primary_key()) return checked;
  return InsertsOnly(table, std::move(checked), pool);
}

}  // namespace headrace
