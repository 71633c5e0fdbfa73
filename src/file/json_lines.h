// Rows as JSON lines: one object a row, keys in field order, no spaces, a line feed after each.
//
// Integers and booleans plain; FLOAT and DOUBLE by shortest digits, NaN and infinities as strings; DECIMAL as a string with its scale;
// bytes as lower-case hex; DATE, TIME, TIMESTAMP as ISO text with exactly the type's fraction digits, LTZ with a final Z; ROW
// an object, ARRAY an array, MAP and MULTISET an array of [key,value] sorted by the key's JSON text. Text that is not UTF-8 has U+FFFD in place of
// the bad bytes. The encoder is immutable and may be used by any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

class JsonLines {
 public:
  explicit JsonLines(std::vector<DataField> fields);

  // Appends the rows of a batch with the columns of ToArrowSchema(fields); kInvalid names a column of another type.
  Status Append(const arrow::RecordBatch& batch, std::string* out) const;

 private:
  std::vector<DataField> fields_;
  std::vector<std::string> names_;  // quoted, with the separator before and the colon behind
};

// One cell as a JSON value, `null` included. `column` has ToArrowType(type).
void AppendJsonValue(const arrow::Array& column, int64_t row, const DataType& type, std::string* out);

// `text` in quotes, escaped.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace headrace
