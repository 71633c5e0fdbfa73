// Constants of SQL to values of a column's type, where both say the same.
#include "pipeline/row_conditions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "format/value.h"
#include "sql/names.h"

namespace headrace {
namespace {

// "5.250" and "5.25" are one number.
std::string WithoutTrailingZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// The text that the constant has as a value of the type; nothing where it has another kind.
std::optional<std::string> TextFor(const SqlConstant& constant, TypeRoot root) {
  const bool is_number = constant.kind == SqlConstant::Kind::kNumber;
  const bool is_text = constant.kind == SqlConstant::Kind::kText;
  switch (root) {
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kDecimal:
      return is_number ? std::optional(WithoutTrailingZeros(constant.text)) : std::nullopt;
    case TypeRoot::kVarChar: return is_text ? std::optional(constant.text) : std::nullopt;
    case TypeRoot::kDate: return is_number ? std::nullopt : std::optional(constant.text);
    case TypeRoot::kTimestamp: {
      if (is_number) return std::nullopt;
      std::string text = constant.text;
      std::replace(text.begin(), text.end(), ' ', 'T');
      return text;
    }
    default: return std::nullopt;
  }
}

std::optional<Value> ValueOf(const SqlConstant& constant, const DataType& type) {
  const std::optional<std::string> text = TextFor(constant, type.root);
  if (!text) return std::nullopt;
  auto value = ValueFromText(*text, type);
  if (!value.ok()) return std::nullopt;
  // What reads back otherwise would be another value to compare with.
  const std::string back = ToText(*value, type);
  if (back != *text && (type.root == TypeRoot::kVarChar || WithoutTrailingZeros(back) != *text))
    return std::nullopt;
  return std::move(value).ValueUnsafe();
}

}  // namespace

std::optional<RowCondition> RowConditionOf(const std::vector<DataField>& fields,
                                           const ColumnCondition& condition) {
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const DataField& each) {
    return IsSameName(each.name, condition.column);
  });
  if (field == fields.end()) return std::nullopt;
  RowCondition of_row{field->name, condition.is, {}};
  for (const SqlConstant& constant : condition.constants) {
    std::optional<Value> value = ValueOf(constant, field->type);
    if (!value) return std::nullopt;
    of_row.values.push_back(std::move(*value));
  }
  return of_row;
}

}  // namespace headrace
