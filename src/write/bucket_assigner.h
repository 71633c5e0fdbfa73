// Which (partition, bucket) each row of a batch goes to: by its hash alone, or by an index of the keys that are there.
//
// One assigner belongs to one session. An index is what the newest snapshot says when the first row after a commit comes, plus what the
// session has assigned since; what it added goes into the session's next commit, together with what the index must still be then, so that of two writers that assigned at the same time
// one fails by name (kCommitConflict) and none puts a key into two buckets. One thread. Source: RowKeyExtractor, HashBucketAssigner.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/memory_budget.h"
#include "catalog/table.h"
#include "commit/commit.h"
#include "write/bucket_router.h"

namespace headrace {

class BucketAssigner {
 public:
  virtual ~BucketAssigner() = default;

  // The rows by (partition, bucket), in order of first appearance; rows of one key stay in order. On failure no row was kept, though the
  // index may know keys that have none.
  virtual Result<std::vector<Slice>> Assign(const std::shared_ptr<arrow::RecordBatch>& rows,
                                            const std::shared_ptr<arrow::Array>& kinds) = 0;

  // Whether a commit may be prepared now; why not, else.
  virtual Status MayPrepare() const { return Status::OK(); }

  // Adds index files for what was assigned since the last call to the changes of those buckets, and what is expected of the index.
  virtual Status Prepare(PreparedCommit* prepared) = 0;

  // What was prepared is committed. Until then the index is taken to be as it will be after that.
  virtual void Committed(const std::vector<Snapshot>& made) = 0;
};

// The table and the budget outlive it.
Result<std::unique_ptr<BucketAssigner>> MakeBucketAssigner(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool);

}  // namespace headrace
