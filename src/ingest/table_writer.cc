#include "ingest/table_writer.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "read/scan.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kRowsToPassOn = 8192;
constexpr int64_t kBytesToPassOn = 16LL << 20;
constexpr int64_t kRowsBetweenSizes = 64;

}  // namespace

TableWriter::TableWriter(const Table& table, const TableShape* shape, const IngestOptions& options,
                         std::string job, Position start, std::optional<std::string> start_text)
    : table_(table),
      shape_(shape),
      options_(options),
      job_(std::move(job)),
      user_(job_.empty() ? "headrace-once-" + NewUuid() : CommitUserOf(job_)),
      committed_(std::move(start)),
      committed_text_(std::move(start_text)),
      buffer_(shape->fields) {}

Status TableWriter::Open() {
  if (options_.budget == nullptr)
    return Invalid("ingesting into ", table_.name, ": no memory budget was given");
  HEADRACE_RETURN_NOT_OK(OpenDeadLetters());
  return Restart();
}

Status TableWriter::OpenDeadLetters() {
  if (options_.dead_letter_file.empty()) return Status::OK();
  const int64_t bytes =
      committed_.dead_letter_file == options_.dead_letter_file ? committed_.dead_letter_bytes : 0;
  HEADRACE_ASSIGN_OR_RETURN(dead_letters_,
                            DeadLetters::Open(options_.dead_letter_file, job_.empty() ? user_ : job_, bytes));
  return Status::OK();
}

Status TableWriter::Restart() {
  session_.reset();
  buffer_.TruncateTo(0);
  rows_passed_ = 0;
  wrote_ = false;
  if (dead_letters_ != nullptr) dead_letters_->Forget();
  if (current_ != nullptr) current_->Clear();
  SessionOptions options;
  options.commit_user = user_;
  options.budget = options_.budget;
  options.compactors = options_.compactors;
  options.lookup_cache = options_.lookup_cache;
  options.scratch = options_.scratch;
  HEADRACE_ASSIGN_OR_RETURN(session_, WriteSession::Open(table_, std::move(options)));
  HEADRACE_ASSIGN_OR_RETURN(view_, ReadLatestSnapshot(table_));
  last_commit_ms_ = table_.clock->NowMs();
  return Status::OK();
}

Status TableWriter::UseTable(const Table& table) {
  table_ = table;
  buffer_ = RowBuffer(shape_->fields);
  if (current_ != nullptr) {
    current_.reset();
    KeepCurrentRows();
  }
  return Restart();
}

Status TableWriter::CheckAlone() const {
  if (job_.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto found, CarriedPositionText(table_, job_));
  if (found == committed_text_) return Status::OK();
  return CommitConflict("ingesting into ", table_.name, ": another process runs the job '", job_,
                        "' and has moved its position, from ", committed_text_.value_or("the start"), " to ",
                        found.value_or("nothing"),
                        "; what both have committed is in the table once. Let one of them run");
}

int64_t TableWriter::ms_since_commit() const { return table_.clock->NowMs() - last_commit_ms_; }

Status TableWriter::PassRowsOn(bool at_once) {
  const int64_t rows = buffer_.rows();
  if (rows == 0) return Status::OK();
  if (!at_once && rows < kRowsToPassOn &&
      (rows % kRowsBetweenSizes != 0 ||
       buffer_.byte_size() < std::min(kBytesToPassOn, options_.budget->limit() / 16)))
    return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const RowBuffer::Batch batch, buffer_.Finish());
  return Pass(batch.rows, batch.kinds);
}

Status TableWriter::Pass(const std::shared_ptr<arrow::RecordBatch>& rows,
                         const std::shared_ptr<arrow::Array>& kinds) {
  if (rows->num_rows() == 0) return Status::OK();
  wrote_ = true;
  HEADRACE_RETURN_NOT_OK(session_->Write(rows, kinds));
  rows_passed_ += rows->num_rows();
  return Status::OK();
}

Status TableWriter::DeleteEverything() {
  if (!view_) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<arrow::RecordBatchReader> reader,
                            OpenScan(table_, *view_, {}));
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return Status::OK();
    const std::vector<int8_t> kinds(batch->num_rows(), static_cast<int8_t>(RowKind::kDelete));
    const auto kind_array =
        std::make_shared<arrow::Int8Array>(batch->num_rows(), arrow::Buffer::FromVector(kinds));
    HEADRACE_RETURN_NOT_OK(Pass(batch, kind_array));
  }
}

Status TableWriter::Commit(Position position, bool last, bool any_move) {
  HEADRACE_RETURN_NOT_OK(PassRowsOn(true));
  position.rows = committed_.rows + rows_passed_;
  if (dead_letters_ != nullptr) {
    position.dead_letter_file = dead_letters_->path();
    position.dead_letter_bytes = dead_letters_->bytes();
  }
  position.identifier = committed_.identifier;
  // An input that was opened and gave nothing is no move: a run that fails at its first line leaves no snapshot.
  // Nor does one that goes through files that were finished before and finds nothing new.
  const bool moved = position.lines != committed_.lines || (position.finished && !committed_.finished) ||
                     !position.SamePlaceOutsideFiles(committed_) ||
                     (any_move && position.inputs != committed_.inputs);
  if (!moved && !(last && wrote_)) return Status::OK();
  if (dead_letters_ != nullptr) HEADRACE_RETURN_NOT_OK(dead_letters_->Sync());

  position.identifier = committed_.identifier + 1;
  HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared, session_->PrepareCommit(position.identifier, last));
  const std::string key = PositionKey(job_);
  if (!job_.empty()) {
    prepared.properties[key] = SerializePosition(position);
    prepared.expected_properties[key] = committed_text_;
    prepared.commit_when_empty = moved;
  }
  HEADRACE_RETURN_NOT_OK(PublishPrepared(prepared));
  if (!job_.empty() && last_snapshot_ && view_->properties.contains(key))
    committed_text_ = view_->properties.at(key);
  committed_ = std::move(position);
  rows_passed_ = 0;
  last_commit_ms_ = table_.clock->NowMs();
  if (current_ != nullptr) current_->Clear();
  return Status::OK();
}

Status TableWriter::PublishPrepared(const PreparedCommit& prepared) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Snapshot> made, CommitUntilKnown(session_.get(), prepared));
  held_back_ = session_->held_back();
  if (expiry_.ok()) expiry_ = session_->expiry();
  if (made.empty()) return Status::OK();
  view_ = made.back();
  last_snapshot_ = view_->id;
  ++commits_;
  return job_.empty() ? Status::OK() : KeepSnapshot(table_, job_, view_->id);
}

Result<bool> TableWriter::FindInTable(const std::vector<Value>& key, RowBuffer* into) {
  if (!view_) return false;
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> row,
                            FindByKey(table_, *view_, key, {}));
  if (row == nullptr || row->num_rows() == 0) return false;
  HEADRACE_RETURN_NOT_OK(into->AppendArrowRow(*row, 0, RowKind::kInsert));
  return true;
}

void TableWriter::KeepCurrentRows() {
  if (current_ != nullptr) return;
  current_ = std::make_unique<UncommittedRows>(
      shape_, [this](const std::vector<Value>& key, RowBuffer* into) { return FindInTable(key, into); });
}

}  // namespace headrace::ingest
