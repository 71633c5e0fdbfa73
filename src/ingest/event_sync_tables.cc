// The half of a sync from change events that finds or makes the table of a source table.
#include <algorithm>

#include "ingest/event_sync.h"
#include "ingest/postgres_catalog.h"
#include "ingest/sampled_columns.h"

namespace headrace::ingest {

bool EventSync::Accepts(const std::string& source) const {
  if (options_.patterns.empty()) return true;
  const std::string table = source.substr(source.find('.') + 1);
  return std::any_of(options_.patterns.begin(), options_.patterns.end(), [&](const std::string& pattern) {
    return MatchesPattern(pattern.find('.') == std::string::npos ? table : source, pattern);
  });
}

// Named as the source's schema or database, or in the one that was said.
Result<std::string> EventSync::TargetOf(const std::string& source) const {
  const size_t dot = source.find('.');
  const std::string table = dot == std::string::npos ? source : source.substr(dot + 1);
  std::string database = options_.database;
  if (database.empty() && dot != std::string::npos) database = source.substr(0, dot);
  if (database.empty())
    return Invalid("syncing ", stream_.name, ": its events do not tell the schema of ", source,
                   "; say by --database where its table shall be");
  return database + "." + table;
}

Result<EventSync::Routed*> EventSync::FindOrMake(const std::string& source) {
  const auto known = by_source_.find(source);
  if (known != by_source_.end()) return known->second;
  if (left_out_.contains(source)) return nullptr;
  if (!Accepts(source)) {
    left_out_[source] = "--tables does not name it";
    return nullptr;
  }
  return Make(source);
}

// Its position is committed at once, before its first row: whoever else passes that row later, a run that begins anew finds it.
Result<EventSync::Routed*> EventSync::Make(const std::string& source) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string target, TargetOf(source));
  for (const auto& one : tables_) {
    if (one->table->target() != target) continue;
    return Invalid("syncing ", source_->place().text(), ": ", one->source, " and ", source, " would both be ",
                   target, "; sync them by two commands with a --database each, or leave --database away");
  }
  const Result<Table> there = options_.open(target);
  if (IsKind(there.status(), ErrorKind::kNotFound) && IsKeyless()) {
    left_out_[source] = "it has no primary key, so its updates and deletes could not be followed";
    options_.Tell("left out: " + source + ": " + left_out_[source]);
    return nullptr;
  }
  if (IsKind(there.status(), ErrorKind::kNotFound)) {
    Result<NewTable> proposed = ProposeFor(source);
    if (!proposed.ok()) {
      // Without what only ingest has options for.
      const std::string& why = proposed.status().message();
      return Invalid("syncing ", source_->place().text(), ": the table for ", source,
                     " cannot be made: ", why.substr(0, why.find(kKeyAdvice)), ". Make ", target,
                     " by `headrace create` first, or leave it out by --tables");
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> notes,
                              options_.create(target, *std::move(proposed)));
    options_.Tell("made table " + target + " for " + source);
    for (const std::string& note : notes) options_.Tell("  with " + note);
  } else if (!there.ok()) {
    return there.status();
  }
  HEADRACE_ASSIGN_OR_RETURN(Routed * one, Open(source, target));
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitOne(one, Before()));
  if (turn != Turn::kOn)
    return CommitConflict("syncing ", stream_.name, ": another writer changes ", target,
                          " at the same time; run again");
  return one;
}

// Canal says which columns are the key, and so do messages with keys; with neither the key is not known, which is another matter.
bool EventSync::IsKeyless() const {
  JsonTape tape;
  if (stream_.format == EventFormat::kCanalJson) {
    if (!tape.Parse(value()) || tape.root().kind != JsonKind::kObject) return false;
    const JsonToken* key = FindMember(tape.root(), "pkNames");
    return key == nullptr || key->kind != JsonKind::kArray || key->length == 0;
  }
  const bool has_key = stream_.format == EventFormat::kDebeziumJson ||
                       stream_.format == EventFormat::kDebeziumAvro ||
                       stream_.format == EventFormat::kDebeziumFlat;
  return has_key && source_->key().has_value() && KeyColumnsOf(*source_->key()).empty();
}

// From the first records of the stream when they have some of it, else from the statements seen last and the record itself.
Result<NewTable> EventSync::ProposeFor(const std::string& source) const {
  IngestOptions options;
  options.source_table = source;
  options.modes = stream_.events.modes;
  CreateRequest request;
  request.table_options = options_.table_options;
  if (!request.table_options.contains("changelog-producer"))
    request.table_options["changelog-producer"] = stream_.sends_whole_old_rows() ? "input" : "lookup";
  Sample sample = stream_.sample;
  const std::vector<std::string> sampled = SourceTablesOf(sample, stream_.format);
  if (std::find(sampled.begin(), sampled.end(), source) == sampled.end()) {
    sample = Sample();
    sample.lines = statements_;
    sample.keys.assign(statements_.size(), "null");
    sample.lines.emplace_back(value());
    sample.keys.emplace_back(source_->key().value_or("null"));
  }
  switch (stream_.format) {
    case EventFormat::kCanalJson: return TableOfCanal(sample, options, request);
    case EventFormat::kMaxwellJson: return TableOfMaxwell(sample, options, request);
    case EventFormat::kWal2Json: return TableOfWal2Json(sample, options, request);
    case EventFormat::kTestDecoding: return TableOfTestDecoding(sample, options, request);
    case EventFormat::kDebeziumFlat: return TableOfFlat(sample, options, request);
    case EventFormat::kAuto:
    case EventFormat::kDebeziumJson:
    case EventFormat::kDebeziumAvro:
    case EventFormat::kAvro:
    case EventFormat::kJson:
    case EventFormat::kCsv:
    case EventFormat::kParquet:
    case EventFormat::kArrow: break;
  }
  return TableOfDebezium(sample, options, request);
}

}  // namespace headrace::ingest
