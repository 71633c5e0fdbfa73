// Row kinds beside a batch on its way into a tree.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "base/error.h"

namespace headrace {

// `kinds` checked, or all inserts when it is null. kInvalid for another type, length, a null or a byte that is no RowKind.
Result<std::shared_ptr<arrow::Array>> KindsOrInserts(const std::shared_ptr<arrow::Array>& kinds, int64_t rows,
                                                     arrow::MemoryPool* pool);

// Takes -U and -D out of rows and kinds.
Status LeaveOutRetractions(std::shared_ptr<arrow::RecordBatch>* rows, std::shared_ptr<arrow::Array>* kinds,
                           arrow::MemoryPool* pool);

}  // namespace headrace
