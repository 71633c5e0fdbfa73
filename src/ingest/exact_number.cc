#include "ingest/exact_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "base/error.h"
#include "format/number_text.h"

namespace headrace::ingest {
namespace {

constexpr size_t kMaxDecimalBytes =
    8192;  // PostgreSQL's numeric has at most 147 455 digits, 61 kB; real ones a few hundred bytes
constexpr int32_t kMaxScale = 20000;

// The digits that count: without point, sign, exponent, leading and trailing zeros.
std::string SignificantDigits(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == 'e' || c == 'E') break;
    if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits.push_back(c);
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits;
}

// Does the number print as those digits again? Up to `sure` digits always, because that many survive the way through the type.
template <typename Float>
bool KeepsDigits(Float value, const std::string& digits) {
  if (digits.size() <= static_cast<size_t>(std::numeric_limits<Float>::digits10)) return true;
  if (digits.size() > 1100) return false;
  char buffer[1200];
  const auto exact = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific,
                                   static_cast<int>(digits.size()) - 1);
  if (exact.ec == std::errc() &&
      SignificantDigits({buffer, static_cast<size_t>(exact.ptr - buffer)}) == digits)
    return true;
  const auto shortest = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  return SignificantDigits({buffer, static_cast<size_t>(shortest.ptr - buffer)}) == digits;
}

template <typename Float>
bool ExactFloating(std::string_view text, const char* type, Float* value, std::string* why) {
  if (text == "NaN") {
    *value = std::numeric_limits<Float>::quiet_NaN();
    return true;
  }
  if (text == "Infinity" || text == "-Infinity") {
    *value = text.front() == '-' ? -std::numeric_limits<Float>::infinity()
                                 : std::numeric_limits<Float>::infinity();
    return true;
  }
  if (!LooksLikeNumber(text)) {
    *why = "not a number";
    return false;
  }
  if (text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc::result_out_of_range) {
    *why = std::string("outside the range of ") + type;
    return false;
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    *why = "not a number";
    return false;
  }
  const std::string digits =
      text.size() <= static_cast<size_t>(std::numeric_limits<Float>::digits10) ? "" : SignificantDigits(text);
  if ((*value == 0 && !digits.empty()) || !KeepsDigits(*value, digits)) {
    *why = std::string("more digits than ") + type + " holds";
    return false;
  }
  return true;
}

// The decimal digits of a magnitude given as big-endian bytes.
std::string DigitsOfMagnitude(std::vector<uint8_t> magnitude) {
  std::string reversed;
  size_t first = 0;
  while (first < magnitude.size()) {
    uint64_t remainder = 0;  // long division by 10^9, byte by byte
    for (size_t i = first; i < magnitude.size(); ++i) {
      const uint64_t current = remainder << 8 | magnitude[i];
      magnitude[i] = static_cast<uint8_t>(current / 1000000000);
      remainder = current % 1000000000;
    }
    while (first < magnitude.size() && magnitude[first] == 0) ++first;
    for (int i = 0; i < 9; ++i) {
      reversed.push_back(static_cast<char>('0' + remainder % 10));
      remainder /= 10;
    }
  }
  while (!reversed.empty() && reversed.back() == '0') reversed.pop_back();
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::vector<uint8_t> Magnitude(std::string_view bytes, bool negative) {
  std::vector<uint8_t> magnitude(bytes.begin(), bytes.end());
  if (!negative) return magnitude;
  int carry = 1;
  for (size_t i = magnitude.size(); i-- > 0;) {
    const int byte = static_cast<uint8_t>(~magnitude[i]) + carry;
    magnitude[i] = static_cast<uint8_t>(byte);
    carry = byte >> 8;
  }
  if (carry != 0) magnitude.insert(magnitude.begin(), 1);
  return magnitude;
}

}  // namespace

bool LooksLikeNumber(std::string_view text) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t begin = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i > begin;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  if (!digits()) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

bool WholeNumber(std::string_view text, int64_t* value, std::string* why) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return true;
  if (!LooksLikeNumber(text)) {
    *why = "not a number";
    return false;
  }
  // With a point or an exponent, or out of range: 38 digits tell which.
  const Result<arrow::Decimal128> wide = ParseDecimal(text, 38, 0);
  if (wide.ok() && wide->high_bits() == (static_cast<int64_t>(wide->low_bits()) < 0 ? -1 : 0)) {
    *value = static_cast<int64_t>(wide->low_bits());
    return true;
  }
  const bool fraction = !wide.ok() && ParseDecimal(text, 38, 19).ok();
  *why = fraction ? "not a whole number" : "more than 64 bits hold";
  return false;
}

bool ExactFloat(std::string_view text, float* value, std::string* why) {
  return ExactFloating(text, "FLOAT", value, why);
}
bool ExactDouble(std::string_view text, double* value, std::string* why) {
  return ExactFloating(text, "DOUBLE", value, why);
}

bool ExactDecimal(std::string_view text, int32_t precision, int32_t scale, arrow::Decimal128* value,
                  std::string* why) {
  const Result<arrow::Decimal128> parsed = ParseDecimal(text, precision, scale);
  if (parsed.ok()) {
    *value = *parsed;
    return true;
  }
  *why = LooksLikeNumber(text) ? "more digits than DECIMAL(" + std::to_string(precision) + ", " +
                                     std::to_string(scale) + ") holds"
                               : "not a number";
  return false;
}

bool DecimalFromBytes(std::string_view bytes, int32_t bytes_scale, int32_t precision, int32_t scale,
                      arrow::Decimal128* value, std::string* why) {
  if (bytes.size() <= 16 && !bytes.empty() && bytes_scale == scale) {
    unsigned __int128 bits = static_cast<int8_t>(bytes.front()) < 0 ? ~static_cast<unsigned __int128>(0) : 0;
    for (const char c : bytes) bits = bits << 8 | static_cast<uint8_t>(c);
    *value = arrow::Decimal128(static_cast<int64_t>(bits >> 64), static_cast<uint64_t>(bits));
    if (value->FitsInPrecision(precision)) return true;
    *why = "more digits than DECIMAL(" + std::to_string(precision) + ", " + std::to_string(scale) + ") holds";
    return false;
  }
  std::string text;
  return TextFromDecimalBytes(bytes, bytes_scale, &text, why) &&
         ExactDecimal(text, precision, scale, value, why);
}

bool TextFromDecimalBytes(std::string_view bytes, int32_t bytes_scale, std::string* text, std::string* why) {
  if (bytes.empty()) {
    *why = "no bytes where a decimal's should be";
    return false;
  }
  if (bytes.size() > kMaxDecimalBytes || bytes_scale > kMaxScale || bytes_scale < -kMaxScale) {
    *why = "a decimal of " + std::to_string(bytes.size()) + " bytes and scale " +
           std::to_string(bytes_scale) + ", at most 8192 and 20000";
    return false;
  }
  const bool negative = static_cast<int8_t>(bytes.front()) < 0;
  std::string digits = DigitsOfMagnitude(Magnitude(bytes, negative));
  if (bytes_scale < 0 && !digits.empty()) digits.append(static_cast<size_t>(-bytes_scale), '0');
  const size_t fraction = bytes_scale > 0 ? static_cast<size_t>(bytes_scale) : 0;
  if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
  if (fraction > 0) digits.insert(digits.size() - fraction, ".");
  *text = negative ? "-" + digits : digits;
  return true;
}

}  // namespace headrace::ingest
