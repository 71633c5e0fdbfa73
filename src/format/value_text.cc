// Values as text and back.
#include <charconv>
#include <cstdio>

#include "format/civil_time.h"
#include "format/number_text.h"
#include "format/value.h"

namespace headrace {
namespace {

std::string ClockText(int64_t seconds_of_day) {
  char text[16];
  std::snprintf(text, sizeof(text), "%02d:%02d:%02d", static_cast<int>(seconds_of_day / 3600),
                static_cast<int>(seconds_of_day / 60 % 60), static_cast<int>(seconds_of_day % 60));
  return text;
}

std::string FractionText(int64_t nanos, int32_t digits) {
  if (digits == 0) return "";
  char text[16];
  std::snprintf(text, sizeof(text), "%09lld", static_cast<long long>(nanos));
  return "." + std::string(text, static_cast<size_t>(digits));
}

std::string TimestampText(const Timestamp& timestamp, const DataType& type) {
  const int64_t days = FloorDiv(timestamp.millis, kMillisPerDay);
  const int64_t millis_of_day = FloorMod(timestamp.millis, kMillisPerDay);
  const int64_t nanos = millis_of_day % 1000 * 1000000 + timestamp.nanos_of_milli;
  return DateText(days) + "T" + ClockText(millis_of_day / 1000) + FractionText(nanos, type.precision) +
         (type.root == TypeRoot::kTimestampLtz ? "Z" : "");
}

std::string HexText(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kHex[c & 15]);
  }
  return text;
}

Status Bad(std::string_view text, const DataType& type, std::string_view why) {
  return Invalid("'", text.substr(0, 100), "' as ", ToSql(type), ": ", why);
}

template <typename Number>
Result<Value> ParseInteger(std::string_view text, const DataType& type) {
  Number number = 0;
  std::string_view digits = text;
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) return Bad(text, type, "out of range");
  if (error != std::errc() || end != digits.data() + digits.size()) return Bad(text, type, "not an integer");
  return Value(number);
}

template <typename Float>
Result<Value> ParseFloat(std::string_view text, const DataType& type) {
  Float number = 0;
  std::string_view digits = text;
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) return Bad(text, type, "out of range");
  if (error != std::errc() || end != digits.data() + digits.size()) return Bad(text, type, "not a number");
  return Value(number);
}

Result<Value> ParseBoolean(std::string_view text, const DataType& type) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "true") return Value(true);
  if (lower == "false") return Value(false);
  return Bad(text, type, "not true or false");
}

Result<Value> ParseHex(std::string_view text, const DataType& type) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return Bad(text, type, "an odd number of hexadecimal digits");
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return Bad(text, type, "not hexadecimal digits");
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return Value(std::move(bytes));
}

