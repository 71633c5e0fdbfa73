// Schema files: JSON to a TableSchema and back, and what follows from keys and options.
#include "format/table_schema.h"

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "format/data_type_json.h"

namespace headrace {
namespace {

// Keys of `options` as the file has them; the parsed object is sorted.
std::vector<std::string> OptionOrder(std::string_view json) {
  const auto parsed =
      nlohmann::ordered_json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> order;
  if (!parsed.is_object()) return order;
  const auto options = parsed.find("options");
  if (options == parsed.end() || !options->is_object()) return order;
  for (const auto& [key, value] : options->items()) {
    if (std::find(order.begin(), order.end(), key) == order.end()) order.push_back(key);
  }
  return order;
}

// Java takes numbers and booleans for their text; nested values make no sense.
Result<std::map<std::string, std::string>> ParseOptions(const nlohmann::json& json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* object, GetObject(json, "options", origin));
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) {
      options[key] = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      options[key] = value.dump();
    } else if (!value.is_null()) {
      return Corruption(origin, ": option \"", key, "\" is ", value.type_name(), ", not a string");
    }
  }
  return options;
}

std::vector<std::string> SplitKeys(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view key = text.substr(0, comma);
    while (!key.empty() && key.front() == ' ') key.remove_prefix(1);
    while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
    if (!key.empty()) keys.emplace_back(key);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return keys;
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What everything later relies on without checking: key columns that exist, names and ids that are unique.
Status CheckConsistent(const TableSchema& schema, std::string_view origin) {
  std::vector<std::string_view> names;
  std::vector<int32_t> ids;
  for (const DataField& field : schema.fields) {
    names.push_back(field.name);
    ids.push_back(field.id);
  }
  std::sort(names.begin(), names.end());
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return Corruption(origin, ": column '", *twice, "' is there twice");
  const auto same_id = std::adjacent_find(ids.begin(), ids.end());
  if (same_id != ids.end()) return Corruption(origin, ": field id ", *same_id, " is there twice");
  for (const auto* keys : {&schema.partition_keys, &schema.primary_keys}) {
    for (const std::string& key : *keys) {
      if (schema.FieldIndex(key) < 0)
        return Corruption(origin, ": key column '", key, "' is not among the fields");
    }
  }
  if (schema.has_primary_key() && schema.TrimmedPrimaryKeys().empty()) {
    return Corruption(origin, ": the primary key has no column besides the partition keys");
  }
  for (const std::string& key : schema.BucketKeys()) {
    if (schema.FieldIndex(key) < 0)
      return Corruption(origin, ": bucket key '", key, "' is not among the fields");
  }
  return Status::OK();
}

}  // namespace

bool TableSchema::operator==(const TableSchema& other) const {
  return version == other.version && id == other.id && fields == other.fields &&
         highest_field_id == other.highest_field_id && partition_keys == other.partition_keys &&
         primary_keys == other.primary_keys && options == other.options && comment == other.comment &&
         time_millis == other.time_millis;
}

std::vector<std::string> TableSchema::TrimmedPrimaryKeys() const {
  std::vector<std::string> trimmed;
  for (const std::string& key : primary_keys) {
    if (!Contains(partition_keys, key)) trimmed.push_back(key);
  }
  return trimmed;
}

bool TableSchema::moves_between_partitions() const {
  return has_primary_key() &&
         std::any_of(partition_keys.begin(), partition_keys.end(),
                     [this](const std::string& key) { return !Contains(primary_keys, key); });
}

std::vector<std::string> TableSchema::BucketKeys() const {
  const auto option = options.find("bucket-key");
  std::vector<std::string> keys =
      option == options.end() ? std::vector<std::string>() : SplitKeys(option->second);
  return keys.empty() ? TrimmedPrimaryKeys() : keys;
}

std::vector<std::string> TableSchema::ColumnNames() const {
  std::vector<std::string> names;
  for (const DataField& field : fields) names.push_back(field.name);
  return names;
}

int TableSchema::FieldIndex(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::vector<DataField> TableSchema::FieldsOf(const std::vector<std::string>& names) const {
  std::vector<DataField> result;
  result.reserve(names.size());
  for (const std::string& name : names) result.push_back(fields.at(static_cast<size_t>(FieldIndex(name))));
  return result;
}

std::vector<DataType> TableSchema::TypesOf(const std::vector<std::string>& names) const {
  std::vector<DataType> result;
  result.reserve(names.size());
  for (const std::string& name : names)
    result.push_back(fields.at(static_cast<size_t>(FieldIndex(name))).type);
  return result;
}

Result<TableSchema> ParseTableSchema(std::string_view json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(nlohmann::json parsed, ParseJson(json, origin));
  TableSchema schema;
  HEADRACE_ASSIGN_OR_RETURN(std::optional<int32_t> version, FindInt32(parsed, "version", origin));
  schema.version = version.value_or(1);
  if (schema.version > 3) {
    return Unsupported(origin, ": schema version ", schema.version, ", this build reads versions up to 3");
  }
  HEADRACE_ASSIGN_OR_RETURN(schema.id.value, GetInt64(parsed, "id", origin));
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* fields, GetArray(parsed, "fields", origin));
  auto read_fields = FieldsFromJson(*fields);
  if (!read_fields.ok()) return WithContext(origin, read_fields.status());
  schema.fields = *std::move(read_fields);
  HEADRACE_ASSIGN_OR_RETURN(schema.highest_field_id, GetInt32(parsed, "highestFieldId", origin));
  HEADRACE_ASSIGN_OR_RETURN(schema.partition_keys, GetStringList(parsed, "partitionKeys", origin));
  HEADRACE_ASSIGN_OR_RETURN(schema.primary_keys, GetStringList(parsed, "primaryKeys", origin));
  HEADRACE_ASSIGN_OR_RETURN(schema.options, ParseOptions(parsed, origin));
  schema.option_order = OptionOrder(json);
  if (schema.version <= 1) schema.options.emplace("bucket", "1");
  if (schema.version <= 2) schema.options.emplace("file.format", "orc");
  HEADRACE_ASSIGN_OR_RETURN(schema.comment, FindString(parsed, "comment", origin));
  HEADRACE_ASSIGN_OR_RETURN(std::optional<int64_t> time_millis, FindInt64(parsed, "timeMillis", origin));
  schema.time_millis = time_millis.value_or(0);
  HEADRACE_RETURN_NOT_OK(CheckConsistent(schema, origin));
  return schema;
}

std::string SerializeTableSchema(const TableSchema& schema) {
  JsonWriter out;
  out.BeginObject();
  out.Field("version", schema.version);
  out.Field("id", schema.id.value);
  out.Key("fields");
  WriteFieldsJson(schema.fields, &out);
  out.Field("highestFieldId", schema.highest_field_id);
  out.Field("partitionKeys", schema.partition_keys);
  out.Field("primaryKeys", schema.primary_keys);
  out.Key("options").BeginObject();
  for (const std::string& key : schema.option_order) {
    const auto option = schema.options.find(key);
    if (option != schema.options.end()) out.Field(key, option->second);
  }
  for (const auto& [key, value] : schema.options) {
    if (!Contains(schema.option_order, key)) out.Field(key, value);
  }
  out.EndObject();
  out.FieldIfSet("comment", schema.comment);
  out.Field("timeMillis", schema.time_millis);
  out.EndObject();
  return std::move(out).Finish();
}

}  // namespace headrace
