#include "ingest/sync_table.h"

#include <filesystem>

#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"

namespace headrace::ingest {
namespace {

TableShape ShapeOf(const Table& table) {
  TableShape shape;
  shape.fields = table.schema->fields;
  for (const std::string& key : table.schema->primary_keys)
    shape.key_columns.push_back(table.schema->FieldIndex(key));
  shape.keep_update_before = table.options.changelog_producer == ChangelogProducer::kInput;
  return shape;
}

}  // namespace

Result<std::unique_ptr<SyncTable>> SyncTable::Open(SyncTableSetup setup) {
  std::unique_ptr<SyncTable> table(new SyncTable(std::move(setup)));
  HEADRACE_RETURN_NOT_OK(table->OpenWriter());
  table->quarantined_ = table->committed().dead_letters > 0;
  if (table->quarantined_) table->reason_ = "it was quarantined by an earlier run";
  table->started_events_ = table->committed().lines;
  table->started_rows_ = table->committed().rows;
  return table;
}

Status SyncTable::OpenWriter() {
  HEADRACE_ASSIGN_OR_RETURN(table_, setup_.open());
  shape_ = ShapeOf(table_);
  // Before the position itself: what moves in between is then seen as a conflict, not taken over unseen.
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<std::string> text, CarriedPositionText(table_, setup_.job));
  Result<std::optional<FoundPosition>> found = FindPosition(table_, setup_.job);
  position_lost_ = IsKind(found.status(), ErrorKind::kSnapshotExpired);
  if (!position_lost_) HEADRACE_RETURN_NOT_OK(found.status());
  now_ = Position();
  has_position_ = found.ok() && found->has_value();
  if (has_position_) {
    now_ = (*found)->position;
  } else {
    // The position may be gone while its commits are still there: identifiers go on after theirs.
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> newest,
                              FindCommitted(table_, CommitUserOf(setup_.job), 0));
    if (newest) now_.identifier = newest->commit_identifier;
  }
  if (!now_.dead_letter_file.empty()) setup_.dead_letter_file = now_.dead_letter_file;
  setup_.options.dead_letter_file = quarantined_ || now_.dead_letters > 0 ? setup_.dead_letter_file : "";
  if (writer_ != nullptr) commits_ += writer_->commits();
  writer_ = std::make_unique<TableWriter>(table_, &shape_, setup_.options, setup_.job, now_, text);
  HEADRACE_RETURN_NOT_OK(writer_->Open());
  if (keep_current_) writer_->KeepCurrentRows();
  outstanding_ = false;
  return Status::OK();
}

Result<bool> SyncTable::HasRows() const {
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> newest, ReadLatestSnapshot(table_));
  return newest && newest->total_record_count > 0;
}

void SyncTable::KeepCurrentRows() {
  keep_current_ = true;
  writer_->KeepCurrentRows();
}

Status SyncTable::Applied(int64_t rows_before) {
  ++now_.lines;
  ++now_.applied;
  outstanding_ = true;
  if (writer_->current() != nullptr) writer_->current()->Add(*writer_->rows(), rows_before);
  return writer_->PassRowsOn(false);
}

Status SyncTable::CopiedRows() {
  outstanding_ = true;
  return writer_->PassRowsOn(false);
}

Status SyncTable::DeleteEverything() {
  ++now_.lines;
  ++now_.applied;
  outstanding_ = true;
  return writer_->DeleteEverything();
}

int64_t SyncTable::bytes_since_commit() const {
  int64_t bytes = 0;
  if (writer_->current() != nullptr) bytes += writer_->current()->byte_size();
  if (writer_->dead_letters() != nullptr)
    bytes += writer_->dead_letters()->bytes() - writer_->committed().dead_letter_bytes;
  return bytes;
}

Status SyncTable::Commit(const Stamp& stamp) {
  Position position = now_;
  stamp(&position);
  HEADRACE_RETURN_NOT_OK(writer_->Commit(std::move(position), false, /*any_move=*/true));
  now_ = writer_->committed();
  has_position_ = true;
  outstanding_ = false;
  return Status::OK();
}

Status SyncTable::CommitCopy(const Stamp& stamp) {
  copied_rows_ = writer_->rows_since_commit();
  now_.dead_letters = 0;
  now_.dead_letter_bytes = 0;
  now_.dead_letter_file.clear();
  HEADRACE_RETURN_NOT_OK(Commit(stamp));
  started_rows_ = committed().rows;
  if (!quarantined_) return Status::OK();
  quarantined_ = false;
  reason_.clear();
  return OpenWriter();
}

Status SyncTable::Restart() {
  HEADRACE_RETURN_NOT_OK(writer_->Restart());
  now_ = writer_->committed();
  outstanding_ = false;
  return Status::OK();
}

Status SyncTable::Alter(const std::vector<SchemaChange>& changes) {
  HEADRACE_RETURN_NOT_OK(AlterSchema(table_, changes).status());
  return OpenWriter();
}

Status SyncTable::Quarantine(const std::string& reason) {
  quarantined_ = true;
  reason_ = reason;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(setup_.dead_letter_file).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) {
    return IoError("setting aside the events of ", source(), " (", reason, "): the folder ", folder.string(),
                   " cannot be made: ", error.message());
  }
  return OpenWriter();
}

Status SyncTable::AddDeadLetter(const DeadLetter& letter) {
  writer_->dead_letters()->Add(letter);
  ++now_.lines;
  ++now_.dead_letters;
  outstanding_ = true;
  return Status::OK();
}

SyncTableReport SyncTable::Report() const {
  SyncTableReport report;
  report.source = source();
  report.table = target();
  report.copied_rows = copied_rows_;
  report.events = committed().lines - started_events_;
  report.rows = committed().rows - started_rows_;
  report.commits = commits_ + writer_->commits();
  report.dead_letters = committed().dead_letters;
  report.quarantine = quarantined_ ? reason_ : "";
  if (committed().dead_letters > 0) report.dead_letter_file = committed().dead_letter_file;
  if (writer_->last_snapshot()) report.snapshot = writer_->last_snapshot()->value;
  return report;
}

}  // namespace headrace::ingest
