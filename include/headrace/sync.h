// Sync: several tables kept like the tables of a PostgreSQL database, or of a stream of change events, each exactly once.
//
// Tables that are missing are made, with the source's types and keys; their rows are copied, then the source's log is followed until `cancel` is set
// (what is whole is committed) or it has got where it should stop. Positions lie in the tables: the same call goes on after a kill. A table
// that cannot be followed is quarantined, and the others go on. One thread; `cancel` may be set from a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headrace/engine.h"
#include "headrace/error.h"
#include "headrace/ingest.h"
#include "headrace/ingest_terms.h"
#include "headrace/sync_terms.h"

namespace headrace {

// How a stream of change events is read.
struct EventInput {
  EventFormat format = EventFormat::kAuto;  // of files it is known by itself
  ValueWords values;
  std::string keys_file;  // of one file: message keys, a JSON line each
  AvroInput avro;         // of debezium-avro
  KafkaInput kafka;       // but until_end, which SyncOptions::until says
  bool truncate_deletes = true;
  bool follow_schema = true;

  bool operator==(const EventInput&) const = default;
};

struct SyncOptions {
  // postgres://user@host:port/database, as libpq takes it; or files, globs and "-" of change events; or topics of them,
  // kafka://host:9092/topic,topic.
  std::vector<std::string> sources;
  EventInput events;  // not of PostgreSQL
  std::vector<std::string>
      tables;                // "public.orders", "public.*"; "orders" is public.orders. Of events empty is all
  std::string database;      // of the tables here; empty: named as the source's schema
  std::string job;           // empty: derived from the slot
  std::string slot;          // empty: named after the warehouse and the source
  std::string publication;   // empty: made and kept under the slot's name
  CommitEvery commit_every;  // rows or milliseconds; nothing set: every second
  std::map<std::string, std::string> table_options;  // of tables that are made
  std::string dead_letter_folder;                    // empty: ./headrace-dead-letters
  std::vector<std::string> resync;                   // source tables to compare with the source and put right
  bool adopt = false;  // compare tables that hold rows of another origin, and change what differs

  SyncUntil until = SyncUntil::kStopped;
  std::string until_position;  // of kPosition: "16/B374D848"

  std::function<void(const SyncProgress&)> progress;  // called a few times a second
  std::function<void(const std::string&)> note;       // what was decided or found, told at once
  const std::atomic<bool>* cancel = nullptr;
};

// On an error everything that is committed can be continued; `report` (required) is filled either way.
Status Sync(Engine* engine, const SyncOptions& options, SyncReport* report);

}  // namespace headrace
