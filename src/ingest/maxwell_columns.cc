#include "ingest/maxwell_columns.h"

#include <algorithm>

#include "ingest/event_lines.h"
#include "ingest/mysql_ddl.h"
#include "ingest/mysql_types.h"

namespace headrace::ingest {
namespace {

DataType TextType() {
  DataType type;
  type.root = TypeRoot::kVarChar;
  type.length = kMaxLength;
  return type;
}

// Without the statement: a decimal's scale is not in `def`, so it is text; a time's digits are.
DataType TypeOfDefinition(const JsonToken& column) {
  const std::string_view word = TextOf(column, "type");
  if (word == "decimal" || word == "numeric") return TextType();
  std::string type(word);
  const JsonToken* digits = FindMember(column, "column-length");
  if (digits != nullptr && digits->kind == JsonKind::kNumber && (word == "datetime" || word == "timestamp"))
    type += "(" + std::string(digits->view()) + ")";
  const JsonToken* is_signed = FindMember(column, "signed");
  if (is_signed != nullptr && is_signed->kind == JsonKind::kFalse) type += " unsigned";
  return TypeOfMysql(type).value_or(TextType());
}

}  // namespace

std::optional<MaxwellTable> ReadMaxwellTable(const JsonToken& event) {
  const std::string_view type = TextOf(event, "type");
  const JsonToken* definition = FindMember(event, "def");
  if ((type != "table-create" && type != "table-alter") || !IsObject(definition)) return std::nullopt;
  const JsonToken* columns = FindMember(*definition, "columns");
  if (!IsArray(columns)) return std::nullopt;
  const Ddl ddl = ParseMysqlDdl(TextOf(event, "sql"));
  MaxwellTable table;
  for (const JsonToken* column = columns->begin(); column != columns->end(); column = column->next()) {
    if (column->kind != JsonKind::kObject) return std::nullopt;
    const std::string_view name = TextOf(*column, "name");
    const auto written = std::find_if(ddl.columns.rbegin(), ddl.columns.rend(), [&](const auto& one) {
      return one.column == name && !one.type.empty();
    });
    std::optional<DataType> known;
    if (written != ddl.columns.rend()) known = TypeOfMysql(written->type);
    table.columns.push_back({std::string(name), known ? *known : TypeOfDefinition(*column)});
  }
  const JsonToken* key = FindMember(*definition, "primary-key");
  if (IsArray(key)) {
    for (const JsonToken* name = key->begin(); name != key->end(); name = name->next())
      if (name->kind == JsonKind::kString) table.primary_key.emplace_back(name->view());
  }
  return table;
}

}  // namespace headrace::ingest
