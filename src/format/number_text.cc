// Layout of shortest digits, and decimals digit by digit.
#include "format/number_text.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace headrace {
namespace {

struct Digits {
  bool negative = false;
  std::string digits;  // d, dd, … without a point
  int exponent = 0;    // of the first digit
};

template <typename Float>
Digits ShortestDigits(Float value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  Digits result;
  if (text.front() == '-') {
    result.negative = true;
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  for (const char c : text.substr(0, mark)) {
    if (c != '.') result.digits.push_back(c);
  }
  std::string_view exponent = text.substr(mark + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

std::string Positional(const Digits& number) {
  std::string text = number.digits;
  if (number.exponent < 0) {
    text = "0." + std::string(static_cast<size_t>(-number.exponent - 1), '0') + text;
  } else if (static_cast<size_t>(number.exponent) + 1 >= text.size()) {
    text += std::string(static_cast<size_t>(number.exponent) + 1 - text.size(), '0') + ".0";
  } else {
    text.insert(static_cast<size_t>(number.exponent) + 1, ".");
  }
  return text;
}

std::string Scientific(const Digits& number, FloatLayout layout) {
  std::string text = number.digits.substr(0, 1);
  if (number.digits.size() > 1) {
    text += "." + number.digits.substr(1);
  } else if (layout == FloatLayout::kJava) {
    text += ".0";
  }
  if (layout == FloatLayout::kJava) return text + "E" + std::to_string(number.exponent);
  const std::string exponent = std::to_string(std::abs(number.exponent));
  return text + (number.exponent < 0 ? "e-" : "e+") + (exponent.size() < 2 ? "0" : "") + exponent;
}

template <typename Float>
std::string TextOf(Float value, FloatLayout layout) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  const Digits number = ShortestDigits(value);
  const int least = layout == FloatLayout::kJava ? -3 : -4;
  const int most = layout == FloatLayout::kJava ? 7 : 16;
  const bool positional = number.exponent >= least && number.exponent < most;
  return (number.negative ? "-" : "") + (positional ? Positional(number) : Scientific(number, layout));
}

Status NotADecimal(std::string_view text, int32_t precision, int32_t scale, const char* why) {
  return Invalid("'", text.substr(0, 100), "' as DECIMAL(", precision, ", ", scale, "): ", why);
}

}  // namespace

std::string FloatText(float value, FloatLayout layout) { return TextOf(value, layout); }
std::string FloatText(double value, FloatLayout layout) { return TextOf(value, layout); }

std::string DecimalText(const arrow::Decimal128& unscaled, int32_t scale) {
  std::string text = unscaled.ToIntegerString();
  const bool negative = text.front() == '-';
  if (negative) text.erase(0, 1);
  if (scale > 0) {
    const auto fraction = static_cast<size_t>(scale);
    if (text.size() <= fraction) text.insert(0, fraction + 1 - text.size(), '0');
    text.insert(text.size() - fraction, ".");
  }
  return negative ? "-" + text : text;
}

Result<arrow::Decimal128> ParseDecimal(std::string_view text, int32_t precision, int32_t scale) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  std::string digits;
  int64_t fraction = 0;
  bool after_point = false;
  bool any = false;
  while (!rest.empty() &&
         ((rest.front() >= '0' && rest.front() <= '9') || (rest.front() == '.' && !after_point))) {
    if (rest.front() == '.') {
      after_point = true;
    } else {
      any = true;
      if (!digits.empty() || rest.front() != '0') digits.push_back(rest.front());
      if (after_point) ++fraction;
    }
    rest.remove_prefix(1);
  }
  int64_t exponent = 0;
  if (any && !rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) {
    rest.remove_prefix(1);
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (error != std::errc() || exponent > 1000000 || exponent < -1000000)
      return NotADecimal(text, precision, scale, "bad exponent");
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  if (!any || !rest.empty()) return NotADecimal(text, precision, scale, "not a number");
  if (digits.empty()) return arrow::Decimal128(0);

  int64_t shift = scale - fraction + exponent;  // zeros to append, or digits to take off
  while (shift < 0 && !digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++shift;
  }
  if (shift < 0) return NotADecimal(text, precision, scale, "more digits after the point than the scale");
  if (static_cast<int64_t>(digits.size()) + shift > precision) {
    return NotADecimal(text, precision, scale, "more digits than the precision");
  }
  digits.append(static_cast<size_t>(shift), '0');
  unsigned __int128 magnitude = 0;
  for (const char c : digits) magnitude = magnitude * 10 + static_cast<unsigned>(c - '0');
  arrow::Decimal128 value(static_cast<int64_t>(magnitude >> 64), static_cast<uint64_t>(magnitude));
  return negative ? -value : value;
}

}  // namespace headrace
