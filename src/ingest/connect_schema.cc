#include "ingest/connect_schema.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "ingest/event_lines.h"
#include "ingest/exact_number.h"

namespace headrace::ingest {
namespace {

int64_t ParameterOf(const JsonToken& schema, std::string_view name, int64_t otherwise) {
  const JsonToken* parameters = FindMember(schema, "parameters");
  if (parameters == nullptr || parameters->kind != JsonKind::kObject) return otherwise;
  const std::string_view text = TextOf(*parameters, name);
  int64_t value = 0;
  std::string ignored;
  return !text.empty() && WholeNumber(text, &value, &ignored) ? value : otherwise;
}

DataType TypeOf(TypeRoot root, int32_t precision = 0, int32_t scale = 0) {
  DataType type;
  type.root = root;
  type.precision = precision;
  type.scale = scale;
  if (root == TypeRoot::kVarChar || root == TypeRoot::kVarBinary) type.length = kMaxLength;
  return type;
}

DataType StringType() { return TypeOf(TypeRoot::kVarChar); }

ValueShape ShapeOf(ValueForm form, int digits = 0) {
  ValueShape shape;
  shape.form = form;
  shape.digits = static_cast<int8_t>(digits);
  return shape;
}

// Logical types that need no parameters. MicroTime and its like become text: Paimon's TIME keeps whole milliseconds of one day.
struct LogicalType {
  std::string_view name;
  ValueForm form;
  int digits;
  TypeRoot root;
  int32_t precision;
};
constexpr LogicalType kLogicalTypes[] = {
    {"io.debezium.time.Date", ValueForm::kDays, 0, TypeRoot::kDate, 0},
    {"org.apache.kafka.connect.data.Date", ValueForm::kDays, 0, TypeRoot::kDate, 0},
    {"io.debezium.time.Time", ValueForm::kClock, 3, TypeRoot::kTime, 3},
    {"org.apache.kafka.connect.data.Time", ValueForm::kClock, 3, TypeRoot::kTime, 3},
    {"io.debezium.time.MicroTime", ValueForm::kClock, 6, TypeRoot::kVarChar, 0},
    {"io.debezium.time.NanoTime", ValueForm::kClock, 9, TypeRoot::kVarChar, 0},
    {"io.debezium.time.Timestamp", ValueForm::kInstant, 3, TypeRoot::kTimestamp, 3},
    {"org.apache.kafka.connect.data.Timestamp", ValueForm::kInstant, 3, TypeRoot::kTimestamp, 3},
    {"io.debezium.time.MicroTimestamp", ValueForm::kInstant, 6, TypeRoot::kTimestamp, 6},
    {"io.debezium.time.NanoTimestamp", ValueForm::kInstant, 9, TypeRoot::kTimestamp, 9},
    {"io.debezium.time.ZonedTimestamp", ValueForm::kIsoInstant, 0, TypeRoot::kTimestampLtz, 6},
    {kAvroInstantMillis, ValueForm::kInstant, 3, TypeRoot::kTimestampLtz, 3},
    {kAvroInstantMicros, ValueForm::kInstant, 6, TypeRoot::kTimestampLtz, 6},
    {kAvroInstantNanos, ValueForm::kInstant, 9, TypeRoot::kTimestampLtz, 9},
    {"io.debezium.time.IsoDate", ValueForm::kIsoDate, 0, TypeRoot::kDate, 0},
    {"io.debezium.time.IsoTimestamp", ValueForm::kIsoInstant, 0, TypeRoot::kTimestamp, 6},
};

// Connect's own types.
constexpr LogicalType kBaseTypes[] = {
    {"int8", ValueForm::kInteger, 0, TypeRoot::kTinyInt, 0},
    {"int16", ValueForm::kInteger, 0, TypeRoot::kSmallInt, 0},
    {"int32", ValueForm::kInteger, 0, TypeRoot::kInt, 0},
    {"int64", ValueForm::kInteger, 0, TypeRoot::kBigInt, 0},
    {"float", ValueForm::kFloat, 0, TypeRoot::kFloat, 0},
    {"float32", ValueForm::kFloat, 0, TypeRoot::kFloat, 0},
    {"double", ValueForm::kFloat, 0, TypeRoot::kDouble, 0},
    {"float64", ValueForm::kFloat, 0, TypeRoot::kDouble, 0},
    {"boolean", ValueForm::kBoolean, 0, TypeRoot::kBoolean, 0},
    {"string", ValueForm::kText, 0, TypeRoot::kVarChar, 0},
    {"bytes", ValueForm::kBase64, 0, TypeRoot::kVarBinary, 0},
};

template <size_t N>
const LogicalType* Find(const LogicalType (&types)[N], std::string_view name) {
  const auto found = std::find_if(std::begin(types), std::end(types),
                                  [&](const LogicalType& type) { return type.name == name; });
  return found == std::end(types) ? nullptr : &*found;
}

// DECIMAL(p, s) where Paimon has it, else text with all digits.
void DecimalOf(const JsonToken& schema, ConnectField* field) {
  const int64_t scale = ParameterOf(schema, "scale", 0);
  const int64_t precision = std::max(ParameterOf(schema, "connect.decimal.precision", 38), scale);
  field->shape = ShapeOf(ValueForm::kDecimalBytes);
  field->shape.scale = static_cast<int32_t>(std::clamp<int64_t>(scale, -1000000, 1000000));
  const bool fits = scale >= 0 && precision >= 1 && precision <= 38;
  field->type = fits
                    ? TypeOf(TypeRoot::kDecimal, static_cast<int32_t>(precision), static_cast<int32_t>(scale))
                    : StringType();
}

bool ReadType(const JsonToken& schema, ConnectField* field, std::string* why);

bool ReadStruct(const JsonToken& schema, ConnectField* field, std::string* why) {
  std::vector<ConnectField> inner;
  if (!ReadConnectFields(schema, &inner, why)) return false;
  field->shape = ShapeOf(ValueForm::kStruct);
  field->type = TypeOf(TypeRoot::kRow);
  for (ConnectField& one : inner) {
    field->shape.names.push_back(one.name);
    field->shape.children.push_back(std::move(one.shape));
    DataField row_field;
    row_field.name = std::move(one.name);
    row_field.type = std::move(one.type);
    field->type.fields.push_back(std::move(row_field));
  }
  return true;
}

bool ReadChild(const JsonToken& schema, std::string_view name, ConnectField* child, std::string* why) {
  const JsonToken* member = FindMember(schema, name);
  if (member != nullptr && member->kind == JsonKind::kObject) return ReadType(*member, child, why);
  *why = "an array or map in it has no '" + std::string(name) + "'";
  return false;
}

bool ReadType(const JsonToken& schema, ConnectField* field, std::string* why) {
  const std::string_view type = TextOf(schema, "type");
  const std::string_view name = TextOf(schema, "name");
  if (name == "org.apache.kafka.connect.data.Decimal") {
    DecimalOf(schema, field);
  } else if (name == "io.debezium.data.VariableScaleDecimal") {
    field->shape = ShapeOf(ValueForm::kVariableDecimal);
    field->type = StringType();
  } else if (const LogicalType* logical = Find(kLogicalTypes, name)) {
    field->shape = ShapeOf(logical->form, logical->digits);
    field->type = TypeOf(logical->root, logical->precision);
  } else if (type == "array") {
    ConnectField element;
    if (!ReadChild(schema, "items", &element, why)) return false;
    field->shape = ShapeOf(ValueForm::kArray);
    field->shape.children = {std::move(element.shape)};
    field->type = TypeOf(TypeRoot::kArray);
    field->type.element = std::make_shared<const DataType>(std::move(element.type));
  } else if (type == "map") {
    ConnectField key;
    ConnectField value;
    if (!ReadChild(schema, "keys", &key, why) || !ReadChild(schema, "values", &value, why)) return false;
    field->shape = ShapeOf(ValueForm::kMap);
    field->shape.children = {std::move(key.shape), std::move(value.shape)};
    field->type = TypeOf(TypeRoot::kMap);
    key.type.nullable = false;
    field->type.key = std::make_shared<const DataType>(std::move(key.type));
    field->type.value = std::make_shared<const DataType>(std::move(value.type));
  } else if (type == "struct") {
    if (!ReadStruct(schema, field, why)) return false;
  } else if (const LogicalType* base = Find(kBaseTypes, type)) {
    field->shape = ShapeOf(base->form);
    field->type = TypeOf(base->root);
  } else {
    *why = "the type '" + std::string(type) + "' in it is none of Kafka Connect's";
    return false;
  }
  const JsonToken* optional = FindMember(schema, "optional");
  field->type.nullable = optional != nullptr && optional->kind == JsonKind::kTrue;
  return true;
}

}  // namespace

bool IsConnectLogicalType(std::string_view name) {
  return name == "org.apache.kafka.connect.data.Decimal" || name == "io.debezium.data.VariableScaleDecimal" ||
         Find(kLogicalTypes, name) != nullptr;
}

bool ReadConnectFields(const JsonToken& schema, std::vector<ConnectField>* fields, std::string* why) {
  const JsonToken* list = schema.kind == JsonKind::kObject ? FindMember(schema, "fields") : nullptr;
  if (list == nullptr || list->kind != JsonKind::kArray) {
    *why = "it is no struct with 'fields'";
    return false;
  }
  for (const JsonToken* member = list->begin(); member != list->end(); member = member->next()) {
    ConnectField field;
    if (member->kind != JsonKind::kObject || TextOf(*member, "field").empty()) {
      *why = "a field in it has no name";
      return false;
    }
    field.name = TextOf(*member, "field");
    if (!ReadType(*member, &field, why)) return false;
    fields->push_back(std::move(field));
  }
  return true;
}

const JsonToken* FindConnectField(const JsonToken& schema, std::string_view name) {
  const JsonToken* list = schema.kind == JsonKind::kObject ? FindMember(schema, "fields") : nullptr;
  if (list == nullptr || list->kind != JsonKind::kArray) return nullptr;
  for (const JsonToken* member = list->begin(); member != list->end(); member = member->next()) {
    if (member->kind == JsonKind::kObject && TextOf(*member, "field") == name) return member;
  }
  return nullptr;
}

}  // namespace headrace::ingest
