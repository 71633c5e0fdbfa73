// The writing half of a stage: rows into the target, and commits that carry where the stage stands in its sources.
//
// A commit makes the rows and the position visible together. Between commits Restart drops what is uncommitted; committed() is where to go on. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "ingest/position.h"
#include "pipeline/open_tables.h"
#include "write/session.h"

namespace headrace::pipeline {

// Of commits that stand: what the last one that had it told, and how many had it.
struct CommitTroubles {
  Status
      held_back;  // buckets of the target that stay uncompacted, since what a compaction would put together overflows
  int64_t commits_held_back = 0;
  Status expiry;  // old snapshots of the target that could not be ended
  int64_t expiries_failed = 0;
};

class StageWriter {
 public:
  StageWriter(Table target, std::string job, const StageRoom* room)
      : target_(std::move(target)), job_(std::move(job)), room_(room) {}

  // Finds the position. Nothing was committed yet: found() is false and committed() is empty.
  Status Open();
  bool found() const { return found_; }

  // A target that was emptied of the job's position, or is to be made anew: forget it.
  void StartAnew();

  const Table& target() const { return target_; }
  const ingest::Position& committed() const { return committed_; }
  std::optional<SnapshotId> last_snapshot() const { return last_snapshot_; }
  const std::optional<Snapshot>& view() const { return view_; }  // the target as of the last commit

  // All columns of the target in schema order; a kind byte a row.
  Status Write(const std::shared_ptr<arrow::RecordBatch>& rows, const std::shared_ptr<arrow::Array>& kinds);
  int64_t rows_since_commit() const { return rows_; }

  // kCommitConflict: call Restart. Commits also when only the position moved. What went wrong beside a commit that stands is no failure of it: see
  // troubles().
  Status Commit(ingest::Position position);
  // Drops what is uncommitted. kCommitConflict when another process has moved the job's position. After a failure: is_open() is false, and Open is called
  // before anything else.
  Status Restart();
  bool is_open() const { return session_ != nullptr; }

  const CommitTroubles& troubles() const { return troubles_; }

 private:
  void NoteTroubles();

  const Table target_;
  const std::string job_;
  const StageRoom* const room_;
  std::unique_ptr<WriteSession> session_;
  ingest::Position committed_;
  std::optional<std::string> committed_text_;
  std::optional<Snapshot> view_;
  std::optional<SnapshotId> last_snapshot_;
  bool found_ = false;
  int64_t rows_ = 0;
  CommitTroubles troubles_;
};

}  // namespace headrace::pipeline
