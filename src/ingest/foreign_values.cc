#include "ingest/foreign_values.h"

#include "ingest/encoded_bytes.h"
#include "ingest/postgres_values.h"
#include "ingest/value_decoder.h"
#include "ingest/value_target.h"

namespace headrace::ingest {
namespace {

bool IsText(const DataType& type) { return type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar; }
bool IsBinary(const DataType& type) {
  return type.root == TypeRoot::kBinary || type.root == TypeRoot::kVarBinary;
}
bool IsInteger(const DataType& type) {
  return type.root >= TypeRoot::kTinyInt && type.root <= TypeRoot::kBigInt;
}

bool AppendBytes(std::string_view bytes, const Target& to) {
  if (bytes.size() > static_cast<size_t>(to.type().length))
    return to.Refuse("has " + std::to_string(bytes.size()) + " bytes, too many for " + ToSql(to.type()));
  to.column->AppendBytes(bytes);
  return true;
}

// One byte a character, U+0000 to U+00FF.
bool AppendLatin1(std::string_view text, const Target& to) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x80) {
      bytes.push_back(text[i]);
    } else if ((lead == 0xC2 || lead == 0xC3) && i + 1 < text.size()) {
      bytes.push_back(static_cast<char>((lead << 6 & 0xC0) | (text[++i] & 0x3F)));
    } else {
      return to.Wrong(text, "bytes come as text of the characters up to U+00FF");
    }
  }
  return AppendBytes(bytes, to);
}

bool AppendAsText(std::string_view text, const Target& to) {
  return AppendTextValue(text, to.modes, to.column, to.why);
}

std::optional<bool> AppendCanal(const JsonToken& value, const Target& to) {
  if (value.kind != JsonKind::kString) return std::nullopt;
  if (IsBinary(to.type()) && to.modes.binary == BinaryMode::kUnsaid) return AppendLatin1(value.view(), to);
  return AppendAsText(value.view(), to);
}

std::optional<bool> AppendMaxwell(const JsonToken& value, const Target& to) {
  if (IsText(to.type()) && value.kind != JsonKind::kString) {
    std::string json;
    AppendJson(value, &json);
    return AppendAsText(json, to);
  }
  const bool truth = value.kind == JsonKind::kTrue || value.kind == JsonKind::kFalse;
  if (truth && IsInteger(to.type())) return AppendAsText(value.kind == JsonKind::kTrue ? "1" : "0", to);
  if (!IsBinary(to.type()) || value.kind != JsonKind::kString || to.modes.binary != BinaryMode::kUnsaid)
    return std::nullopt;
  std::string bytes;
  if (!DecodeBase64(value.view(), false, &bytes)) return to.Wrong(value.view(), "not base64");
  return AppendBytes(bytes, to);
}

std::optional<bool> AppendPostgres(const JsonToken& value, const Target& to) {
  if (value.kind == JsonKind::kTrue || value.kind == JsonKind::kFalse) {
    if (!IsText(to.type())) return std::nullopt;
    return AppendAsText(value.kind == JsonKind::kTrue ? "true" : "false", to);
  }
  if (value.kind == JsonKind::kNumber) {
    if (!IsText(to.type())) return std::nullopt;
    return AppendAsText(value.view(), to);
  }
  if (value.kind != JsonKind::kString) return std::nullopt;
  std::string_view text = value.view();
  const bool hex = to.modes.binary == BinaryMode::kUnsaid || to.modes.binary == BinaryMode::kHex;
  if (IsBinary(to.type()) && hex) {
    if (text.starts_with("\\x")) text.remove_prefix(2);
    std::string bytes;
    if (!DecodeHex(text, &bytes)) return to.Wrong(text, "not hexadecimal digits");
    return AppendBytes(bytes, to);
  }
  if (to.type().root == TypeRoot::kBoolean || IsBinary(to.type())) return AppendAsText(text, to);
  return AppendPostgresText(text, to.column, to.why);
}

}  // namespace

std::optional<bool> AppendForeignValue(const JsonToken& value, const ValueModes& modes, ColumnBuffer* column,
                                       std::string* why) {
  const Target to{modes, column, why};
  switch (modes.source) {
    case ValueSource::kConnect: return std::nullopt;
    case ValueSource::kCanal: return AppendCanal(value, to);
    case ValueSource::kMaxwell: return AppendMaxwell(value, to);
    case ValueSource::kPostgres: return AppendPostgres(value, to);
  }
  return std::nullopt;
}

}  // namespace headrace::ingest
