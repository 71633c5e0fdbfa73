// A writer of one table: batches go to buckets, buckets buffer and flush, and a prepared commit comes out.
//
// One thread calls it; compactions run beside it on `compactors`. Sequence numbers of a bucket continue after the largest in its
// live files and strictly increase. All buffers draw on one budget: past it the largest bucket flushes. A session sees the
// table as it was at its last commit; after a commit conflict it is closed and opened anew. Source: AbstractFileStoreWrite,
// MergeTreeWriter, KeyAndBucketExtractor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/task_group.h"
#include "catalog/table.h"
#include "commit/commit.h"

namespace headrace {

struct SessionOptions {
  std::string commit_user;
  MemoryBudget* budget = nullptr;   // of all buffers; required
  TaskGroup* compactors = nullptr;  // null: compactions run inline
  arrow::MemoryPool* pool = nullptr;
};

class WriteSession {
 public:
  // `table` was opened for Access::kWrite.
  static Result<std::unique_ptr<WriteSession>> Open(const Table& table, SessionOptions options);
  virtual ~WriteSession() = default;

  // `rows` has all columns of the table in schema order; `kinds` one RowKind byte a row, or null for inserts. A NOT NULL column
  // holding null, or a delete for a table without a key, is kInvalid and names row and column; nothing of the batch is kept.
  virtual Status Write(const std::shared_ptr<arrow::RecordBatch>& rows, const std::shared_ptr<arrow::Array>& kinds) = 0;

  // Asks for a compaction of every bucket that has files (of `partitions` if given).
  virtual Status Compact(bool full) = 0;

  // Flushes, takes what compactions have finished (all of them when `wait_for_compaction`), and prepares the commit.
  virtual Result<PreparedCommit> PrepareCommit(int64_t identifier, bool wait_for_compaction) = 0;

  // Commits what PrepareCommit gave and moves the session's view on. Renumbers after a lost race where numbers overlap.
  virtual Result<std::vector<Snapshot>> Commit(const PreparedCommit& prepared) = 0;
};

// The table's bucket of each row. Exposed for tests: bit-equal to Java. Source: BucketFunction, keyvalue.md §7.
Result<std::vector<BucketId>> AssignBuckets(const Table& table, const arrow::RecordBatch& rows, int32_t total_buckets);

}  // namespace headrace
