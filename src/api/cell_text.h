// One cell as text: for drawn tables and CSV.
//
// The same text as in JSON lines, without the quotes of a string; nested values are their JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

// The fields as Paimon knows them: types from the metadata kTypeMetadataKey, else the ones that hold the Arrow types.
Result<std::vector<DataField>> FieldsOfSchema(const arrow::Schema& schema);

// Appends nothing for a null: the caller decides how a null looks.
void AppendCellText(const arrow::Array& column, int64_t row, const DataType& type, std::string* out);

}  // namespace headrace
