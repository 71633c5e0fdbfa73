// Paimon types to DuckDB's.
#include "sql/duck_type.h"

#include "sql/names.h"

namespace headrace {
namespace {

std::string TimestampOf(int32_t precision) {
  // Of 0 too: batches of tables have no coarser unit, and DuckDB no cast from it to seconds.
  if (precision <= 3) return "TIMESTAMP_MS";
  return precision <= 6 ? "TIMESTAMP" : "TIMESTAMP_NS";
}

std::string StructOf(const std::vector<DataField>& fields) {
  std::string text = "STRUCT(";
  for (size_t i = 0; i < fields.size(); ++i)
    text += (i == 0 ? "" : ", ") + QuotedName(fields[i].name) + " " + DuckTypeOf(fields[i].type);
  return text + ")";
}

}  // namespace

std::string DuckTypeOf(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean: return "BOOLEAN";
    case TypeRoot::kTinyInt: return "TINYINT";
    case TypeRoot::kSmallInt: return "SMALLINT";
    case TypeRoot::kInt: return "INTEGER";
    case TypeRoot::kBigInt: return "BIGINT";
    case TypeRoot::kFloat: return "FLOAT";
    case TypeRoot::kDouble: return "DOUBLE";
    case TypeRoot::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return "VARCHAR";
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return "BLOB";
    case TypeRoot::kDate: return "DATE";
    case TypeRoot::kTime: return "TIME";
    case TypeRoot::kTimestamp: return TimestampOf(type.precision);
    case TypeRoot::kTimestampLtz: return "TIMESTAMP WITH TIME ZONE";
    case TypeRoot::kArray: return DuckTypeOf(*type.element) + "[]";
    case TypeRoot::kMap: return "MAP(" + DuckTypeOf(*type.key) + ", " + DuckTypeOf(*type.value) + ")";
    case TypeRoot::kMultiset: return "MAP(" + DuckTypeOf(*type.element) + ", INTEGER)";
    case TypeRoot::kRow: return StructOf(type.fields);
  }
  return "";
}

}  // namespace headrace
