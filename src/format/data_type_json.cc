// Data types in the JSON of schema files.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "format/data_type.h"
#include "format/data_type_json.h"

namespace headrace {
namespace {

constexpr std::string_view kOrigin = "a data type in JSON";

Result<DataType> FromJson(const nlohmann::json& json, int depth);

Result<std::shared_ptr<const DataType>> Child(const nlohmann::json& object, const char* key, int depth) {
  const auto child = object.find(key);
  if (child == object.end())
    return Corruption(kOrigin, ": ", object.value("type", ""), " has no \"", key, "\"");
  HEADRACE_ASSIGN_OR_RETURN(DataType type, FromJson(*child, depth + 1));
  return std::make_shared<const DataType>(std::move(type));
}

Result<DataField> FieldFromJson(const nlohmann::json& json, int depth) {
  if (!json.is_object()) return Corruption("a field in JSON is ", json.type_name(), ", not an object");
  DataField field;
  HEADRACE_ASSIGN_OR_RETURN(field.name, GetString(json, "name", "a field in JSON"));
  const std::string origin = "field '" + field.name + "'";
  HEADRACE_ASSIGN_OR_RETURN(field.id, GetInt32(json, "id", origin));
  const auto type = json.find("type");
  if (type == json.end()) return Corruption(origin, ": member \"type\" is missing");
  auto parsed = FromJson(*type, depth);
  if (!parsed.ok()) return WithContext(origin, parsed.status());
  field.type = *std::move(parsed);
  HEADRACE_ASSIGN_OR_RETURN(field.description, FindString(json, "description", origin));
  HEADRACE_ASSIGN_OR_RETURN(field.default_value, FindString(json, "defaultValue", origin));
  return field;
}

Result<DataType> FromJson(const nlohmann::json& json, int depth) {
  if (depth > kMaxJsonDepth) return Corruption(kOrigin, ": nested deeper than ", kMaxJsonDepth, " levels");
  if (json.is_string()) {
    auto type = ParseDataType(json.get_ref<const std::string&>());
    if (!type.ok() && !IsKind(type.status(), ErrorKind::kUnsupported))
      return Corruption(type.status().message());
    return type;
  }
  if (!json.is_object())
    return Corruption(kOrigin, ": ", json.type_name(), " where a string or an object is expected");
  HEADRACE_ASSIGN_OR_RETURN(std::string name, GetString(json, "type", kOrigin));
  DataType type;
  constexpr std::string_view kNotNull = " NOT NULL";
  if (name.ends_with(kNotNull)) {
    type.nullable = false;
    name.resize(name.size() - kNotNull.size());
  }
  if (name == "ARRAY" || name == "MULTISET") {
    type.root = name == "ARRAY" ? TypeRoot::kArray : TypeRoot::kMultiset;
    HEADRACE_ASSIGN_OR_RETURN(type.element, Child(json, "element", depth));
  } else if (name == "MAP") {
    type.root = TypeRoot::kMap;
    HEADRACE_ASSIGN_OR_RETURN(type.key, Child(json, "key", depth));
    HEADRACE_ASSIGN_OR_RETURN(type.value, Child(json, "value", depth));
  } else if (name == "ROW") {
    type.root = TypeRoot::kRow;
    const auto fields = json.find("fields");
    if (fields == json.end() || !fields->is_array())
      return Corruption(kOrigin, ": ROW has no array \"fields\"");
    for (const nlohmann::json& field : *fields) {
      HEADRACE_ASSIGN_OR_RETURN(DataField parsed, FieldFromJson(field, depth + 1));
      type.fields.push_back(std::move(parsed));
    }
  } else if (name == "VECTOR") {
    return Unsupported("the type VECTOR is not supported");
  } else {
    return Corruption(kOrigin, ": unknown nested type '", name, "'");
  }
  return type;
}

nlohmann::json FieldToJson(const DataField& field) {
  nlohmann::json json = {{"id", field.id}, {"name", field.name}, {"type", ToJson(field.type)}};
  if (field.description.has_value()) json["description"] = *field.description;
  if (field.default_value.has_value()) json["defaultValue"] = *field.default_value;
  return json;
}

void WriteType(const DataType& type, JsonWriter* out) {
  if (!type.is_nested()) {
    out->String(ToSql(type));
    return;
  }
  const std::string suffix = type.nullable ? "" : " NOT NULL";
  out->BeginObject();
  switch (type.root) {
    case TypeRoot::kMap:
      out->Field("type", "MAP" + suffix);
      out->Key("key");
      WriteType(*type.key, out);
      out->Key("value");
      WriteType(*type.value, out);
      break;
    case TypeRoot::kRow:
      out->Field("type", "ROW" + suffix);
      out->Key("fields");
      WriteFieldsJson(type.fields, out);
      break;
    default:
      out->Field("type", (type.root == TypeRoot::kArray ? "ARRAY" : "MULTISET") + suffix);
      out->Key("element");
      WriteType(*type.element, out);
      break;
  }
  out->EndObject();
}

}  // namespace

void WriteFieldsJson(const std::vector<DataField>& fields, JsonWriter* out) {
  out->BeginArray();
  for (const DataField& field : fields) {
    out->BeginObject();
    out->Field("id", field.id);
    out->Field("name", field.name);
    out->Key("type");
    WriteType(field.type, out);
    if (field.description.has_value()) out->Field("description", *field.description);
    if (field.default_value.has_value()) out->Field("defaultValue", *field.default_value);
    out->EndObject();
  }
  out->EndArray();
}

Result<std::vector<DataField>> FieldsFromJson(const nlohmann::json& json) {
  if (!json.is_array()) return Corruption("the fields are ", json.type_name(), ", not an array");
  std::vector<DataField> fields;
  for (const nlohmann::json& field : json) {
    HEADRACE_ASSIGN_OR_RETURN(DataField parsed, FieldFromJson(field, 0));
    fields.push_back(std::move(parsed));
  }
  return fields;
}

Result<DataType> DataTypeFromJson(const nlohmann::json& json) { return FromJson(json, 0); }

nlohmann::json ToJson(const DataType& type) {
  const std::string suffix = type.nullable ? "" : " NOT NULL";
  switch (type.root) {
    case TypeRoot::kArray: return {{"type", "ARRAY" + suffix}, {"element", ToJson(*type.element)}};
    case TypeRoot::kMultiset: return {{"type", "MULTISET" + suffix}, {"element", ToJson(*type.element)}};
    case TypeRoot::kMap:
      return {{"type", "MAP" + suffix}, {"key", ToJson(*type.key)}, {"value", ToJson(*type.value)}};
    case TypeRoot::kRow: {
      nlohmann::json fields = nlohmann::json::array();
      for (const DataField& field : type.fields) fields.push_back(FieldToJson(field));
      return {{"type", "ROW" + suffix}, {"fields", std::move(fields)}};
    }
    default: return ToSql(type);
  }
}

}  // namespace headrace
