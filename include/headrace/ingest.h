// Ingest: change events from files or standard input into a table, exactly once.
//
// Every input line is applied, ignored by a named rule, or bad. A bad line stops the ingest, with what came before committed, or goes to the
// dead-letter file byte for byte. The position is committed with the rows: a killed ingest started again continues after the last committed
// record. One thread; `cancel` may be set from a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/engine.h"
#include "headrace/error.h"

namespace headrace {

enum class EventFormat { kAuto, kDebeziumJson, kJson, kCsv, kParquet, kArrow };

// How values are written that do not say it themselves: plain Debezium without its schema, JSON lines. The words are those of the
// connector's settings; empty takes what can only mean one thing and refuses a value that could mean two.
struct ValueWords {
  std::string decimals;  // "precise" (base64) or "string": decimal.handling.mode
  std::string binary;    // "base64", "base64-url-safe" or "hex": binary.handling.mode
  std::string
      times;  // "adaptive", "adaptive_time_microseconds", "connect" or "nanoseconds": time.precision.mode
};

struct CommitEvery {
  std::optional<int64_t> rows;
  std::optional<int64_t> milliseconds;
  bool file = false;  // after each input file
};

struct IngestProgress {
  int64_t bytes_read = 0;
  std::optional<int64_t> bytes_total;  // nothing for standard input
  int64_t lines_read = 0;
  int64_t commits = 0;
};

struct IngestOptions {
  std::vector<std::string> inputs;  // files, globs, "-" for standard input; read in this order
  EventFormat format = EventFormat::kAuto;
  CommitEvery commit_every;  // nothing set: every 100 000 rows and at the end

  bool create = false;  // make the table from the events' schema if absent
  std::vector<std::string> primary_key;
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> table_options;
  std::string keys_file;  // message keys, a JSON line each

  ValueWords values;
  std::string csv_null;  // an unquoted CSV field of this text is null; an empty unquoted field always is
  char csv_delimiter = ',';
  std::string kind_column;       // plain forms: the column that holds +I -U +U -D
  std::string source_table;      // of a mixed input
  std::string job;               // empty: derived from the table, the inputs and these options
  bool again = false;            // ingest once more what is ingested already
  std::string dead_letter_file;  // empty: stop at the first bad record
  bool truncate_deletes =
      true;  // a source's TRUNCATE becomes a delete of every live row; false: it is refused

  std::function<void(const IngestProgress&)> progress;  // called a few times a second
  const std::atomic<bool>* cancel = nullptr;            // set: commit what is whole and return
};

struct IngestReport {
  std::string job;
  int64_t lines = 0;    // = applied + ignored + dead_letters
  int64_t applied = 0;  // records that became rows
  int64_t ignored = 0;  // tombstones, heartbeats, transaction marks, blank lines …
  int64_t dead_letters = 0;
  int64_t rows = 0;  // rows written, of all kinds
  int64_t commits = 0;
  std::optional<int64_t> last_snapshot;
  std::map<std::string, int64_t> ignored_by_rule;
  bool already_ingested = false;  // nothing was done; last_snapshot tells where
  bool resumed = false;           // continued after an earlier run's last commit
  bool cancelled = false;
  std::vector<std::string> notes;  // what was decided for the user: table created, bucket count …
};

// On an error what came before it is committed; `report` (required) is filled either way.
Status Ingest(Engine* engine, const std::string& table, const IngestOptions& options, IngestReport* report);

}  // namespace headrace
