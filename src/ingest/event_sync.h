// Sync from a stream of change events: those of each source table go to a table of their own.
//
// One reader, several tables. A table is made when its first row comes, and its position is committed before any other table's can pass that row.
// Each has its own decoder, commits and position; after a restart the source begins at the least position, and a table passes over what it has.
// Tables in which nothing happens move on by an empty commit now and then. A table whose events cannot be taken is quarantined, the others go
// on; a line that is no event of the form stops the sync. docs/decisions/0006-sources.md. One thread; used once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/event.h"
#include "ingest/event_route.h"
#include "ingest/infer_table.h"
#include "ingest/record_source.h"
#include "ingest/sync.h"
#include "ingest/sync_table.h"

namespace headrace::ingest {

struct EventStream {
  EventFormat format = EventFormat::kDebeziumJson;
  EventOptions events;
  std::string name;  // for messages: "kafka://host/orders,customers"
  std::string job;   // empty: standard input without a name; then positions are not kept
  bool can_reopen = true;
  std::function<Result<std::unique_ptr<RecordSource>>(const Position&)> open;
  Sample sample;  // its first records, where they are known: tables are made from them

  bool sends_whole_old_rows() const {
    return format == EventFormat::kCanalJson || format == EventFormat::kMaxwellJson;
  }
};

class EventSync {
 public:
  // `list_tables`: every table that may have a position of the job, "shop.orders".
  EventSync(const SyncOptions& options, EventStream stream,
            std::function<Result<std::vector<std::string>>()> list_tables);
  ~EventSync();

  // On an error what is whole before it is committed; `report` is filled either way.
  Status Run(SyncReport* report);

 private:
  struct Routed {
    std::unique_ptr<SyncTable> table;
    std::unique_ptr<LineDecoder> decoder;
    std::string source;  // as the decoder knows it: another one after a rename
    bool open_delete = false;
    int64_t moved_ms = 0;
  };
  enum class Turn { kOn, kBack, kEnd, kCancelled };

  Status OpenKnownTables();
  Result<Routed*> Open(const std::string& source, const std::string& target);
  Position LeastPosition() const;
  Result<Turn> Follow();
  Result<Turn> HandleRecord();
  Result<Turn> HandleUnrouted(std::string_view value, bool is_nameless);
  Result<Turn> HandleFor(Routed* one, bool by_name);
  Result<Turn> HandleBad(Routed* one, const LineOutcome& outcome);
  Result<Turn> HandleTruncate(Routed* one);
  Result<Turn> HandleSchemaChange(Routed* one, const LineOutcome& outcome);
  Result<Routed*> FindOrMake(const std::string& source);
  Result<Routed*> Make(const std::string& source);
  bool IsKeyless() const;
  Result<NewTable> ProposeFor(const std::string& source) const;
  bool Accepts(const std::string& source) const;
  Result<std::string> TargetOf(const std::string& source) const;
  std::unique_ptr<LineDecoder> DecoderFor(const Routed& one) const;
  std::string_view value() const;

  Result<Turn> CommitOne(Routed* one, const Position& source_place);
  Result<Turn> CommitAll(bool idle_ones_too);
  Result<Turn> CommitIfDue();
  Position Before();
  void NoteProgress();
  bool waits_for_second_half() const;

  const SyncOptions& options_;
  EventStream stream_;
  std::function<Result<std::vector<std::string>>()> list_tables_;
  std::unique_ptr<RecordSource> source_;
  std::unique_ptr<LineDecoder> unrouted_;  // tells what a line is that is of no table
  std::vector<std::unique_ptr<Routed>> tables_;
  std::map<std::string, Routed*> by_source_;
  std::map<std::string, std::string> left_out_;  // source tables that are not taken, and why
  std::vector<std::string> statements_;          // the last ones: Maxwell's types are in them
  JsonTape tape_, inner_tape_;
  SyncReport* report_ = nullptr;
  std::map<std::string, int64_t> ignored_;
  bool finished_ = false;
  int64_t records_ = 0;
  int64_t last_commit_ms_ = 0;
  int64_t last_record_ms_ = 0;
  int64_t next_progress_ms_ = 0;
};

}  // namespace headrace::ingest
