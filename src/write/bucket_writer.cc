#include "write/bucket_writer.h"

#include <chrono>

#include "lsm/overflow.h"
#include "lsm/tree_changes.h"

namespace headrace {

BucketWriter::~BucketWriter() {
  if (tree_ == nullptr) return;
  (void)DropRunning();
  // What was handed over belongs to its commit; the rest is nobody's.
  (void)tree_->Discard();
}

Status BucketWriter::Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                            const std::shared_ptr<arrow::Array>& kinds) {
  dirty_ = true;
  return tree_->Append(rows, kinds);
}

Status BucketWriter::Relieve() {
  HEADRACE_ASSIGN_OR_RETURN(const bool spilled, tree_->Spill());
  return spilled ? Status::OK() : Flush();
}

Status BucketWriter::Flush() {
  if (tree_->buffered_rows() > 0) {
    dirty_ = true;
    HEADRACE_RETURN_NOT_OK(FinishCompaction(/*wait=*/tree_->ShouldWaitForCompaction()));
    HEADRACE_RETURN_NOT_OK(tree_->Flush());
  }
  HEADRACE_RETURN_NOT_OK(FinishCompaction(/*wait=*/false));
  return StartCompaction(/*full=*/false).status();
}

Status BucketWriter::Compact(bool full) {
  if (tree_->buffered_rows() > 0) {
    dirty_ = true;
    HEADRACE_RETURN_NOT_OK(tree_->Flush());
  }
  HEADRACE_RETURN_NOT_OK(FinishCompaction(/*wait=*/true));
  return StartCompaction(full).status();
}

Result<FileChange> BucketWriter::PrepareChange(bool wait) {
  HEADRACE_RETURN_NOT_OK(Flush());
  HEADRACE_RETURN_NOT_OK(FinishCompaction(wait || tree_->ShouldWaitForCompaction()));
  // The one under way did not know of what was flushed beside it.
  while (wait && tree_->HasFilesForLookup()) {
    HEADRACE_ASSIGN_OR_RETURN(const bool started, StartCompaction(/*full=*/false));
    if (!started) break;
    HEADRACE_RETURN_NOT_OK(FinishCompaction(/*wait=*/true));
  }
  dirty_ = false;
  return tree_->TakeChange();
}

Result<FileIncrement> BucketWriter::Salvage() {
  HEADRACE_RETURN_NOT_OK(DropRunning());
  HEADRACE_RETURN_NOT_OK(tree_->Flush());
  FileChange change = tree_->TakeChange();
  tree_ = nullptr;
  dirty_ = false;
  (void)DeleteMade(change.compact, files_);
  return std::move(change.append);
}

Result<bool> BucketWriter::StartCompaction(bool full) {
  if (compaction_under_way() || stale_ || !held_back_.ok()) return false;
  const std::optional<CompactionPlan> plan = tree_->PickCompaction(full);
  if (!plan.has_value()) return false;
  dirty_ = true;
  if (compactors_ == nullptr) {
    HEADRACE_RETURN_NOT_OK(TakeOver(tree_->RunCompaction(*plan)));
    return true;
  }
  running_ = compactors_->SubmitFor<CompactionResult>(
      [tree = tree_.get(), plan = *plan] { return tree->RunCompaction(plan); });
  return true;
}

Status BucketWriter::FinishCompaction(bool wait) {
  if (!compaction_under_way()) return Status::OK();
  if (!wait && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return Status::OK();
  return TakeOver(running_.get());
}

Status BucketWriter::TakeOver(const Result<CompactionResult>& result) {
  if (result.ok()) return tree_->ApplyCompaction(*result);
  HEADRACE_RETURN_NOT_OK(tree_->DropCompaction());
  if (IsOverflow(result.status())) {
    held_back_ = result.status();
    return Status::OK();
  }
  if (!IsKind(result.status(), ErrorKind::kNotFound)) return result.status();
  // Most likely another writer compacted the same files, and they have been removed since: its work is as good as ours.
  stale_ = true;
  lost_ = result.status();
  return Status::OK();
}

Status BucketWriter::DropRunning() {
  if (!compaction_under_way()) return Status::OK();
  const Result<CompactionResult> result = running_.get();
  return tree_->DropCompaction(result.ok() ? &*result : nullptr);
}

}  // namespace headrace
