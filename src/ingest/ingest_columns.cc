// The half of a run that reads Parquet and Arrow: batch by batch, and row by row where a batch does not fit the table.
#include <arrow/api.h>

#include "ingest/file_records.h"
#include "ingest/ingest_run.h"

namespace headrace::ingest {

Result<IngestRun::Turn> IngestRun::RunColumns(const std::string& path) {
  std::unique_ptr<ColumnarSource> source = path == "-" ? std::move(inputs_.opened_columns) : nullptr;
  if (source == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(source, ColumnarSource::Open(path, inputs_.format));
  }
  InputPosition* entry = EntryOf(&now_, path);
  if (!entry->hash.empty()) HEADRACE_RETURN_NOT_OK(source->SkipTo(*entry));
  entry->hash = source->hash();
  while (true) {
    if (cancelled()) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
      return turn == Turn::kOn ? Turn::kCancelled : turn;
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, source->Next());
    if (batch == nullptr) break;
    entry->hash = source->hash();  // of a stream: before its end is read, so that coming back finds the same
    HEADRACE_ASSIGN_OR_RETURN(Turn turn, HandleBatch(source.get(), entry, batch));
    if (turn == Turn::kOn) {
      HEADRACE_ASSIGN_OR_RETURN(turn, CommitIfDue());
    }
    if (turn != Turn::kOn) return turn;
    NoteProgress();
  }
  entry->ended = true;
  earlier_bytes_ += source->size_bytes();
  return options_.commit_every.file ? Commit(false) : Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::HandleBatch(ColumnarSource* source, InputPosition* entry,
                                               const std::shared_ptr<arrow::RecordBatch>& batch) {
  const auto apply = [&](const CastRows& cast) -> Status {
    const int64_t records = cast.rows->num_rows();
    HEADRACE_RETURN_NOT_OK(writer_->Pass(cast.rows, cast.kinds));
    now_.lines += records;
    now_.applied += records;
    entry->bytes += records;
    entry->lines += records;
    return Status::OK();
  };
  const Result<CastRows> whole = CastToTable(batch, shape_, options_.kind_column);
  if (whole.ok()) {
    HEADRACE_RETURN_NOT_OK(apply(*whole));
    return Turn::kOn;
  }
  const Status fits = CheckColumns(*batch->schema(), shape_, options_.kind_column);
  if (!fits.ok()) return WithContext("ingesting " + source->path(), fits);

  // Some row does not fit: find out which.
  for (int64_t i = 0; i < batch->num_rows(); ++i) {
    const std::shared_ptr<arrow::RecordBatch> row = batch->Slice(i, 1);
    const Result<CastRows> cast = CastToTable(row, shape_, options_.kind_column);
    if (cast.ok()) {
      HEADRACE_RETURN_NOT_OK(apply(*cast));
      continue;
    }
    const int64_t number = entry->lines + 1;
    if (writer_->dead_letters() == nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
      if (turn != Turn::kOn) return turn;
      return Invalid("ingesting ", source->path(), ", row ", number, ": ", cast.status().message(),
                     ". Nothing of this row was taken, and what came before it is committed. Keep such "
                     "records aside by --on-bad-record "
                     "dead-letter=FILE");
    }
    writer_->dead_letters()->Add(
        {source->path(), "line", number, "", cast.status().message(), RowAsJson(*row, 0)});
    ++now_.dead_letters;
    ++now_.lines;
    ++entry->bytes;
    ++entry->lines;
  }
  return Turn::kOn;
}

}  // namespace headrace::ingest
