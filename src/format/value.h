// One primitive value outside of a column: partition values, keys and statistics.
//
// std::monostate is null. Which alternative a Paimon type uses: BOOLEAN bool; TINYINT int8_t; SMALLINT int16_t;
// INT, DATE (days), TIME (milliseconds) int32_t; BIGINT int64_t; FLOAT; DOUBLE; CHAR, VARCHAR, BINARY, VARBINARY std::string;
// DECIMAL arrow::Decimal128 (unscaled); TIMESTAMP, TIMESTAMP_LTZ Timestamp.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

struct Timestamp {
  int64_t millis = 0;          // since 1970, may be negative
  int32_t nanos_of_milli = 0;  // 0 … 999 999
  auto operator<=>(const Timestamp&) const = default;
};

using Value = std::variant<std::monostate, bool, int8_t, int16_t, int32_t, int64_t, float, double,
                           std::string, arrow::Decimal128, Timestamp>;

inline bool IsNull(const Value& value) { return std::holds_alternative<std::monostate>(value); }

// Whether the value is null or of the alternative that `type` uses; nested types hold only nulls.
bool FitsType(const Value& value, const DataType& type);

// Paimon's order of two values of one type: nulls first; strings and bytes unsigned; floats as Java's compare (-0.0 < 0.0,
// NaN largest). Negative, zero or positive.
int CompareValues(const Value& a, const Value& b);

// The value of one cell. `array` has ToArrowType(type); nested types are kUnsupported.
Result<Value> ValueAt(const arrow::Array& array, int64_t row, const DataType& type);

// An array of `length` copies (a partition column of a file, say).
Result<std::shared_ptr<arrow::Array>> ArrayOf(const Value& value, const DataType& type, int64_t length,
                                              arrow::MemoryPool* pool);

// The text a person types or reads: what the JSON-lines encoding shows, without quotes.
std::string ToText(const Value& value, const DataType& type);
Result<Value> ValueFromText(std::string_view text, const DataType& type);

}  // namespace headrace
