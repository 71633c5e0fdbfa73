#include "pipeline/keyed_copies.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "sql/duck_type.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

// A value of the type as SQL, which stands for null; nothing: the type is not one to read parts by.
std::optional<std::string> SomeValueOf(const DataType& type) {
  const char* value = nullptr;
  switch (type.root) {
    case TypeRoot::kBoolean: value = "false"; break;
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kDecimal: value = "0"; break;
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: value = "''"; break;
    case TypeRoot::kDate: value = "'1970-01-01'"; break;
    case TypeRoot::kTime: value = "'00:00:00'"; break;
    case TypeRoot::kTimestamp: value = "'1970-01-01 00:00:00'"; break;
    case TypeRoot::kTimestampLtz: value = "'1970-01-01 00:00:00+00'"; break;
    default: return std::nullopt;
  }
  return "CAST(" + std::string(value) + " AS " + DuckTypeOf(type) + ")";
}

std::string ColumnText(const DataField& field) { return Quoted(field.name, '`') + " " + ToSql(field.type); }

std::vector<std::string> KeyOfCopy(const Table& source) {
  std::vector<std::string> key = {kCopyKeyColumn};
  key.insert(key.end(), source.schema->primary_keys.begin(), source.schema->primary_keys.end());
  return key;
}

const DataField& FieldOf(const Table& table, const std::string& column) {
  return table.schema->fields[static_cast<size_t>(table.schema->FieldIndex(column))];
}

// Of values that were widened in the source the copy would keep what it has room for.
Status CheckSameType(const KeyedCopy& copy, const DataField& has, const DataField& made) {
  DataType wanted = has.type, found = made.type;
  wanted.nullable = found.nullable = true;
  if (ToSql(wanted) == ToSql(found)) return Status::OK();
  const bool can_follow = made.name != kCopyKeyColumn && !wanted.is_nested();
  return Invalid("column ", has.name, " of ", copy.source, " is ", ToSql(wanted), " by now, and ", made.name,
                 " of its copy ", copy.name, " is ", ToSql(found), "; ",
                 can_follow ? "let the copy follow: headrace alter " + copy.name + " retype " + made.name +
                                  " '" + ToSql(wanted) + "', or "
                            : "",
                 "drop the copy, and say --rebuild, or run the pipeline under another --name");
}

}  // namespace

std::optional<KeyedCopy> MakeKeyedCopy(const Table& source, const std::string& column) {
  const TableSchema& schema = *source.schema;
  const bool has_name = std::any_of(schema.fields.begin(), schema.fields.end(), [](const DataField& field) {
    return IsSameName(field.name, kCopyKeyColumn);
  });
  if (!schema.has_primary_key() || has_name || schema.FieldIndex(column) < 0) return std::nullopt;
  const auto null_as = SomeValueOf(FieldOf(source, column).type);
  KeyedCopy copy{source.name, column, source.name + "_by_" + column, null_as.value_or("")};
  const bool is_name = CheckName("table", copy.name.substr(copy.name.find('.') + 1)).ok();
  return null_as && is_name ? std::optional(std::move(copy)) : std::nullopt;
}

CreateTableText TableOfCopy(const KeyedCopy& copy, const Table& source) {
  std::string columns, key;
  for (DataField field : source.schema->fields) {
    const auto& keys = source.schema->primary_keys;
    // Else the copy would want a value where the source does no more.
    if (std::find(keys.begin(), keys.end(), field.name) == keys.end()) field.type.nullable = true;
    columns += ColumnText(field) + ", ";
  }
  DataField by = FieldOf(source, copy.column);
  by.name = kCopyKeyColumn;
  by.type.nullable = false;
  for (const std::string& column : KeyOfCopy(source)) key += (key.empty() ? "" : ", ") + Quoted(column, '`');
  // Of a partitioned table the buckets are those of each partition.
  const bool fixed = source.options.bucket > 0 && source.schema->partition_keys.empty();
  std::string options = "'bucket' = '" + std::to_string(fixed ? source.options.bucket : -1) +
                        "', 'changelog-producer' = 'input'";
  for (const auto& [name, value] : source.schema->options) {
    if (name == "snapshot.time-retained" || name.rfind("snapshot.num-retained.", 0) == 0)
      options += ", " + Quoted(name, '\'') + " = " + Quoted(value, '\'');
  }
  CreateTableText create;
  create.name = copy.name;
  create.definition = "CREATE TABLE `copy` (" + columns + ColumnText(by) + ", PRIMARY KEY (" + key +
                      ") NOT ENFORCED) WITH (" + options + ")";
  return create;
}

Result<KeyedCopy> WithColumns(KeyedCopy copy, const Table& source, const Table& made) {
  if (made.schema->primary_keys != KeyOfCopy(source) || !made.schema->partition_keys.empty())
    return Invalid("SET 'copies' = 'true': table ", copy.name, " is there and is no copy of ", copy.source,
                   " by ", copy.column, ", whose primary key would be (", Joined(KeyOfCopy(source)),
                   "); drop it if it was one, and say --rebuild; else rename it, or read it in the query in "
                   "the place of ",
                   copy.source);
  HEADRACE_RETURN_NOT_OK(CheckSameType(copy, FieldOf(source, copy.column), FieldOf(made, kCopyKeyColumn)));
  for (const DataField& field : source.schema->fields) {
    if (made.schema->FieldIndex(field.name) < 0) continue;  // it came later
    HEADRACE_RETURN_NOT_OK(CheckSameType(copy, field, FieldOf(made, field.name)));
    copy.columns.push_back(field.name);
  }
  return copy;
}

InsertText InsertOfCopy(const KeyedCopy& copy, const Table& made) {
  InsertText insert;
  insert.name = copy.name;
  std::string values;
  // In the copy's order, which no ALTER of the source changes: the statement stays the one that it is.
  for (const std::string& column : made.schema->ColumnNames()) {
    if (std::find(copy.columns.begin(), copy.columns.end(), column) == copy.columns.end()) continue;
    insert.columns.push_back(column);
    values += QuotedName(column) + ", ";
  }
  insert.columns.push_back(kCopyKeyColumn);
  const size_t database = copy.source.find('.');
  insert.query = "SELECT " + values + "coalesce(" + QuotedName(copy.column) + ", " + copy.null_as +
                 ") FROM " + QuotedName(copy.source.substr(0, database)) + "." +
                 QuotedName(copy.source.substr(database + 1));
  return insert;
}

}  // namespace headrace::pipeline
