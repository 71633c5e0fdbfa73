// How a value arrives: known from the envelope's schema, or plain, when only the table's column and the JSON itself tell.
//
// A plain value. Shapes of arrays, maps and structs have children: the element; key and value; the fields, with `names`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::ingest {

enum class ValueForm : uint8_t {
  kPlain,
  kBoolean,
  kInteger,
  kFloat,
  kText,
  kBase64,           // Connect's bytes
  kDecimalBytes,     // base64 of the unscaled number, big-endian two's complement; `scale`
  kVariableDecimal,  // {"scale": 2, "value": base64}
  kDays,             // since 1970
  kClock,            // a count of 10^-digits seconds in the day
  kInstant,          // a count of 10^-digits seconds since 1970
  kIsoDate,
  kIsoClock,
  kIsoInstant,
  kArray,
  kMap,
  kStruct,
};

struct ValueShape {
  ValueForm form = ValueForm::kPlain;
  int32_t scale = 0;
  int8_t digits = 0;
  std::vector<ValueShape> children;
  std::vector<std::string> names;

  bool operator==(const ValueShape&) const = default;
};

inline const ValueShape kPlainShape;

}  // namespace headrace::ingest
