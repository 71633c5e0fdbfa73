// The writing half of an ingest: rows to the session, and commits that carry the job's position.
//
// A commit makes durable, in this order: the dead letters it counts, the rows, and in the same snapshot the position after them. What it
// returns ok for is in the table exactly once, also when the store did not answer. Until the next commit the committed position is where
// everything can be taken up again: Restart drops what is uncommitted. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "ingest/dead_letters.h"
#include "ingest/ingest.h"
#include "ingest/position.h"
#include "ingest/row_buffer.h"
#include "ingest/uncommitted_rows.h"
#include "write/session.h"

namespace headrace::ingest {

class TableWriter {
 public:
  // `job` empty: an ingest without a position, standard input without a name. `start` is the position to continue from, `start_text` what
  // the table carried for the job before `start` was looked up: each commit makes sure that nobody else has moved it.
  TableWriter(const Table& table, const TableShape* shape, const IngestOptions& options, std::string job,
              Position start, std::optional<std::string> start_text);

  Status Open();
  // kCommitConflict when another process has moved the job's position: only one may run a job.
  Status CheckAlone() const;
  // Opens the session anew after a lost race: what is uncommitted is gone, committed() is where to continue.
  Status Restart();
  // The same table with another schema; `shape` has been changed with it. Precondition: nothing is uncommitted.
  Status UseTable(const Table& table);

  // Lines append their rows here.
  RowBuffer* rows() { return &buffer_; }
  // Hands the rows to the session when there are enough of them, or at once.
  Status PassRowsOn(bool at_once);
  // Rows that are a batch already. Precondition: no lines were appended.
  Status Pass(const std::shared_ptr<arrow::RecordBatch>& rows, const std::shared_ptr<arrow::Array>& kinds);
  // Deletes every row that is live in the committed table. Precondition: nothing is uncommitted.
  Status DeleteEverything();

  // `position` is after the last line passed on. Nothing is committed when nothing moved since the last commit, but for compactions when
  // `last`. kCommitConflict: call Restart.
  // `any_move`: files that were gone through count as a move, though none of their lines was the table's.
  Status Commit(Position position, bool last, bool any_move = false);

  const Position& committed() const { return committed_; }
  std::optional<SnapshotId> last_snapshot() const { return last_snapshot_; }
  int64_t commits() const { return commits_; }
  // The last commit's: buckets that stay uncompacted because a key overflows. Their rows are committed.
  const Status& held_back() const { return held_back_; }
  // The first failure of ending old snapshots after a commit; commits are not concerned.
  const Status& expiry() const { return expiry_; }
  int64_t rows_since_commit() const { return rows_passed_ + buffer_.rows(); }
  int64_t ms_since_commit() const;

  DeadLetters* dead_letters() { return dead_letters_.get(); }
  // Rows that events refer to; null until they were asked for once.
  UncommittedRows* current() { return current_.get(); }
  void KeepCurrentRows();

 private:
  Status OpenDeadLetters();
  Status PublishPrepared(const PreparedCommit& prepared);
  Result<bool> FindInTable(const std::vector<Value>& key, RowBuffer* into);

  Table table_;
  const TableShape* shape_;
  const IngestOptions& options_;
  const std::string job_;
  const std::string user_;
  Position committed_;
  std::optional<std::string> committed_text_;  // as the table carries it
  std::unique_ptr<WriteSession> session_;
  std::unique_ptr<DeadLetters> dead_letters_;
  std::unique_ptr<UncommittedRows> current_;
  RowBuffer buffer_;
  int64_t rows_passed_ = 0;  // to the session since the last commit
  bool wrote_ = false;       // to the open writer, ever
  int64_t commits_ = 0;
  Status held_back_;
  Status expiry_;
  int64_t last_commit_ms_ = 0;
  std::optional<SnapshotId> last_snapshot_;
  std::optional<Snapshot> view_;  // what current rows are looked up in
};

}  // namespace headrace::ingest
