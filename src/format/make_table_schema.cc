// A new table's first schema: what Java's Schema and SchemaValidation ask for, of what is built here.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "format/option_values.h"
#include "format/table_options.h"
#include "format/table_schema.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 5> kReservedNames = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL",
                                                            "rowkind", "_ROW_ID"};

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Keys may be declared as options; those then leave the options, as in Java.
Status TakeKeysFromOptions(const std::string& option, const char* what,
                           std::map<std::string, std::string>* options, std::vector<std::string>* keys) {
  const auto found = options->find(option);
  if (found == options->end()) return Status::OK();
  if (!keys->empty()) return Invalid(what, " are given both directly and by the option '", option, "'");
  *keys = SplitList(found->second);
  options->erase(found);
  return Status::OK();
}

Status CheckNames(const std::vector<DataField>& fields, std::string_view where, bool top) {
  if (fields.empty()) return Invalid(where, " has no columns");
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = fields[i].name;
    if (TrimAscii(name).empty()) return Invalid(where, ": column ", i + 1, " has no name");
    if (!IsUtf8(name)) return Invalid(where, ": the name of column ", i + 1, " is not UTF-8");
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
      return Invalid(where, ": the name of column ", i + 1, " holds a control character");
    }
    for (size_t j = 0; j < i; ++j) {
      if (fields[j].name == name) return Invalid(where, ": column '", name, "' is there twice");
    }
    if (!top) continue;
    if (std::find(kReservedNames.begin(), kReservedNames.end(), name) != kReservedNames.end() ||
        name.starts_with(kKeyPrefix)) {
      return Invalid(where, ": the column name '", name, "' is reserved; names do not begin with ",
                     kKeyPrefix, " and are not _SEQUENCE_NUMBER, _VALUE_KIND, _LEVEL, rowkind or _ROW_ID");
    }
  }
  return Status::OK();
}

Status CheckNested(const DataType& type, const std::string& where) {
  for (const std::shared_ptr<const DataType>* child : {&type.element, &type.key, &type.value}) {
    if (*child != nullptr) HEADRACE_RETURN_NOT_OK(CheckNested(**child, where));
  }
  if (type.root != TypeRoot::kRow) return Status::OK();
  HEADRACE_RETURN_NOT_OK(CheckNames(type.fields, where, /*top=*/false));
  for (const DataField& field : type.fields)
    HEADRACE_RETURN_NOT_OK(CheckNested(field.type, where + "." + field.name));
  return Status::OK();
}

Status CheckKeys(const TableSchema& schema, const std::vector<std::string>& keys, const char* what) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const int index = schema.FieldIndex(keys[i]);
    if (index < 0) return Invalid(what, ": column '", keys[i], "' does not exist");
    if (std::count(keys.begin(), keys.end(), keys[i]) > 1)
      return Invalid(what, ": column '", keys[i], "' is named twice");
    const DataType& type = schema.fields[static_cast<size_t>(index)].type;
    if (type.is_nested()) return Invalid(what, ": column '", keys[i], "' has the nested type ", ToSql(type));
  }
  return Status::OK();
}

Status CheckPrimaryKey(const TableSchema& schema) {
  if (!schema.has_primary_key()) return Status::OK();
  if (schema.TrimmedPrimaryKeys().empty()) {
    return Invalid("the primary key (", Joined(schema.primary_keys),
                   ") has no column besides the partition keys: each "
                   "partition could hold one row");
  }
  return Status::OK();
}

Status CheckBucketKey(const TableSchema& schema, const TableOptions& options) {
  const auto option = schema.options.find("bucket-key");
  if (option == schema.options.end()) return Status::OK();
  if (options.bucket == -1) return Invalid("table option 'bucket-key' needs a number of buckets in 'bucket'");
  const std::vector<std::string> keys = SplitList(option->second);
  if (keys.empty()) return Invalid("table option 'bucket-key' names no column");
  HEADRACE_RETURN_NOT_OK(CheckKeys(schema, keys, "table option 'bucket-key'"));
  for (const std::string& key : keys) {
    if (Contains(schema.partition_keys, key))
      return Invalid("table option 'bucket-key': '", key, "' is a partition key");
    if (schema.has_primary_key() && !Contains(schema.primary_keys, key)) {
      return Invalid("table option 'bucket-key': '", key, "' is not in the primary key (",
                     Joined(schema.primary_keys), ")");
    }
  }
  return Status::OK();
}

