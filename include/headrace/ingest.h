// Ingest: change events from files, standard input or Kafka into a table, exactly once.
//
// Every input line is applied, ignored by a named rule, or bad. A bad line stops the ingest, with what came before committed, or goes to the
// dead-letter file byte for byte. The position is committed with the rows: a killed ingest started again continues after the last committed
// record. One thread; `cancel` may be set from a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/engine.h"
#include "headrace/error.h"
#include "headrace/ingest_terms.h"

namespace headrace {

// How values are written that do not say it themselves: plain Debezium without its schema, JSON lines. The words are those of the
// connector's settings; empty takes what can only mean one thing and refuses a value that could mean two.
struct ValueWords {
  std::string decimals;  // "precise" (base64) or "string": decimal.handling.mode
  std::string binary;    // "base64", "base64-url-safe" or "hex": binary.handling.mode
  std::string
      times;  // "adaptive", "adaptive_time_microseconds", "connect", "microseconds" or "nanoseconds": time.precision.mode

  bool operator==(const ValueWords&) const = default;
};

struct KafkaInput {
  // Where a job without a position begins: "earliest" (also empty), "latest", "timestamp:<milliseconds or ISO-8601>" or
  // "offsets:0=12,1=40".
  std::string start;
  bool until_end =
      false;  // stop at what was each partition's end at the start; false: follow until cancelled
  std::vector<std::pair<std::string, std::string>> properties;  // librdkafka's own names: TLS, SASL …

  bool operator==(const KafkaInput&) const = default;
};

// How the writers' schemas of Avro messages are found: by a registry, or one is given.
struct AvroInput {
  std::string schema_file;      // an .avsc: messages are bare data of this schema
  std::string key_schema_file;  // the same of debezium-avro's keys; empty: they are not read
  std::string registry;         // http://user:password@host:8081/path, Confluent's API; https as well
  int id_bytes = 4;             // of the id at a message's head; 8 where Apicurio was set so

  bool operator==(const AvroInput&) const = default;
};

struct IngestOptions {
  // Files, globs, "-" for standard input; read in this order. Or one topic: kafka://host:9092,otherhost:9092/topic.
  std::vector<std::string> inputs;
  KafkaInput kafka;
  EventFormat format = EventFormat::kAuto;
  AvroInput avro;            // of the formats avro and debezium-avro
  CommitEvery commit_every;  // nothing set: every 100 000 rows and at the end; of a topic also every second

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

  // A column that the source added, widened, renamed or dropped becomes one of the table; false: such events are bad records.
  bool follow_schema = true;

  std::function<void(const IngestProgress&)> progress;  // called a few times a second
  std::function<void(const std::string&)> say;  // what happens meanwhile, a line each: a broker that is away
  const std::atomic<bool>* cancel = nullptr;    // set: commit what is whole and return
};

// On an error what came before it is committed; `report` (required) is filled either way.
Status Ingest(Engine* engine, const std::string& table, const IngestOptions& options, IngestReport* report);

}  // namespace headrace
