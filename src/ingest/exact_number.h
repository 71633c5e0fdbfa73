// Numbers from text without loss: whole numbers, floating numbers and decimals are taken exactly or refused.
//
// Pure. `why` gets the reason of a refusal, to follow "is 12.5, …".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

namespace headrace::ingest {

// A number in JSON's notation, also with a plus sign or leading zeros: "12", "-0.5", "6.1E-4".
bool LooksLikeNumber(std::string_view text);

// "12", and "12.0" or "12e0" too: whole is whole.
bool WholeNumber(std::string_view text, int64_t* value, std::string* why);

// The nearest number of that width, provided it prints as `text` again when given as many digits. NaN, Infinity and -Infinity too.
bool ExactFloat(std::string_view text, float* value, std::string* why);
bool ExactDouble(std::string_view text, double* value, std::string* why);

bool ExactDecimal(std::string_view text, int32_t precision, int32_t scale, arrow::Decimal128* value,
                  std::string* why);

// An unscaled number as Java's BigDecimal gives it: big-endian two's complement of any length, with its own scale.
bool DecimalFromBytes(std::string_view bytes, int32_t bytes_scale, int32_t precision, int32_t scale,
                      arrow::Decimal128* value, std::string* why);
// The same as text, with exactly `bytes_scale` digits after the point.
bool TextFromDecimalBytes(std::string_view bytes, int32_t bytes_scale, std::string* text, std::string* why);

}  // namespace headrace::ingest
