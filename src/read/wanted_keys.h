// What conditions leave of the first column of the primary key: ranges that hold all wanted rows.
//
// Wider than the conditions, never narrower. Pure; any thread.
#pragma once

#include <memory>
#include <vector>

#include "format/table_schema.h"
#include "lsm/key_ranges.h"
#include "read/pruning.h"

namespace headrace {

// Null where the conditions do not tell.
std::shared_ptr<const KeyRanges> WantedKeys(const TableSchema& schema,
                                            const std::vector<RowCondition>& conditions);

}  // namespace headrace
