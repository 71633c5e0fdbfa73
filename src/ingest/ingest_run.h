// One run of an ingest over its inputs: from the job's position to the end, or to the first record that stops it.
//
// The loop that keeps the books: every record (the line of a file, a message, a change) gets one fate, is counted once, and is in the position that is committed with its rows. When a
// race is lost, or an event asks for rows that were not kept, the run goes back to the committed position and reads on from there. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ingest/columnar_source.h"
#include "ingest/ingest.h"
#include "ingest/line_source.h"
#include "ingest/record_source.h"
#include "ingest/table_writer.h"

namespace headrace::ingest {

// Read in record batches, not line by line.
bool IsColumnar(EventFormat format);

struct RunInputs {
  std::vector<std::string> paths;  // of files, expanded; empty with `open_source`
  EventFormat format = EventFormat::kDebeziumJson;
  // Standard input, already looked at; else null.
  std::unique_ptr<LineSource> opened = nullptr;
  std::unique_ptr<ColumnarSource> opened_columns = nullptr;
  // The one source that is not files, opened at a position; again after a lost race.
  std::function<Result<std::unique_ptr<RecordSource>>(const Position&)> open_source = nullptr;
  // Where a new job begins is committed before any row: "now" is another place after a restart.
  bool commit_start = false;
};

class IngestRun {
 public:
  IngestRun(const Table& table, const IngestOptions& options, RunInputs inputs, std::string job,
            IngestReport* report);

  Status Run();

 private:
  enum class Turn { kOn, kBack, kCancelled };  // kBack: to the committed position

  Status Prepare();
  Status RunToTheEnd(const Position& start);
  Result<Turn> RunFromCommitted();
  Result<Turn> RunLines(const std::string& path);
  Result<Turn> RunOtherSource();
  Result<Turn> RunRecords();
  Result<Turn> RunColumns(const std::string& path);
  Result<LineOutcome> DecodeRecord();
  Result<Turn> HandleRecord();
  Result<Turn> HandleBad(const LineOutcome& outcome);
  Result<Turn> HandleTruncate();
  Result<Turn> HandleSchemaChange(LineOutcome outcome);
  Result<Turn> HandleBatch(ColumnarSource* source, InputPosition* entry,
                           const std::shared_ptr<arrow::RecordBatch>& batch);
  Result<Turn> Commit(bool last);
  Result<Turn> CommitIfDue();
  std::unique_ptr<LineDecoder> MakeDecoder() const;
  void NoteProgress();
  void FillReport();
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  bool has_stdin() const;

  Table table_;
  const IngestOptions& options_;
  RunInputs inputs_;
  const std::string job_;
  IngestReport* report_;
  TableShape shape_;
  std::unique_ptr<TableWriter> writer_;
  std::unique_ptr<LineDecoder> decoder_;
  std::vector<SchemaChange> refused_changes_;  // the last ones that the table could not follow
  std::string refusal_;
  Position start_;                        // where this run began
  Position now_;                          // committed_ and what was handled since
  std::unique_ptr<RecordSource> source_;  // the one being read, whose place now_ follows
  bool open_delete_ = false;
  int64_t last_record_ms_ = 0;
  SnapshotId found_at_;        // the snapshot that holds the position of an earlier run
  int64_t earlier_bytes_ = 0;  // of files read to their end in this run
  std::optional<int64_t> total_bytes_;
  int64_t next_progress_ms_ = 0;
  int64_t turned_back_ = 0;
};

}  // namespace headrace::ingest
