// One run of an ingest over its inputs: from the job's position to the end, or to the first record that stops it.
//
// The loop that keeps the books: every line gets one fate, is counted once, and is in the position that is committed with its rows. When a
// race is lost, or an event asks for rows that were not kept, the run goes back to the committed position and reads on from there. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ingest/columnar_source.h"
#include "ingest/ingest.h"
#include "ingest/line_source.h"
#include "ingest/table_writer.h"

namespace headrace::ingest {

struct RunInputs {
  std::vector<std::string> paths;  // expanded
  EventFormat format = EventFormat::kDebeziumJson;
  // Standard input, already looked at; else null.
  std::unique_ptr<LineSource> opened = nullptr;
  std::unique_ptr<ColumnarSource> opened_columns = nullptr;
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
  Result<Turn> RunColumns(const std::string& path);
  Result<Turn> HandleLine(LineSource* source, LineSource* keys);
  Result<Turn> HandleBad(LineSource* source, const LineOutcome& outcome);
  Result<Turn> HandleTruncate(LineSource* source);
  Result<Turn> HandleBatch(ColumnarSource* source, InputPosition* entry,
                           const std::shared_ptr<arrow::RecordBatch>& batch);
  Result<Turn> Commit(bool last);
  Result<Turn> CommitIfDue();
  std::unique_ptr<LineDecoder> MakeDecoder() const;
  Result<std::unique_ptr<LineSource>> OpenLines(const std::string& path, std::string* header);
  Result<std::unique_ptr<LineSource>> OpenKeys(int64_t lines);
  InputPosition* EntryOf(const std::string& path);
  void SyncInput();
  void NoteProgress(int64_t bytes_of_input);
  void FillReport();
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  bool has_stdin() const;

  const Table table_;
  const IngestOptions& options_;
  RunInputs inputs_;
  const std::string job_;
  IngestReport* report_;
  TableShape shape_;
  std::unique_ptr<TableWriter> writer_;
  std::unique_ptr<LineDecoder> decoder_;
  Position start_;                  // where this run began
  Position now_;                    // committed_ and what was handled since
  InputPosition* input_ = nullptr;  // of now_, the one being read
  LineSource* source_ = nullptr;    // whose place input_ follows
  bool open_delete_ = false;
  SnapshotId found_at_;        // the snapshot that holds the position of an earlier run
  int64_t earlier_bytes_ = 0;  // of files read to their end in this run
  std::optional<int64_t> total_bytes_;
  int64_t next_progress_ms_ = 0;
  int64_t turned_back_ = 0;
};

}  // namespace headrace::ingest
