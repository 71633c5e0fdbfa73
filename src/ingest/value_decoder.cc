#include "ingest/value_decoder.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ingest/encoded_bytes.h"
#include "ingest/exact_number.h"
#include "ingest/foreign_values.h"
#include "ingest/temporal_values.h"
#include "ingest/time_text.h"
#include "ingest/value_target.h"

namespace headrace::ingest {
namespace {

constexpr std::string_view kUnavailable = "__debezium_unavailable_value";

// Numbers ---------------------------------------------------------------------------------------------------------

template <typename T>
bool AppendInteger(std::string_view text, const Target& to) {
  int64_t value = 0;
  std::string reason;
  if (!WholeNumber(text, &value, &reason)) return to.Wrong(text, reason);
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
    return to.Wrong(text, "out of its range");
  to.column->AppendFixed(static_cast<T>(value));
  return true;
}

bool AppendIntegerOf(std::string_view text, const Target& to) {
  switch (to.type().root) {
    case TypeRoot::kTinyInt: return AppendInteger<int8_t>(text, to);
    case TypeRoot::kSmallInt: return AppendInteger<int16_t>(text, to);
    case TypeRoot::kInt: return AppendInteger<int32_t>(text, to);
    default: return AppendInteger<int64_t>(text, to);
  }
}

bool AppendFloating(std::string_view text, const Target& to) {
  std::string reason;
  if (to.type().root == TypeRoot::kFloat) {
    float value = 0;
    if (!ExactFloat(text, &value, &reason)) return to.Wrong(text, reason);
    to.column->AppendFixed(value);
    return true;
  }
  double value = 0;
  if (!ExactDouble(text, &value, &reason)) return to.Wrong(text, reason);
  to.column->AppendFixed(value);
  return true;
}

bool AppendDecimalText(std::string_view text, const Target& to) {
  arrow::Decimal128 value;
  std::string reason;
  if (!ExactDecimal(text, to.type().precision, to.type().scale, &value, &reason))
    return to.Wrong(text, reason);
  to.column->AppendDecimal(value);
  return true;
}

bool AppendDecimalBytes(std::string_view base64, int32_t scale, const Target& to) {
  std::string bytes;
  arrow::Decimal128 value;
  std::string reason = "not base64";
  if (!DecodeBase64(base64, false, &bytes) ||
      !DecimalFromBytes(bytes, scale, to.type().precision, to.type().scale, &value, &reason)) {
    return to.Wrong(base64, reason);
  }
  to.column->AppendDecimal(value);
  return true;
}

// {"scale": 2, "value": "ATo="}: nothing else looks like it.
bool ReadVariableDecimal(const JsonToken& value, int32_t* scale, std::string_view* base64) {
  if (value.kind != JsonKind::kObject || value.length != 2) return false;
  const JsonToken* scale_token = FindMember(value, "scale");
  const JsonToken* bytes_token = FindMember(value, "value");
  int64_t number = 0;
  std::string ignored;
  if (scale_token == nullptr || bytes_token == nullptr || scale_token->kind != JsonKind::kNumber ||
      bytes_token->kind != JsonKind::kString || !WholeNumber(scale_token->view(), &number, &ignored) ||
      number != static_cast<int32_t>(number)) {
    return false;
  }
  *scale = static_cast<int32_t>(number);
  *base64 = bytes_token->view();
  return true;
}

// Plain text for a decimal column: a number, or base64 of one.
bool AppendPlainDecimal(std::string_view text, const Target& to) {
  if (to.modes.decimal == DecimalMode::kString) return AppendDecimalText(text, to);
  if (to.modes.decimal == DecimalMode::kPrecise) return AppendDecimalBytes(text, to.type().scale, to);
  std::string bytes;
  const bool number = LooksLikeNumber(text);
  const bool base64 = !text.empty() && DecodeBase64(text, false, &bytes);
  if (number && base64) {
    return to.Wrong(
        text, "it could be a number as text or base64 of one: say which by --decimals string or precise");
  }
  return base64 ? AppendDecimalBytes(text, to.type().scale, to) : AppendDecimalText(text, to);
}

bool AppendDecimal(const JsonToken& value, const ValueShape& shape, const Target& to) {
  int32_t scale = 0;
  std::string_view base64;
  if (value.kind == JsonKind::kNumber) return AppendDecimalText(value.view(), to);
  if (ReadVariableDecimal(value, &scale, &base64)) return AppendDecimalBytes(base64, scale, to);
  if (value.kind != JsonKind::kString) return to.Misfit(value, "a number, or one as text");
  if (shape.form == ValueForm::kDecimalBytes) return AppendDecimalBytes(value.view(), shape.scale, to);
  if (shape.form == ValueForm::kPlain) return AppendPlainDecimal(value.view(), to);
  return AppendDecimalText(value.view(), to);
}

// Text and bytes --------------------------------------------------------------------------------------------------

int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (c & 0xC0) != 0x80;
  return count;
}

bool AppendText(std::string_view text, const Target& to) {
  if (text.size() > static_cast<size_t>(to.type().length) && CountCharacters(text) > to.type().length) {
    return to.Wrong(text, "it has " + std::to_string(CountCharacters(text)) + " characters");
  }
  to.column->AppendBytes(text);
  return true;
}

// A column of text holds what came; what the envelope knows to be a decimal or a time is written out readably.
bool AppendTextFrom(const JsonToken& value, const ValueShape& shape, const Target& to) {
  int32_t scale = shape.scale;
  std::string_view base64 = value.view();
  const bool decimal_bytes = shape.form == ValueForm::kDecimalBytes && value.kind == JsonKind::kString;
  const bool variable = (shape.form == ValueForm::kVariableDecimal || shape.form == ValueForm::kPlain) &&
                        ReadVariableDecimal(value, &scale, &base64);
  if (decimal_bytes || variable) {
    std::string bytes;
    std::string text;
    std::string reason = "not base64";
    if (!DecodeBase64(base64, false, &bytes) || !TextFromDecimalBytes(bytes, scale, &text, &reason))
      return to.Wrong(base64, reason);
    return AppendText(text, to);
  }
  if (value.kind == JsonKind::kNumber &&
      (shape.form == ValueForm::kClock || shape.form == ValueForm::kInstant ||
       shape.form == ValueForm::kDays)) {
    int64_t count = 0;
    std::string reason;
    if (!WholeNumber(value.view(), &count, &reason)) return to.Wrong(value.view(), reason);
    if (shape.form == ValueForm::kClock) return AppendText(ClockText(count, shape.digits), to);
    if (shape.form == ValueForm::kInstant) return AppendText(DateTimeText(count, shape.digits), to);
    if (count != static_cast<int32_t>(count)) return to.Wrong(value.view(), "not a day");
    return AppendText(
        DateTimeText(count * kSecondsPerDay, 0).substr(0, DateTimeText(count * kSecondsPerDay, 0).find('T')),
        to);
  }
  // A number or a boolean, known to be one, keeps its own spelling: a column of text holds what its source had before and after a retype.
  if (value.kind == JsonKind::kNumber &&
      (shape.form == ValueForm::kInteger || shape.form == ValueForm::kFloat))
    return AppendText(value.view(), to);
  if (shape.form == ValueForm::kBoolean && (value.kind == JsonKind::kTrue || value.kind == JsonKind::kFalse))
    return AppendText(value.kind == JsonKind::kTrue ? "true" : "false", to);
  if (value.kind != JsonKind::kString) return to.Misfit(value, "text");
  return AppendText(value.view(), to);
}

bool IsLowerHex(std::string_view text) {
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return text.size() % 2 == 0;
}

bool DecodePlainBytes(std::string_view text, BinaryMode mode, std::string* bytes, std::string* reason) {
  switch (mode) {
    case BinaryMode::kBase64: *reason = "not base64"; return DecodeBase64(text, false, bytes);
    case BinaryMode::kBase64Url:
      *reason = "not base64 of the URL alphabet";
      return DecodeBase64(text, true, bytes);
    case BinaryMode::kHex: *reason = "not hexadecimal digits"; return DecodeHex(text, bytes);
    case BinaryMode::kUnsaid: break;
  }
  const bool base64 = DecodeBase64(text, false, bytes);
  const bool hex = IsLowerHex(text);
  if (base64 && hex && !text.empty()) {
    *reason = "it could be base64 or hexadecimal digits: say which by --binary base64 or hex";
    return false;
  }
  *reason = "neither base64 nor hexadecimal digits";
  return base64 || (hex && DecodeHex(text, bytes));
}

bool AppendBinary(std::string_view text, ValueForm form, const Target& to) {
  std::string bytes;
  std::string reason;
  if (!DecodePlainBytes(text, form == ValueForm::kBase64 ? BinaryMode::kBase64 : to.modes.binary, &bytes,
                        &reason)) {
    return to.Wrong(text, reason);
  }
  if (bytes.size() > static_cast<size_t>(to.type().length))
    return to.Wrong(text, "it has " + std::to_string(bytes.size()) + " bytes");
  to.column->AppendBytes(bytes);
  return true;
}

bool AppendBoolean(const JsonToken& value, const Target& to) {
  if (value.kind == JsonKind::kTrue || value.kind == JsonKind::kFalse) {
    to.column->AppendBool(value.kind == JsonKind::kTrue);
    return true;
  }
  // MySQL has no boolean: its connectors send 0 and 1.
  if (value.kind == JsonKind::kNumber && (value.view() == "0" || value.view() == "1")) {
    to.column->AppendBool(value.view() == "1");
    return true;
  }
  return to.Misfit(value, "true or false");
}

// Nested ----------------------------------------------------------------------------------------------------------

const ValueShape& ChildShape(const ValueShape& shape, size_t i) {
  return i < shape.children.size() ? shape.children[i] : kPlainShape;
}

bool AppendChild(const JsonToken& value, const ValueShape& shape, size_t child, std::string_view place,
                 const Target& to) {
  if (AppendValue(value, shape, to.modes, &to.column->children()[child], to.why)) return true;
  return to.Refuse(std::string(place) + " " + *to.why);
}

bool AppendArray(const JsonToken& value, const ValueShape& shape, const Target& to) {
  if (value.kind != JsonKind::kArray) return to.Misfit(value, "an array");
  int64_t i = 0;
  for (const JsonToken* element = value.begin(); element != value.end(); element = element->next(), ++i) {
    if (!AppendChild(*element, ChildShape(shape, 0), 0, "element " + std::to_string(i), to)) return false;
  }
  to.column->CloseList();
  return true;
}

// Equal keys in one map would leave open which value counts.
bool HasRepeatedKey(const ColumnBuffer& keys, int64_t from) {
  std::vector<std::string> seen;
  for (int64_t i = from; i < keys.size(); ++i) {
    std::string key;
    keys.AppendKeyBytes(i, &key);
    seen.push_back(std::move(key));
  }
  std::sort(seen.begin(), seen.end());
  return std::adjacent_find(seen.begin(), seen.end()) != seen.end();
}

// An object, whose names are the keys, or an array of [key, value]: maps, and multisets with the count as value.
bool AppendMap(const JsonToken& value, const ValueShape& shape, const Target& to) {
  ColumnBuffer& keys = to.column->children()[0];
  const int64_t from = keys.size();
  if (value.kind == JsonKind::kObject) {
    if (keys.type().root != TypeRoot::kVarChar && keys.type().root != TypeRoot::kChar) {
      return to.Misfit(value, "an array of [key, value] pairs");
    }
    for (const JsonToken* key = value.begin(); key != value.end(); key = key[1].next()) {
      const std::string place = "value of " + Excerpt(*key);
      if (!AppendChild(*key, kPlainShape, 0, "key", to) ||
          !AppendChild(key[1], ChildShape(shape, 1), 1, place, to))
        return false;
    }
  } else if (value.kind == JsonKind::kArray) {
    for (const JsonToken* pair = value.begin(); pair != value.end(); pair = pair->next()) {
      if (pair->kind != JsonKind::kArray || pair->length != 2) return to.Misfit(*pair, "[key, value] pairs");
      const JsonToken& key = *pair->begin();
      if (key.is_null()) return to.Refuse("has a null key");
      if (!AppendChild(key, ChildShape(shape, 0), 0, "key", to) ||
          !AppendChild(*key.next(), ChildShape(shape, 1), 1, "value", to)) {
        return false;
      }
    }
  } else {
    return to.Misfit(value, "an object or an array of [key, value] pairs");
  }
  if (!keys.type().is_nested() && HasRepeatedKey(keys, from)) return to.Refuse("has a key twice");
  to.column->CloseList();
  return true;
}

int FieldOf(const DataType& row, std::string_view name) {
  for (size_t i = 0; i < row.fields.size(); ++i) {
    if (row.fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const ValueShape& NamedShape(const ValueShape& shape, std::string_view name) {
  for (size_t i = 0; i < shape.names.size() && i < shape.children.size(); ++i) {
    if (shape.names[i] == name) return shape.children[i];
  }
  return kPlainShape;
}

bool AppendRow(const JsonToken& value, const ValueShape& shape, const Target& to) {
  if (value.kind != JsonKind::kObject) return to.Misfit(value, "an object");
  const int64_t row = to.column->size();
  std::vector<ColumnBuffer>& fields = to.column->children();
  for (const JsonToken* key = value.begin(); key != value.end(); key = key[1].next()) {
    const int field = FieldOf(to.type(), key->view());
    if (field < 0)
      return to.Refuse("has a field " + Excerpt(*key) + " that " + ToSql(to.type()) + " does not have");
    if (fields[field].size() > row) return to.Refuse("has the field " + Excerpt(*key) + " twice");
    if (!AppendChild(key[1], NamedShape(shape, key->view()), field, "field " + Excerpt(*key), to))
      return false;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].size() > row) continue;
    if (!fields[i].type().nullable)
      return to.Refuse("has no field '" + to.type().fields[i].name + "', which may not be null");
    fields[i].AppendNull();
  }
  to.column->CloseRow();
  return true;
}

}  // namespace

bool AppendValue(const JsonToken& value, const ValueShape& shape, const ValueModes& modes,
                 ColumnBuffer* column, std::string* why) {
  const Target to{modes, column, why};
  const DataType& type = column->type();
  if (value.is_null()) {
    if (!type.nullable) return to.Refuse("is null, but the column is NOT NULL");
    column->AppendNull();
    return true;
  }
  if (modes.source != ValueSource::kConnect) {
    const std::optional<bool> taken = AppendForeignValue(value, modes, column, why);
    if (taken) return *taken;
  }
  switch (type.root) {
    case TypeRoot::kBoolean: return AppendBoolean(value, to);
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
      return value.kind == JsonKind::kNumber ? AppendIntegerOf(value.view(), to)
                                             : to.Misfit(value, "a whole number");
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
      if (value.kind != JsonKind::kNumber && value.kind != JsonKind::kString)
        return to.Misfit(value, "a number");
      return AppendFloating(value.view(), to);
    case TypeRoot::kDecimal: return AppendDecimal(value, shape, to);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return AppendTextFrom(value, shape, to);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return value.kind == JsonKind::kString ? AppendBinary(value.view(), shape.form, to)
                                             : to.Misfit(value, "base64 or hexadecimal text");
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return AppendTemporal(value, shape, to);
    case TypeRoot::kArray: return AppendArray(value, shape, to);
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: return AppendMap(value, shape, to);
    case TypeRoot::kRow: return AppendRow(value, shape, to);
  }
  return to.Refuse("has a type that is not read here");
}

bool AppendTextValue(std::string_view text, const ValueModes& modes, ColumnBuffer* column, std::string* why) {
  const Target to{modes, column, why};
  switch (column->type().root) {
    case TypeRoot::kBoolean:
      if (text != "true" && text != "false" && text != "1" && text != "0")
        return to.Wrong(text, "neither true nor false");
      column->AppendBool(text == "true" || text == "1");
      return true;
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt: return AppendIntegerOf(text, to);
    case TypeRoot::kFloat:
    case TypeRoot::kDouble: return AppendFloating(text, to);
    case TypeRoot::kDecimal: return AppendDecimalText(text, to);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return AppendText(text, to);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return AppendBinary(text, ValueForm::kPlain, to);
    case TypeRoot::kDate: return AppendDateText(text, to);
    case TypeRoot::kTime: return AppendClockText(text, to);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return AppendInstantText(text, to);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: {
      JsonTape tape;
      if (!tape.Parse(text)) return to.Wrong(text, tape.error());
      return AppendValue(tape.root(), kPlainShape, modes, column, why);
    }
  }
  return to.Refuse("has a type that is not read here");
}

bool IsUnavailable(const JsonToken& value) {
  static const std::string base64 = EncodeBase64(kUnavailable);
  if (value.kind == JsonKind::kString) return value.view() == kUnavailable || value.view() == base64;
  if (value.kind == JsonKind::kObject) {
    return value.length == 1 && value.begin()->view() == kUnavailable &&
           value.begin()[1].kind == JsonKind::kString && value.begin()[1].view() == kUnavailable;
  }
  if (value.kind != JsonKind::kArray) return false;
  if (value.length == 1)
    return value.begin()->kind == JsonKind::kString && value.begin()->view() == kUnavailable;
  if (value.length != kUnavailable.size()) return false;
  const JsonToken* element = value.begin();
  for (const char c : kUnavailable) {
    if (element->kind != JsonKind::kNumber || element->view() != std::to_string(static_cast<int>(c)))
      return false;
    element = element->next();
  }
  return true;
}

std::string Excerpt(const JsonToken& value) {
  std::string text;
  if (value.kind == JsonKind::kArray || value.kind == JsonKind::kObject) {
    text = value.kind == JsonKind::kArray ? "[…]" : "{…}";
  } else {
    AppendJson(value, &text);
  }
  if (text.size() > 60) {
    size_t cut = 60;
    while (cut > 0 && (text[cut] & 0xC0) == 0x80) --cut;
    text.resize(cut);
    text += "…";
  }
  return text;
}

}  // namespace headrace::ingest
