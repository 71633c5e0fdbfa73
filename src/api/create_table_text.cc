// A table's definition as a CREATE TABLE statement.
#include "api/create_table_text.h"

#include "sql/names.h"

namespace headrace {
namespace {

std::string NameList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + Quoted(name, '`');
  return "(" + list + ")";
}

}  // namespace

std::string CreateTableTextOf(const TableInfo& info, const std::string& name) {
  const size_t dot = name.find('.');
  std::string text =
      "CREATE TABLE " + Quoted(name.substr(0, dot), '`') + "." + Quoted(name.substr(dot + 1), '`') + " (\n";
  for (const ColumnInfo& column : info.columns) {
    text +=
        (&column == &info.columns.front() ? "  " : ",\n  ") + Quoted(column.name, '`') + " " + column.type;
    if (!column.comment.empty()) text += " COMMENT " + Quoted(column.comment, '\'');
  }
  if (!info.primary_key.empty()) text += ",\n  PRIMARY KEY " + NameList(info.primary_key) + " NOT ENFORCED";
  text += "\n)";
  if (!info.comment.empty()) text += " COMMENT " + Quoted(info.comment, '\'');
  if (!info.partition_by.empty()) text += " PARTITIONED BY " + NameList(info.partition_by);
  std::string options;
  for (const auto& [key, value] : info.options) {
    options += (options.empty() ? "\n  " : ",\n  ") + Quoted(key, '\'') + " = " + Quoted(value, '\'');
  }
  if (!options.empty()) text += " WITH (" + options + "\n)";
  return text + ";";
}

}  // namespace headrace
