#include "file/json_lines.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "base/text.h"
#include "format/civil_time.h"
#include "format/number_text.h"

namespace headrace {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendEscaped(unsigned char c, std::string* out) {
  switch (c) {
    case '"': out->append("\\\""); return;
    case '\\': out->append("\\\\"); return;
    case '\b': out->append("\\b"); return;
    case '\f': out->append("\\f"); return;
    case '\n': out->append("\\n"); return;
    case '\r': out->append("\\r"); return;
    case '\t': out->append("\\t"); return;
    default: break;
  }
  out->append("\\u00");
  out->push_back(kHex[c >> 4]);
  out->push_back(kHex[c & 15]);
}

template <typename Number>
void AppendInteger(Number number, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  out->append(digits, end);
}

template <typename Float>
void AppendFloat(Float number, std::string* out) {
  const std::string text = FloatText(number, FloatLayout::kPlain);
  const char last = text.back();
  if (last >= '0' && last <= '9') {
    out->append(text);
  } else {
    AppendJsonString(text, out);
  }
}

void AppendHex(std::string_view bytes, std::string* out) {
  out->push_back('"');
  for (const char c : bytes) {
    out->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
    out->push_back(kHex[static_cast<unsigned char>(c) & 15]);
  }
  out->push_back('"');
}

void AppendPadded(int64_t number, int width, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  for (int64_t have = end - digits; have < width; ++have) out->push_back('0');
  out->append(digits, end);
}

void AppendClock(int64_t second_of_day, std::string* out) {
  AppendPadded(second_of_day / 3600, 2, out);
  out->push_back(':');
  AppendPadded(second_of_day / 60 % 60, 2, out);
  out->push_back(':');
  AppendPadded(second_of_day % 60, 2, out);
}

void AppendTime(int32_t millis, std::string* out) {
  const int64_t in_day = FloorMod(millis, kMillisPerDay);
  out->push_back('"');
  AppendClock(in_day / 1000, out);
  out->push_back('.');
  AppendPadded(in_day % 1000, 3, out);
  out->push_back('"');
}

void AppendTimestamp(int64_t value, const DataType& type, std::string* out) {
  const int digits = type.precision <= 3 ? 3 : (type.precision <= 6 ? 6 : 9);
  const int64_t per_second = digits == 3 ? 1000 : (digits == 6 ? 1000000 : 1000000000);
  const int64_t seconds = FloorDiv(value, per_second);
  out->push_back('"');
  out->append(DateText(FloorDiv(seconds, 86400)));
  out->push_back('T');
  AppendClock(FloorMod(seconds, 86400), out);
  if (type.precision > 0) {
    out->push_back('.');
    AppendPadded(FloorMod(value, per_second), digits, out);
    out->resize(out->size() - static_cast<size_t>(digits - type.precision));
  }
  if (type.root == TypeRoot::kTimestampLtz) out->push_back('Z');
  out->push_back('"');
}

template <typename ArrayType>
const ArrayType& As(const arrow::Array& array) {
  return static_cast<const ArrayType&>(array);
}

void AppendCell(const arrow::Array& array, int64_t row, const DataType& type, std::string* out);

void AppendRow(const arrow::StructArray& array, int64_t row, const DataType& type, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < type.fields.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendJsonString(type.fields[i].name, out);
    out->push_back(':');
    AppendCell(*array.field(static_cast<int>(i)), row, type.fields[i].type, out);
  }
  out->push_back('}');
}

void AppendArray(const arrow::ListArray& array, int64_t row, const DataType& element, std::string* out) {
  out->push_back('[');
  const int64_t begin = array.value_offset(row);
  for (int64_t i = begin; i < begin + array.value_length(row); ++i) {
    if (i > begin) out->push_back(',');
    AppendCell(*array.values(), i, element, out);
  }
  out->push_back(']');
}

