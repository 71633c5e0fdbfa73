// Equality, SQL text and field ids of data types.
#include "format/data_type.h"

namespace headrace {
namespace {

bool SameType(const std::shared_ptr<const DataType>& a, const std::shared_ptr<const DataType>& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

std::string WithLength(const char* name, int32_t length) {
  return std::string(name) + "(" + std::to_string(length) + ")";
}

std::string Quoted(std::string_view name, char quote) {
  std::string text(1, quote);
  for (const char c : name) {
    if (c == quote) text.push_back(quote);
    text.push_back(c);
  }
  text.push_back(quote);
  return text;
}

std::string RowText(const DataType& type) {
  std::string text = "ROW<";
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const DataField& field = type.fields[i];
    if (i > 0) text += ", ";
    text += Quoted(field.name, '`') + " " + ToSql(field.type);
    if (field.description.has_value()) text += " COMMENT " + Quoted(*field.description, '\'');
  }
  return text + ">";
}

std::string BareText(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean: return "BOOLEAN";
    case TypeRoot::kTinyInt: return "TINYINT";
    case TypeRoot::kSmallInt: return "SMALLINT";
    case TypeRoot::kInt: return "INT";
    case TypeRoot::kBigInt: return "BIGINT";
    case TypeRoot::kFloat: return "FLOAT";
    case TypeRoot::kDouble: return "DOUBLE";
    case TypeRoot::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
    case TypeRoot::kChar: return WithLength("CHAR", type.length);
    case TypeRoot::kVarChar: return type.length == kMaxLength ? "STRING" : WithLength("VARCHAR", type.length);
    case TypeRoot::kBinary: return WithLength("BINARY", type.length);
    case TypeRoot::kVarBinary:
      return type.length == kMaxLength ? "BYTES" : WithLength("VARBINARY", type.length);
    case TypeRoot::kDate: return "DATE";
    case TypeRoot::kTime: return WithLength("TIME", type.precision);
    case TypeRoot::kTimestamp: return WithLength("TIMESTAMP", type.precision);
    case TypeRoot::kTimestampLtz: return WithLength("TIMESTAMP", type.precision) + " WITH LOCAL TIME ZONE";
    case TypeRoot::kArray: return "ARRAY<" + ToSql(*type.element) + ">";
    case TypeRoot::kMap: return "MAP<" + ToSql(*type.key) + ", " + ToSql(*type.value) + ">";
    case TypeRoot::kMultiset: return "MULTISET<" + ToSql(*type.element) + ">";
    case TypeRoot::kRow: return RowText(type);
  }
  return "";
}

// Inside a row Java numbers what a field holds before the field itself; only top-level fields come before their content.
void AssignInside(DataType* type, int32_t* highest_id) {
  const auto assign_child = [highest_id](std::shared_ptr<const DataType>* child) {
    if (*child == nullptr || !(*child)->is_nested()) return;
    auto copy = std::make_shared<DataType>(**child);
    AssignInside(copy.get(), highest_id);
    *child = std::move(copy);
  };
  assign_child(&type->element);
  assign_child(&type->key);
  assign_child(&type->value);
  for (DataField& field : type->fields) {
    AssignInside(&field.type, highest_id);
    field.id = ++*highest_id;
  }
}

}  // namespace

bool DataType::operator==(const DataType& other) const {
  return root == other.root && nullable == other.nullable && length == other.length &&
         precision == other.precision && scale == other.scale && SameType(element, other.element) &&
         SameType(key, other.key) && SameType(value, other.value) && fields == other.fields;
}

std::string ToSql(const DataType& type) { return BareText(type) + (type.nullable ? "" : " NOT NULL"); }

void AssignFieldIds(std::vector<DataField>* fields, int32_t* highest_id) {
  for (DataField& field : *fields) {
    field.id = ++*highest_id;
    AssignInside(&field.type, highest_id);
  }
}

}  // namespace headrace
