// Where the least or the greatest values of a column lie, by the statistics of files.
//
// A column that grows with time (when a row was made or changed) has its greatest values in the few files that were written last.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "read/pruning.h"

namespace headrace {

// "Greater than" (or with `greatest` false "less than") a value of the column, such that files with one row in eight or fewer may hold rows like
// that. Nothing: there is no such value, or statistics do not tell it.
Result<std::optional<RowCondition>> EndOfColumn(const Table& table, const Snapshot& snapshot,
                                                const std::string& column, bool greatest);

}  // namespace headrace
