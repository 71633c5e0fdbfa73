// Floating and decimal numbers as text: the two layouts that Paimon tables meet, and exact decimals from text.
//
// Digits are always the shortest that read back to the same number of that width. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

#include "base/error.h"

namespace headrace {

// kPlain: positional for 1e-4 <= |x| < 1e16, else 1.5e+20, 1e-07 (JSON lines). kJava: Float.toString and Double.toString,
// positional for 1e-3 <= |x| < 1e7, else 1.5E20, 1.0E-7 (partition folders).
enum class FloatLayout { kPlain, kJava };
std::string FloatText(float value, FloatLayout layout);
std::string FloatText(double value, FloatLayout layout);

// Never an exponent: "-0.05", "123.00".
std::string DecimalText(const arrow::Decimal128& unscaled, int32_t scale);

// Exact: "0.050" and "5e-2" are 5 at scale 2; kInvalid when digits would be lost or the precision is exceeded.
Result<arrow::Decimal128> ParseDecimal(std::string_view text, int32_t precision, int32_t scale);

}  // namespace headrace
