#include "pipeline/stage_writer.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "commit/commit.h"

namespace headrace::pipeline {

Status StageWriter::Open() {
  // Before the position itself: what moves in between is then seen as a conflict, not taken over unseen.
  HEADRACE_ASSIGN_OR_RETURN(committed_text_, ingest::CarriedPositionText(target_, job_));
  auto found = ingest::FindPosition(target_, job_);
  if (IsKind(found.status(), ErrorKind::kSnapshotExpired)) {
    return SnapshotExpired("table ", target_.name, " has no position of the job '", job_,
                           "', and snapshots that may have held it are expired. If the stage is new, or is "
                           "to be computed anew, say --rebuild");
  }
  HEADRACE_RETURN_NOT_OK(found.status());
  found_ = found->has_value();
  if (found_) {
    committed_ = (*found)->position;
  } else {
    committed_ = ingest::Position();
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> newest,
                              FindCommitted(target_, ingest::CommitUserOf(job_), 0));
    if (newest) committed_.identifier = newest->commit_identifier;
  }
  return Restart();
}

void StageWriter::StartAnew() {
  const int64_t identifier = committed_.identifier;
  committed_ = ingest::Position();
  committed_.identifier = identifier;
  found_ = false;
}

Status StageWriter::Restart() {
  session_.reset();
  rows_ = 0;
  HEADRACE_ASSIGN_OR_RETURN(const auto carried, ingest::CarriedPositionText(target_, job_));
  if (carried != committed_text_) {
    return CommitConflict(
        "writing into ", target_.name, ": another process runs the job '", job_,
        "' and has moved its position; what both have committed is in the table once. Let one of them run");
  }
  SessionOptions options;
  options.commit_user = ingest::CommitUserOf(job_);
  options.budget = room_->budget;
  options.compactors = room_->compactors;
  options.lookup_cache = room_->lookup_cache;
  options.scratch = room_->scratch;
  HEADRACE_ASSIGN_OR_RETURN(view_, ReadLatestSnapshot(target_));
  HEADRACE_ASSIGN_OR_RETURN(session_, WriteSession::Open(target_, std::move(options)));
  return Status::OK();
}

Status StageWriter::Write(const std::shared_ptr<arrow::RecordBatch>& rows,
                          const std::shared_ptr<arrow::Array>& kinds) {
  if (rows->num_rows() == 0) return Status::OK();
  HEADRACE_RETURN_NOT_OK(session_->Write(rows, kinds));
  rows_ += rows->num_rows();
  return Status::OK();
}

Status StageWriter::Commit(ingest::Position position) {
  position.identifier = committed_.identifier + 1;
  position.rows = committed_.rows + rows_;
  HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared,
                            session_->PrepareCommit(position.identifier, /*wait_for_compaction=*/false));
  const std::string key = ingest::PositionKey(job_);
  prepared.properties[key] = ingest::SerializePosition(position);
  prepared.expected_properties[key] = committed_text_;
  prepared.commit_when_empty = true;
  prepared.watermark = position.watermark;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Snapshot> made, CommitUntilKnown(session_.get(), prepared));
  // It stands, whatever follows: taken in first, so that its position is not taken for another process's.
  if (!made.empty()) view_ = made.back();
  if (view_ && view_->properties.contains(key)) committed_text_ = view_->properties.at(key);
  committed_ = std::move(position);
  found_ = true;
  rows_ = 0;
  NoteTroubles();
  if (made.empty()) return Status::OK();
  last_snapshot_ = view_->id;
  return ingest::KeepSnapshot(target_, job_, view_->id);
}

void StageWriter::NoteTroubles() {
  if (!session_->held_back().ok()) {
    troubles_.held_back = session_->held_back();
    ++troubles_.commits_held_back;
  }
  if (!session_->expiry().ok()) {
    troubles_.expiry = session_->expiry();
    ++troubles_.expiries_failed;
  }
}

}  // namespace headrace::pipeline