// fields.<column>.<what>: the columns must exist.
Status CheckFieldOptions(const TableSchema& schema) {
  constexpr std::string_view kPrefix = "fields.";
  for (const auto& [key, value] : schema.options) {
    if (!key.starts_with(kPrefix) || key == "fields.default-aggregate-function") continue;
    const std::string_view rest = std::string_view(key).substr(kPrefix.size());
    for (const std::string& column : SplitList(rest.substr(0, rest.find('.')))) {
      if (schema.FieldIndex(column) < 0)
        return Invalid("table option '", key, "': column '", column, "' does not exist");
    }
  }
  return Status::OK();
}

// Types whose folders nobody else would find again.
Status CheckPartitionTypes(const TableSchema& schema, const TableOptions& options) {
  for (const DataField& field : schema.FieldsOf(schema.partition_keys)) {
    const TypeRoot root = field.type.root;
    const bool bytes = root == TypeRoot::kBinary || root == TypeRoot::kVarBinary;
    if (bytes && options.partition_legacy_name) {
      return Unsupported("partition column '", field.name, "' of type ", ToSql(field.type),
                         " needs 'partition.legacy-name' = 'false'");
    }
    if (root == TypeRoot::kTimestampLtz && !options.partition_legacy_name) {
      return Unsupported("partition column '", field.name, "' of type ", ToSql(field.type),
                         " needs 'partition.legacy-name' = 'true'");
    }
  }
  return Status::OK();
}

}  // namespace

Status CheckTableSchema(const TableSchema& schema, Access access) {
  HEADRACE_RETURN_NOT_OK(CheckNames(schema.fields, "the table", /*top=*/true));
  for (const DataField& field : schema.fields)
    HEADRACE_RETURN_NOT_OK(CheckNested(field.type, "column '" + field.name + "'"));
  HEADRACE_RETURN_NOT_OK(CheckKeys(schema, schema.partition_keys, "partition keys"));
  HEADRACE_RETURN_NOT_OK(CheckKeys(schema, schema.primary_keys, "primary key"));
  HEADRACE_RETURN_NOT_OK(CheckPrimaryKey(schema));
  HEADRACE_ASSIGN_OR_RETURN(const TableOptions options, ParseTableOptions(schema, access));
  HEADRACE_RETURN_NOT_OK(CheckBucketKey(schema, options));
  HEADRACE_RETURN_NOT_OK(CheckFieldOptions(schema));
  return CheckPartitionTypes(schema, options);
}

Result<TableSchema> MakeTableSchema(NewTable table, int64_t now_ms) {
  TableSchema schema;
  HEADRACE_RETURN_NOT_OK(
      TakeKeysFromOptions("primary-key", "primary keys", &table.options, &table.primary_keys));
  HEADRACE_RETURN_NOT_OK(
      TakeKeysFromOptions("partition", "partition keys", &table.options, &table.partition_keys));
  schema.fields = std::move(table.fields);
  schema.primary_keys = std::move(table.primary_keys);
  schema.partition_keys = std::move(table.partition_keys);
  schema.options = std::move(table.options);
  schema.comment = std::move(table.comment);
  schema.time_millis = now_ms;
  AssignFieldIds(&schema.fields, &schema.highest_field_id);
  for (DataField& field : schema.fields) {
    if (Contains(schema.primary_keys, field.name)) field.type.nullable = false;
  }

  HEADRACE_RETURN_NOT_OK(CheckTableSchema(schema, Access::kWrite));
  return schema;
}

}  // namespace headrace
