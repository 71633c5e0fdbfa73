// Tumbling windows among the groups of a query: date_trunc('hour', made), time_bucket(INTERVAL '5 minutes', made).
//
// A window begins at the group's value and is as long as its size; each time is in one. A cast of the beginning to a coarser type, or an offset of months,
// can make that untrue: DuckDB is asked, and the window says why. DuckDB's parse tree comes in. One thread a connection.
#pragma once

#include <optional>

#include "base/error.h"
#include "sql/branch_text.h"
#include "sql/query_shape.h"
#include "sql/source_columns.h"

namespace headrace {

// Nothing: the group is none. Its places among outputs and keys are the caller's to fill in.
Result<std::optional<ShapeWindow>> WindowOf(const ShapeExpression& group, const SourceColumns& names,
                                            const BranchText& text);

}  // namespace headrace
