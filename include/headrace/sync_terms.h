// The terms of a sync that its callers and the room behind it share: when it stops, progress, the report.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

enum class SyncUntil {
  kStopped,   // follows until it is cancelled
  kCurrent,   // all that the source had when the sync began to follow it
  kPosition,  // a place in the source's log, all before it included
};

struct SyncProgress {
  std::string doing;  // "copying public.orders", or nothing while it follows
  int64_t rows = 0;   // copied, or rows of changes
  int64_t transactions = 0;
  int64_t commits = 0;
  int64_t lag_bytes = 0;               // of the source's log that is not in the tables
  std::optional<int64_t> lag_records;  // of topics: that are there and not read yet
  int64_t lag_seconds =
      0;  // since the newest change that is in the tables was made; 0 when nothing is missing
};

struct SyncTableReport {
  std::string source;  // "public.orders"
  std::string table;   // "shop.orders"
  int64_t copied_rows = 0;
  int64_t events = 0;
  int64_t rows = 0;  // of changes, of all kinds
  int64_t commits = 0;
  int64_t dead_letters = 0;         // of all runs
  std::string quarantine;           // why the table is not followed; empty: it is
  std::string dead_letter_file;     // where its events are, if there are any
  std::optional<int64_t> snapshot;  // the last one made
};

struct SyncReport {
  std::string server;  // without password
  std::string job;
  std::string slot;
  std::string publication;
  std::string position;  // up to which place of the log everything is in the tables
  std::vector<SyncTableReport> tables;
  int64_t transactions = 0;
  int64_t records = 0;                             // of a stream of events, in this run
  std::map<std::string, int64_t> ignored_by_rule;  // of them
  std::map<std::string, std::string> left_out;     // source tables whose events are not taken, and why
  bool cancelled = false;
};

}  // namespace headrace
