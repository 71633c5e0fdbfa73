// Turning a column as a file holds it into the shape the table wants today.
//
// First the physical form is brought to the type the file's schema names (dictionaries decoded, binary to text, other time units …),
// then the type is widened to the table's: only casts that lose nothing. Rows evolve field by field, by id, also inside
// arrays and maps. A cast that may lose something is kUnsupported, a value that does not fit kCorruption; both name the column.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

// The field of that id; null: there is none.
const DataField* FindFieldById(const std::vector<DataField>& fields, int32_t id);

// Nothing when every value of `from` is a value of `to`; else kUnsupported naming `column` and both types.
Status CheckWidening(const std::string& column, const DataType& from, const DataType& to);

// `array` came from a file in which the column was declared as `from`. The result has ToArrowType(to).
Result<std::shared_ptr<arrow::Array>> EvolveColumn(const std::string& column,
                                                   const std::shared_ptr<arrow::Array>& array,
                                                   const DataType& from, const DataType& to,
                                                   arrow::MemoryPool* pool);

}  // namespace headrace
