// Sync: several tables kept like the tables of one source, each exactly once.
//
// What every source shares is here and in sync_table.h: how tables are opened and made, when to commit, what is told. postgres_sync.h is the
// source PostgreSQL. One thread calls; `cancel` may be set from anywhere, and what is whole is committed then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/table_schema.h"
#include "headrace/ingest_terms.h"
#include "headrace/sync_terms.h"
#include "ingest/ingest.h"

namespace headrace::ingest {

struct SyncOptions {
  std::vector<std::string> patterns;                 // of source tables: "public.*"
  std::string database;                              // Headrace's; empty: named as the source's schema
  std::string job;                                   // empty: derived from the slot
  CommitEvery commit_every;                          // nothing set: every second
  std::map<std::string, std::string> table_options;  // of tables that are made
  std::string dead_letter_folder;                    // of events of tables that are quarantined; absolute
  std::vector<std::string>
      resync;          // tables to be compared with the source and put right, by source name or pattern
  bool adopt = false;  // tables with rows that this job did not write are compared and put right, too
  SyncUntil until = SyncUntil::kStopped;
  std::string until_position;

  std::string place;  // what tells this warehouse from others, for default names
  std::function<Result<Table>(const std::string& name)> open;
  // What was decided for the user, to be told.
  std::function<Result<std::vector<std::string>>(const std::string& name, NewTable table)> create;

  IngestOptions shared;  // budget, compactors, lookup cache, scratch
  std::function<void(const SyncProgress&)> progress;
  std::function<void(const std::string&)> note;  // told at once
  const std::atomic<bool>* cancel = nullptr;

  void Tell(const std::string& text) const {
    if (note != nullptr) note(text);
  }
  // Since 1970, by this machine's clock.
  static int64_t now_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  bool cancelled() const { return cancel != nullptr && cancel->load(); }
};

}  // namespace headrace::ingest