void AppendMap(const arrow::MapArray& array, int64_t row, const DataType& key, const DataType& value,
               std::string* out) {
  std::vector<std::pair<std::string, std::string>> pairs(static_cast<size_t>(array.value_length(row)));
  int64_t entry = array.value_offset(row);
  for (auto& [key_text, value_text] : pairs) {
    AppendCell(*array.keys(), entry, key, &key_text);
    AppendCell(*array.items(), entry, value, &value_text);
    ++entry;
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out->push_back('[');
  for (size_t i = 0; i < pairs.size(); ++i) {
    out->append(i > 0 ? ",[" : "[").append(pairs[i].first).append(",").append(pairs[i].second).append("]");
  }
  out->push_back(']');
}

void AppendNested(const arrow::Array& array, int64_t row, const DataType& type, std::string* out) {
  if (type.root == TypeRoot::kRow) return AppendRow(As<arrow::StructArray>(array), row, type, out);
  if (type.root == TypeRoot::kArray) return AppendArray(As<arrow::ListArray>(array), row, *type.element, out);
  if (type.root == TypeRoot::kMap)
    return AppendMap(As<arrow::MapArray>(array), row, *type.key, *type.value, out);
  DataType count;
  count.root = TypeRoot::kInt;
  AppendMap(As<arrow::MapArray>(array), row, *type.element, count, out);
}

void AppendCell(const arrow::Array& array, int64_t row, const DataType& type, std::string* out) {
  if (array.IsNull(row)) {
    out->append("null");
    return;
  }
  switch (type.root) {
    case TypeRoot::kBoolean:
      out->append(As<arrow::BooleanArray>(array).Value(row) ? "true" : "false");
      return;
    case TypeRoot::kTinyInt: return AppendInteger(int{As<arrow::Int8Array>(array).Value(row)}, out);
    case TypeRoot::kSmallInt: return AppendInteger(As<arrow::Int16Array>(array).Value(row), out);
    case TypeRoot::kInt: return AppendInteger(As<arrow::Int32Array>(array).Value(row), out);
    case TypeRoot::kBigInt: return AppendInteger(As<arrow::Int64Array>(array).Value(row), out);
    case TypeRoot::kFloat: return AppendFloat(As<arrow::FloatArray>(array).Value(row), out);
    case TypeRoot::kDouble: return AppendFloat(As<arrow::DoubleArray>(array).Value(row), out);
    case TypeRoot::kDecimal: {
      const arrow::Decimal128 unscaled(As<arrow::Decimal128Array>(array).GetValue(row));
      out->append("\"").append(DecimalText(unscaled, type.scale)).append("\"");
      return;
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return AppendJsonString(As<arrow::StringArray>(array).GetView(row), out);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return AppendHex(As<arrow::BinaryArray>(array).GetView(row), out);
    case TypeRoot::kDate:
      out->append("\"").append(DateText(As<arrow::Date32Array>(array).Value(row))).append("\"");
      return;
    case TypeRoot::kTime: return AppendTime(As<arrow::Time32Array>(array).Value(row), out);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return AppendTimestamp(As<arrow::TimestampArray>(array).Value(row), type, out);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return AppendNested(array, row, type, out);
  }
}

}  // namespace

void AppendJsonValue(const arrow::Array& column, int64_t row, const DataType& type, std::string* out) {
  AppendCell(column, row, type, out);
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  size_t clean = 0;  // start of what can be copied as it is
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++i;
      continue;
    }
    const size_t length = Utf8CharacterBytes(text.substr(i));
    if (length > 1) {
      i += length;
      continue;
    }
    out->append(text.substr(clean, i - clean));
    if (length == 0) {
      out->append("\xEF\xBF\xBD");
    } else {
      AppendEscaped(c, out);
    }
    clean = ++i;
  }
  out->append(text.substr(clean));
  out->push_back('"');
}

JsonLines::JsonLines(std::vector<DataField> fields) : fields_(std::move(fields)) {
  for (const DataField& field : fields_) {
    std::string name = names_.empty() ? "{" : ",";
    AppendJsonString(field.name, &name);
    names_.push_back(name + ":");
  }
}

Status JsonLines::Append(const arrow::RecordBatch& batch, std::string* out) const {
  if (batch.num_columns() != static_cast<int>(fields_.size())) {
    return Invalid("writing JSON lines: the batch has ", batch.num_columns(), " columns, expected ",
                   fields_.size());
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto wanted = ToArrowType(fields_[i].type);
    const auto& found = batch.column(static_cast<int>(i))->type();
    if (!found->Equals(*wanted)) {
      return Invalid("writing JSON lines, column ", fields_[i].name, ": found ", found->ToString(),
                     ", expected ", wanted->ToString());
    }
  }
  const arrow::ArrayVector columns = batch.columns();
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (fields_.empty()) out->push_back('{');
    for (size_t i = 0; i < fields_.size(); ++i) {
      out->append(names_[i]);
      AppendCell(*columns[i], row, fields_[i].type, out);
    }
    out->append("}\n");
  }
  return Status::OK();
}

}  // namespace headrace
