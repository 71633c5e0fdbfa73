#include "ingest/postgres_types.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace headrace::ingest {
namespace {

constexpr int32_t kModifierShift = 4;  // modifiers of lengths and precisions count four bytes of a header
constexpr int32_t kMostDecimalDigits = 38;
constexpr int kMostDepth = 8;              // of domains over arrays of domains …
constexpr uint32_t kFirstOfUsers = 16384;  // types below are built in
constexpr int32_t kMostTimeDigits = 3;     // TIME keeps milliseconds

DataType Of(TypeRoot root) {
  DataType type;
  type.root = root;
  return type;
}

DataType Text(int32_t length = kMaxLength) {
  DataType type = Of(TypeRoot::kVarChar);
  type.length = length;
  return type;
}

DataType WithPrecision(TypeRoot root, int32_t precision) {
  DataType type = Of(root);
  type.precision = precision;
  return type;
}

// numeric(p, s) has p digits, s of them after the point; s may be below 0 or above p.
DataType Numeric(int32_t modifier) {
  if (modifier < kModifierShift) return Text();  // any number of digits, and its own scale in every value
  const int32_t bits = modifier - kModifierShift;
  const int32_t precision = bits >> 16 & 0xffff;
  const int32_t scale = ((bits & 0x7ff) ^ 1024) - 1024;
  DataType type = Of(TypeRoot::kDecimal);
  type.precision = scale < 0 ? precision - scale : std::max(precision, scale);
  type.scale = std::max(scale, 0);
  return type.precision >= 1 && type.precision <= kMostDecimalDigits ? type : Text();
}

DataType Clock(int32_t modifier) {
  return modifier >= 0 && modifier <= kMostTimeDigits ? WithPrecision(TypeRoot::kTime, modifier) : Text();
}

std::optional<DataType> BuiltIn(uint32_t oid, int32_t modifier) {
  const int32_t instant_digits = modifier < 0 || modifier > 6 ? 6 : modifier;
  switch (oid) {
    case 16: return Of(TypeRoot::kBoolean);
    case 17: {
      DataType bytes = Of(TypeRoot::kVarBinary);
      bytes.length = kMaxLength;
      return bytes;
    }
    case 20: return Of(TypeRoot::kBigInt);
    case 21: return Of(TypeRoot::kSmallInt);
    case 23: return Of(TypeRoot::kInt);
    case 26: return Of(TypeRoot::kBigInt);  // oid: 32 bits without a sign
    case 700: return Of(TypeRoot::kFloat);
    case 701: return Of(TypeRoot::kDouble);
    case 1042: {
      if (modifier <= kModifierShift) return Text();
      DataType padded = Of(TypeRoot::kChar);
      padded.length = modifier - kModifierShift;
      return padded;
    }
    case 1043: return modifier > kModifierShift ? Text(modifier - kModifierShift) : Text();
    case 1082: return Of(TypeRoot::kDate);
    case 1083: return Clock(modifier);
    case 1114: return WithPrecision(TypeRoot::kTimestamp, instant_digits);
    case 1184: return WithPrecision(TypeRoot::kTimestampLtz, instant_digits);
    case 1700: return Numeric(modifier);
    default: return std::nullopt;
  }
}

// The element type of a built-in array type of a type above, or of text.
std::optional<uint32_t> BuiltInElement(uint32_t array) {
  switch (array) {
    case 1000: return 16;
    case 1001: return 17;
    case 1005: return 21;
    case 1007: return 23;
    case 1009: return 25;
    case 1014: return 1042;
    case 1015: return 1043;
    case 1016: return 20;
    case 1021: return 700;
    case 1022: return 701;
    case 1028: return 26;
    case 1115: return 1114;
    case 1182: return 1082;
    case 1183: return 1083;
    case 1185: return 1184;
    case 1231: return 1700;
    case 2951: return 2950;  // uuid
    default: return std::nullopt;
  }
}

}  // namespace

bool PostgresTypes::Knows(uint32_t oid) const { return oid < kFirstOfUsers || types_.contains(oid); }

DataType PostgresTypes::Map(uint32_t oid, int32_t modifier) const { return MapAtDepth(oid, modifier, 0); }

DataType PostgresTypes::MapAtDepth(uint32_t oid, int32_t modifier, int depth) const {
  if (const std::optional<DataType> built_in = BuiltIn(oid, modifier)) return *built_in;
  uint32_t element = BuiltInElement(oid).value_or(0);
  const auto found = types_.find(oid);
  if (found != types_.end() && depth < kMostDepth) {
    const PostgresType& type = found->second;
    if (type.kind == 'd') return MapAtDepth(type.base, type.base_modifier, depth + 1);
    if (type.element != 0) element = type.element;
  }
  if (element == 0 || depth >= kMostDepth) return Text();
  DataType list = Of(TypeRoot::kArray);
  list.element = std::make_shared<const DataType>(MapAtDepth(element, modifier, depth + 1));
  return list;
}

}  // namespace headrace::ingest
