// How a column of a table takes the value that an INSERT or UPDATE assigns to it.
//
// In SQL the value is cast to the column's type; what a time has beyond the column's digits is cut, for which DuckDB has no types. The length of
// texts and bytes is looked at in the rows that come back: DuckDB's types know none. Pure; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

// The SQL expression as one of the type.
std::string AssignedSql(const std::string& expression, const DataType& type);

// A batch's columns from `first` on, cast to the Arrow types of `fields`; of the columns for which `checked` says so the lengths are looked at.
// kInvalid names the column where a value does not fit.
Result<std::shared_ptr<arrow::RecordBatch>> FitColumns(const arrow::RecordBatch& batch, int first,
                                                       const std::vector<DataField>& fields,
                                                       const std::function<bool(const DataField&)>& checked);

// kInvalid when a value of the column, in its Arrow type, is longer than CHAR, VARCHAR, BINARY or VARBINARY says.
Status CheckLengths(const arrow::Array& values, const DataField& field);

}  // namespace headrace
