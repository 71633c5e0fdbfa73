// Ingest: change events from files, standard input or Kafka into one table, exactly once.
//
// Open expands the inputs and looks at the first lines: their form, their source tables, whether the form is one that is read here.
// ProposeTable says which table those events would need. Run applies them. Every line read is applied, ignored by a named rule, or bad:
// applied + ignored + dead_letters = lines, always. The position is committed with the rows, in the snapshot property
// headrace.position.<job>, so a killed run started again continues after the last committed record.
// One thread; `cancel` may be set from anywhere: what is whole is committed and Run returns OK with `cancelled`.
// An Ingestion is used once: Open, perhaps ProposeTable, Run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/task_group.h"
#include "catalog/table.h"
#include "format/table_schema.h"
#include "headrace/ingest_terms.h"
#include "ingest/avro_schemas.h"
#include "ingest/event.h"
#include "ingest/event_format.h"
#include "io/scratch.h"

namespace headrace {
class LookupCache;  // lsm/lookup_cache.h
}

namespace headrace::ingest {

struct KafkaChoices {
  std::string start;       // where a job without a position begins: see ParseKafkaStart
  bool until_end = false;  // stop at what was each partition's end at the start; false: follow
  std::vector<std::pair<std::string, std::string>> properties;  // of librdkafka
};

struct IngestOptions {
  // Files, globs, "-" for standard input; read in this order. Or one topic, kafka://host:9092/topic.
  std::vector<std::string> inputs;
  KafkaChoices kafka;
  EventFormat format = EventFormat::kAuto;
  AvroChoices avro;
  // Nothing set: every 100 000 rows and at the end; of a topic also every second.
  CommitEvery commit_every;
  std::string keys_file;     // message keys, line n for line n of the one input
  std::string kind_column;   // plain forms: the column that holds +I -U +U -D
  std::string source_table;  // "table", "schema.table" or "db.schema.table"
  std::string job;           // empty: derived from the table, the inputs, the format and the source table
  bool again = false;        // begin at the first line although the job has a position, or may have had one
  std::string dead_letter_file;  // empty: stop at the first bad record
  bool truncate_deletes = true;  // TRUNCATE becomes a delete of every live row; false: it is a bad record
  bool follow_schema =
      true;          // what events show of a changed source changes the table; false: they are bad records
  ValueModes modes;  // how plain values are written where they do not say so themselves
  std::string csv_null;  // an unquoted CSV field of this text is null
  char csv_delimiter = ',';
  int64_t max_line_bytes = 64LL << 20;

  MemoryBudget* budget = nullptr;  // required by Run
  TaskGroup* compactors = nullptr;
  LookupCache* lookup_cache =
      nullptr;  // what the engine's lookups share; null: compactions have small ones of their own
  Scratch* scratch = nullptr;  // where rows wait when memory is short; null: they become files at once
  std::function<void(const IngestProgress&)> progress;
  std::function<void(const std::string&)> say;  // what happens meanwhile, a line each: a broker that is away
  const std::atomic<bool>* cancel = nullptr;
};

struct CreateRequest {
  std::vector<std::string>
      primary_key;  // empty: from the keys file or the key part of the message, else refused
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> table_options;
};

class Ingestion {
 public:
  static Result<std::unique_ptr<Ingestion>> Open(IngestOptions options);
  virtual ~Ingestion() = default;

  // The table that the events need, from their schema (exact types) or from the first plain events. kInvalid says what is missing,
  // above all a key.
  virtual Result<NewTable> ProposeTable(const CreateRequest& request) = 0;

  // `table` was opened for Access::kWrite. On an error what came before it is committed; `report` is filled either way.
  virtual Status Run(const Table& table, IngestReport* report) = 0;
};

// Open and Run in one.
Status RunIngest(const Table& table, IngestOptions options, IngestReport* report);

}  // namespace headrace::ingest