// "HH:MM", "HH:MM:SS" or "HH:MM:SS.f" with up to nine digits, as nanoseconds of the day.
std::optional<int64_t> ParseClockNanos(std::string_view text) {
  int64_t parts[3] = {0, 0, 0};
  int count = 0;
  while (count < 3) {
    if (text.size() < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
      return std::nullopt;
    parts[count++] = (text[0] - '0') * 10 + (text[1] - '0');
    text.remove_prefix(2);
    if (text.empty() || text.front() != ':' || count == 3) break;
    text.remove_prefix(1);
  }
  if (count < 2 || parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return std::nullopt;
  int64_t nanos = 0;
  if (!text.empty()) {
    if (count < 3 || text.front() != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
    int64_t unit = 100000000;
    for (const char c : text.substr(1)) {
      if (c < '0' || c > '9') return std::nullopt;
      nanos += (c - '0') * unit;
      unit /= 10;
    }
  }
  return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000000000 + nanos;
}

int64_t NanosUnit(int32_t precision) {
  int64_t unit = 1;
  for (int32_t i = precision; i < 9; ++i) unit *= 10;
  return unit;
}

Result<Value> ParseDateValue(std::string_view text, const DataType& type) {
  const std::optional<int64_t> days = ParseDateDays(text);
  if (!days || *days != static_cast<int32_t>(*days)) return Bad(text, type, "not a date like 2024-02-29");
  return Value(static_cast<int32_t>(*days));
}

Result<Value> ParseTime(std::string_view text, const DataType& type) {
  const std::optional<int64_t> nanos = ParseClockNanos(text);
  if (!nanos) return Bad(text, type, "not a time like 23:59:59.999");
  if (*nanos % 1000000 != 0) return Bad(text, type, "finer than milliseconds");
  return Value(static_cast<int32_t>(*nanos / 1000000));
}

Result<Value> ParseTimestamp(std::string_view text, const DataType& type) {
  std::string_view rest = text;
  if (type.root == TypeRoot::kTimestampLtz && rest.ends_with('Z')) rest.remove_suffix(1);
  const size_t split = rest.find_first_of("T ");
  const std::optional<int64_t> days = ParseDateDays(rest.substr(0, split));
  const std::optional<int64_t> nanos =
      split == std::string_view::npos ? std::optional<int64_t>(0) : ParseClockNanos(rest.substr(split + 1));
  if (!days || !nanos) return Bad(text, type, "not a timestamp like 2024-02-29T23:59:59.999");
  if (*nanos % NanosUnit(type.precision) != 0) return Bad(text, type, "finer than the type's precision");
  Timestamp timestamp;
  if (__builtin_mul_overflow(*days, kMillisPerDay, &timestamp.millis) ||
      __builtin_add_overflow(timestamp.millis, *nanos / 1000000, &timestamp.millis)) {
    return Bad(text, type, "out of range");
  }
  timestamp.nanos_of_milli = static_cast<int32_t>(*nanos % 1000000);
  return Value(timestamp);
}

}  // namespace

std::string ToText(const Value& value, const DataType& type) {
  if (IsNull(value)) return "null";
  if (!FitsType(value, type)) return "?";
  switch (type.root) {
    case TypeRoot::kBoolean: return std::get<bool>(value) ? "true" : "false";
    case TypeRoot::kTinyInt: return std::to_string(std::get<int8_t>(value));
    case TypeRoot::kSmallInt: return std::to_string(std::get<int16_t>(value));
    case TypeRoot::kInt: return std::to_string(std::get<int32_t>(value));
    case TypeRoot::kBigInt: return std::to_string(std::get<int64_t>(value));
    case TypeRoot::kFloat: return FloatText(std::get<float>(value), FloatLayout::kPlain);
    case TypeRoot::kDouble: return FloatText(std::get<double>(value), FloatLayout::kPlain);
    case TypeRoot::kDecimal: return DecimalText(std::get<arrow::Decimal128>(value), type.scale);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return std::get<std::string>(value);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return HexText(std::get<std::string>(value));
    case TypeRoot::kDate: return DateText(std::get<int32_t>(value));
    case TypeRoot::kTime: {
      const int64_t millis = FloorMod(std::get<int32_t>(value), kMillisPerDay);
      return ClockText(millis / 1000) + FractionText(millis % 1000 * 1000000, 3);
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return TimestampText(std::get<Timestamp>(value), type);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: break;
  }
  return "?";
}

Result<Value> ValueFromText(std::string_view text, const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean: return ParseBoolean(text, type);
    case TypeRoot::kTinyInt: return ParseInteger<int8_t>(text, type);
    case TypeRoot::kSmallInt: return ParseInteger<int16_t>(text, type);
    case TypeRoot::kInt: return ParseInteger<int32_t>(text, type);
    case TypeRoot::kBigInt: return ParseInteger<int64_t>(text, type);
    case TypeRoot::kFloat: return ParseFloat<float>(text, type);
    case TypeRoot::kDouble: return ParseFloat<double>(text, type);
    case TypeRoot::kDecimal: {
      HEADRACE_ASSIGN_OR_RETURN(arrow::Decimal128 decimal, ParseDecimal(text, type.precision, type.scale));
      return Value(decimal);
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return Value(std::string(text));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return ParseHex(text, type);
    case TypeRoot::kDate: return ParseDateValue(text, type);
    case TypeRoot::kTime: return ParseTime(text, type);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return ParseTimestamp(text, type);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: break;
  }
  return Unsupported("text for the nested type ", ToSql(type));
}

}  // namespace headrace
