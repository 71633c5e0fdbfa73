// The assigner of a table with dynamic buckets (bucket = -1): by the HASH index of each partition.
//
// A partition's index is read when the first row for it comes, all of it, and forgotten when a commit brought no rows for it. It draws on the
// session's budget: kOverBudget says what it would take. Source: HashBucketAssigner, DynamicBucketIndexMaintainer.
#pragma once

#include <memory>

#include "write/bucket_assigner.h"

namespace headrace {

Result<std::unique_ptr<BucketAssigner>> MakeDynamicBuckets(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool);

}  // namespace headrace
