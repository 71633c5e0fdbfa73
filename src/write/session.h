// A writer of one table: batches go to buckets, buckets buffer and flush, and a prepared commit comes out.
//
// One thread calls it; compactions run beside it on `compactors`. Sequence numbers of a bucket continue after the largest in its
// live files and strictly increase. All buffers draw on one budget: past it the largest bucket puts its rows aside on local disk, or flushes
// where it must not. Buckets are opened when rows come for them and closed when they have been idle for a commit. A session sees the
// table as it was at its last commit; what other writers
// committed meanwhile is taken in then. A compaction that loses to another writer is dropped; rows never are. After an error of
// PrepareCommit or Commit other than kCommitUnknown (commit again) the session is closed and opened anew.
// Source: AbstractFileStoreWrite, MergeTreeWriter, KeyAndBucketExtractor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/task_group.h"
#include "catalog/table.h"
#include "commit/commit.h"
#include "io/scratch.h"

namespace headrace {

class LookupCache;  // lsm/lookup_cache.h

struct SessionOptions {
  std::string commit_user;
  MemoryBudget* budget = nullptr;   // of all buffers; required
  TaskGroup* compactors = nullptr;  // null: compactions run inline
  LookupCache* lookup_cache =
      nullptr;  // what the engine's lookups share, before images too; null: a small one a compaction
  Scratch* scratch = nullptr;  // where rows are put aside; null: buckets flush instead
  arrow::MemoryPool* pool = nullptr;
  // What is in the table is of no concern: for who takes it all away in the same commit.
  bool ignore_existing = false;
  // Whose buckets Compact is about; nothing: all.
  std::optional<std::set<BinaryRow>> partitions = {};
};

class WriteSession {
 public:
  // `table` was opened for Access::kWrite. Budget and compactors outlive the session.
  static Result<std::unique_ptr<WriteSession>> Open(const Table& table, SessionOptions options);
  // What was flushed and not handed over by PrepareCommit is deleted.
  virtual ~WriteSession() = default;

  // `rows` has all columns of the table in schema order; `kinds` one RowKind byte a row, or null for inserts. A NOT NULL column
  // holding null, or a delete for a table without a key, is kInvalid and names row and column; nothing of the batch is kept.
  virtual Status Write(const std::shared_ptr<arrow::RecordBatch>& rows,
                       const std::shared_ptr<arrow::Array>& kinds) = 0;

  // Asks for a compaction of every bucket that has files. PrepareCommit with `wait_for_compaction` hands over all of their results.
  virtual Status Compact(bool full) = 0;

  // Flushes, takes what compactions have finished (all of them when `wait_for_compaction`), and prepares the commit. Where keys move between
  // partitions one commit at a time: kInvalid while an earlier one is not committed, and nothing is lost by that.
  virtual Result<PreparedCommit> PrepareCommit(int64_t identifier, bool wait_for_compaction) = 0;

  // Commits what PrepareCommit gave and moves the session's view on. Renumbers after a lost race where numbers overlap.
  // The snapshots made, oldest first.
  // Unless the table is write-only, old snapshots then end as its options ask: see expiry().
  virtual Result<std::vector<Snapshot>> Commit(const PreparedCommit& prepared) = 0;

  // Which buckets the last PrepareCommit left uncompacted, because what a compaction would put together overflows: OK, or kInvalid that names
  // bucket, key and column. They keep their files and are tried again with the next commit; all other buckets are not concerned.
  virtual const Status& held_back() const = 0;

  // How the expiry after the last commit went. Its failure is no failure of the commit, which stands; the next commit tries again.
  virtual const Status& expiry() const = 0;
};

// WriteSession::Commit, asked again a few times while the outcome is unknown: by its user and identifier a commit that was made is found.
Result<std::vector<Snapshot>> CommitUntilKnown(WriteSession* session, const PreparedCommit& prepared);

}  // namespace headrace
