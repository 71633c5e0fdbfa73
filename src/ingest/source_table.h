// Which table of the source an event is of, and whether it is the one that is ingested.
//
// One ingest takes one source table: the one that was named ("table", "schema.table", "db.table" or "db.schema.table"), or else the one
// of the first event, and then another table's event is refused. Plain values.
#pragma once

#include <string>
#include <string_view>

#include "ingest/json_tape.h"

namespace headrace::ingest {

struct SourceName {
  std::string_view database;
  std::string_view schema;
  std::string_view table;

  bool known() const { return !table.empty(); }
  std::string ToString() const;  // "public.customers"; with the database where there is no schema
  // Is it what `wanted` names?
  bool Matches(std::string_view wanted) const;
};

// From an event's `source`; unknown when it has none.
SourceName SourceNameOf(const JsonToken* source);
// From `database`, `schema` and `table` beside the event itself, as Canal, Maxwell and wal2json have it.
SourceName SourceNameBeside(const JsonToken& event);

class SourceChoice {
 public:
  // Empty: the first event decides.
  explicit SourceChoice(std::string wanted) : wanted_(std::move(wanted)) {}

  enum class Answer { kOurs, kOther, kMixed };
  Answer Ask(const SourceName& name);
  // Without choosing: false while no table is known yet.
  bool IsOurs(const SourceName& name) const;
  // The source calls its table by another name from now on.
  void Rename(std::string chosen);
  const std::string& chosen() const { return chosen_; }
  // As of an earlier run.
  void Remember(std::string chosen);

 private:
  std::string wanted_;
  std::string chosen_;                     // full name of the table taken
  bool renamed_ = false;                   // chosen_ is not what wanted_ names, and right all the same
  std::string database_, schema_, table_;  // of the last event of ours, to answer quickly
};

}  // namespace headrace::ingest
