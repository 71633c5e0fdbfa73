// The assigner of a table whose primary key lacks a partition key (bucket = -1): each key lies in one partition of the whole table, and
// moves when a row names another.
//
// What becomes of a row whose key lies in another partition is the merge engine's: deduplicate deletes it there and inserts it here,
// partial-update and aggregation merge the row into the old partition, its kind kept, first-row drops it. The index of all keys is made by
// reading them when the first row comes, and draws on the session's budget: kOverBudget where it does not fit. It is good as long as no other
// writer adds rows; a commit finds that out (kCommitConflict). Source: GlobalIndexAssigner, IndexBootstrap, ExistingProcessor.
#pragma once

#include <memory>

#include "write/bucket_assigner.h"

namespace headrace {

Result<std::unique_ptr<BucketAssigner>> MakeCrossPartition(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool);

}  // namespace headrace
