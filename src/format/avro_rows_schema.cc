// The Avro schema of a table's columns, as Java writes it.
#include <nlohmann/json.hpp>

#include "format/avro_rows.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNamespace[] = "org.apache.paimon.avro.generated";
constexpr int32_t kMillisPrecision = 3;
constexpr int32_t kMicrosPrecision = 6;

bool IsText(const DataType& type) { return type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar; }

Json Logical(const char* type, const char* logical) { return {{"type", type}, {"logicalType", logical}}; }

Status NoForm(const std::string& where, const DataType& type, int32_t most) {
  return Unsupported(where, ": Avro has no form for ", ToSql(type), "; it goes up to precision ", most);
}

Result<Json> PlainSchemaOf(const DataType& type, const std::string& name, const std::string& where);

Result<Json> SchemaOf(const DataType& type, const std::string& name, const std::string& where) {
  HEADRACE_ASSIGN_OR_RETURN(Json plain, PlainSchemaOf(type, name, where));
  if (!type.nullable) return plain;
  return Json::array({"null", std::move(plain)});
}

Result<Json> RecordOf(const std::vector<DataField>& fields, const std::string& name,
                      const std::string& where) {
  Json list = Json::array();
  for (const DataField& field : fields) {
    Json one = {{"name", field.name}};
    HEADRACE_ASSIGN_OR_RETURN(one["type"], SchemaOf(field.type, name + "_" + field.name, where));
    if (field.type.nullable) one["default"] = nullptr;
    list.push_back(std::move(one));
  }
  return Json{{"type", "record"}, {"name", name}, {"fields", std::move(list)}};
}

Result<Json> MapOf(const DataType& key, const DataType& value, const std::string& name,
                   const std::string& where) {
  if (IsText(key)) {
    HEADRACE_ASSIGN_OR_RETURN(Json values, SchemaOf(value, name, where));
    return Json{{"type", "map"}, {"values", std::move(values)}};
  }
  HEADRACE_ASSIGN_OR_RETURN(Json entry,
                            RecordOf({{0, "key", key, {}, {}}, {1, "value", value, {}, {}}}, name, where));
  entry["fields"][0].erase("default");
  return Json{{"type", "array"}, {"items", std::move(entry)}, {"logicalType", "map"}};
}

Result<Json> TimestampOf(const DataType& type, const char* millis, const char* micros,
                         const std::string& where) {
  if (type.precision > kMicrosPrecision) return NoForm(where, type, kMicrosPrecision);
  return Logical("long", type.precision <= kMillisPrecision ? millis : micros);
}

Result<Json> PlainSchemaOf(const DataType& type, const std::string& name, const std::string& where) {
  switch (type.root) {
    case TypeRoot::kBoolean: return Json("boolean");
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt: return Json("int");
    case TypeRoot::kBigInt: return Json("long");
    case TypeRoot::kFloat: return Json("float");
    case TypeRoot::kDouble: return Json("double");
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return Json("string");
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return Json("bytes");
    case TypeRoot::kDecimal: {
      Json decimal = Logical("bytes", "decimal");
      decimal["precision"] = type.precision;
      decimal["scale"] = type.scale;
      return decimal;
    }
    case TypeRoot::kDate: return Logical("int", "date");
    case TypeRoot::kTime:
      if (type.precision > kMillisPrecision) return NoForm(where, type, kMillisPrecision);
      return Logical("int", "time-millis");
    // The two names are swapped against what Avro means by them, as in Java.
    case TypeRoot::kTimestamp: return TimestampOf(type, "timestamp-millis", "timestamp-micros", where);
    case TypeRoot::kTimestampLtz:
      return TimestampOf(type, "local-timestamp-millis", "local-timestamp-micros", where);
    case TypeRoot::kArray: {
      HEADRACE_ASSIGN_OR_RETURN(Json items, SchemaOf(*type.element, name, where));
      return Json{{"type", "array"}, {"items", std::move(items)}};
    }
    case TypeRoot::kMap: return MapOf(*type.key, *type.value, name, where);
    case TypeRoot::kMultiset: {
      return MapOf(*type.element, DataType{}, name, where);
    }
    case TypeRoot::kRow: return RecordOf(type.fields, name, where);
  }
  return Unsupported(where, ": Avro has no form for ", ToSql(type));
}

}  // namespace

Result<std::string> AvroSchemaOf(const std::vector<DataField>& fields) {
  Json list = Json::array();
  for (const DataField& field : fields) {
    Json one = {{"name", field.name}};
    HEADRACE_ASSIGN_OR_RETURN(one["type"],
                              SchemaOf(field.type, "record_" + field.name, "column '" + field.name + "'"));
    if (field.type.nullable) one["default"] = nullptr;
    list.push_back(std::move(one));
  }
  return Json{{"type", "record"}, {"name", "record"}, {"namespace", kNamespace}, {"fields", std::move(list)}}
      .dump();
}

}  // namespace headrace
