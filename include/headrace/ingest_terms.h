// The terms of an ingest that its callers and the room behind it share: forms of events, when to commit, progress, the report.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

enum class EventFormat {
  kAuto,
  kDebeziumJson,
  kDebeziumAvro,  // its envelope, as Connect's Avro converters write it
  kDebeziumFlat,  // after ExtractNewRecordState
  kCanalJson,
  kMaxwellJson,
  kWal2Json,      // both versions
  kTestDecoding,  // PostgreSQL's text
  kJson,
  kAvro,  // a row a record
  kCsv,
  kParquet,
  kArrow
};

struct CommitEvery {
  std::optional<int64_t> rows;
  std::optional<int64_t> milliseconds;
  bool file = false;  // after each input file
};

struct IngestProgress {
  int64_t bytes_read = 0;
  std::optional<int64_t> bytes_total;  // nothing for standard input and packed files
  int64_t lines_read = 0;
  int64_t commits = 0;
  std::optional<int64_t> lag;  // records that a live source has and that are not read yet
};

// The counts are of this run; what earlier runs of the job did is in those of the job.
struct IngestReport {
  std::string job;
  int64_t lines = 0;    // = applied + ignored + dead_letters
  int64_t applied = 0;  // records that became rows
  int64_t ignored = 0;  // tombstones, heartbeats, transaction marks, blank lines …
  int64_t dead_letters = 0;
  int64_t rows = 0;  // rows written, of all kinds
  int64_t commits = 0;
  int64_t job_lines = 0, job_dead_letters = 0;  // of all runs of the job
  std::optional<int64_t> last_snapshot;
  std::optional<int64_t> lag;  // records that a live source has and that were not read
  std::map<std::string, int64_t> ignored_by_rule;
  bool already_ingested = false;  // nothing was done; last_snapshot tells where
  bool resumed = false;           // continued after an earlier run's last commit
  bool cancelled = false;
  std::vector<std::string> notes;  // what was decided for the user: table created, bucket count …
};

}  // namespace headrace
