// The type of a column from the plain values seen in it.
//
// Add every value, then ask. A type is given only when all values fit it exactly; a refusal says why. One column each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "format/data_type.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {

class PlainType {
 public:
  void AddJson(const JsonToken& value);
  void AddText(std::string_view text);  // of CSV

  // kInvalid names the column and what stands against a type.
  Result<DataType> TypeOf(std::string_view column, const ValueModes& modes) const;
  // Of CSV: always some type, STRING if nothing else.
  DataType TypeOfText() const;

 private:
  void AddNumber(std::string_view text);

  int64_t values_ = 0;
  int64_t booleans_ = 0, whole_ = 0, floating_ = 0, texts_ = 0, arrays_ = 0, objects_ = 0, decimals_ = 0;
  int64_t dates_ = 0, instants_ = 0, zoned_ = 0, base64_ = 0, padded_base64_ = 0, special_floats_ = 0;
  bool doubles_exact_ = true;
  std::unique_ptr<PlainType> elements_;
};

}  // namespace headrace::ingest
