// What kind of change each row is, and whether the table's merge engine takes it: settled before any row is kept.
//
// `rowkind.field` gives the kinds where it is set, whatever came beside the rows; `ignore-update-before` drops -U. A -U or -D that the engine
// could not merge later is kInvalid, naming row and key and the options that would allow it: once stored it would stop every read and
// compaction of its bucket. Pure. Source: RowKindGenerator, RowKindFilter, FirstRowMergeFunction, PartialUpdateMergeFunction.
#pragma once

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "write/row_checks.h"

namespace headrace {

Result<CheckedRows> WithChangeKinds(const Table& table, CheckedRows rows, arrow::MemoryPool* pool);

}  // namespace headrace
