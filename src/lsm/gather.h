// Reduce, for the rows that are picked whole: their values out of several batches into one.
//
// Integers, floats, decimals, strings and booleans are copied by type; the rare types go through Arrow's take. Rows that follow
// each other in one batch cost no more than a slice. Pure but for memory from the pool.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/segments.h"

namespace headrace {

// `sources[b]` is the column in batch b; all have one type. RowRefs are in range.
Result<std::shared_ptr<arrow::Array>> GatherColumn(std::span<const std::shared_ptr<arrow::Array>> sources,
                                                   std::span<const RowRef> rows, arrow::MemoryPool* pool);

// All columns of batches with one schema.
Result<std::shared_ptr<arrow::RecordBatch>> GatherRows(
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, std::span<const RowRef> rows,
    arrow::MemoryPool* pool);

}  // namespace headrace
