// Conditions that SQL puts on columns as conditions on Paimon's values. Pure.
#pragma once

#include <optional>
#include <vector>

#include "format/data_type.h"
#include "read/pruning.h"
#include "sql/relation.h"

namespace headrace {

// Nothing where DuckDB would compare by another type than the column's, so that Paimon's order of values may not be the one that counts.
std::optional<RowCondition> RowConditionOf(const std::vector<DataField>& fields,
                                           const ColumnCondition& condition);

}  // namespace headrace
