#include "ingest/event_sync.h"

#include <algorithm>
#include <tuple>

#include "ingest/event_decoders.h"
#include "ingest/event_lines.h"
#include "ingest/schema_drift.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kDefaultRows = 100000;
constexpr int64_t kIdleMoveMs = 30000;
constexpr int64_t kSecondHalfMs = 2000;
constexpr int64_t kProgressMs = 250;
constexpr int64_t kRecordsBetweenClocks = 64;
constexpr int64_t kBytesOfWaiting = 64LL << 20;
constexpr size_t kStatements = 64;
constexpr int kMostTurnsBack = 8;

int64_t LinesOf(const Position& position) {
  int64_t lines = 0;
  for (const InputPosition& one : position.inputs) lines += one.lines;
  return lines;
}

PartitionPosition* FindSame(std::vector<PartitionPosition>* partitions, const PartitionPosition& one) {
  const auto same = std::find_if(partitions->begin(), partitions->end(), [&](const auto& other) {
    return other.topic == one.topic && other.partition == one.partition;
  });
  return same == partitions->end() ? nullptr : &*same;
}

// Of two places in one stream the earlier one: files are read in their order, partitions each on their own.
Position Earlier(const Position& a, const Position& b) {
  Position earlier;
  earlier.inputs = LinesOf(b) < LinesOf(a) ? b.inputs : a.inputs;
  earlier.cluster = a.cluster;
  std::vector<PartitionPosition> others = b.partitions;
  for (const PartitionPosition& one : a.partitions) {
    const PartitionPosition* const other = FindSame(&others, one);
    if (other == nullptr) continue;
    earlier.partitions.push_back(one);
    earlier.partitions.back().next_offset = std::min(one.next_offset, other->next_offset);
  }
  return earlier;
}

// `place`, with nothing behind `committed`. Partitions have no order among each other: a run that went back for another table may be past what a table
// has of one partition and still before what it has of the next. Those that are not read now keep their places for when they are again.
Position NotBehind(Position place, const Position& committed) {
  if (LinesOf(place) < LinesOf(committed)) place.inputs = committed.inputs;
  for (const PartitionPosition& one : committed.partitions) {
    if (PartitionPosition* const same = FindSame(&place.partitions, one)) {
      same->next_offset = std::max(same->next_offset, one.next_offset);
    } else {
      place.partitions.push_back(one);
    }
  }
  std::sort(place.partitions.begin(), place.partitions.end(), [](const auto& a, const auto& b) {
    return std::tie(a.topic, a.partition) < std::tie(b.topic, b.partition);
  });
  return place;
}

// Where a form's events name their table.
std::string_view TableFieldOf(EventFormat format) {
  switch (format) {
    case EventFormat::kCanalJson:
    case EventFormat::kMaxwellJson:
    case EventFormat::kWal2Json: return "`table`";
    case EventFormat::kDebeziumFlat: return "`__table` or `__source_table`";
    default: return "`source` with a `table`";
  }
}

bool SamePlace(const Position& a, const Position& b) {
  return a.inputs == b.inputs && a.partitions == b.partitions;
}

}  // namespace

EventSync::EventSync(const SyncOptions& options, EventStream stream,
                     std::function<Result<std::vector<std::string>>()> list_tables)
    : options_(options), stream_(std::move(stream)), list_tables_(std::move(list_tables)) {
  unrouted_ = MakeEventDecoder(stream_.format, TableShape{}, stream_.events);
}

EventSync::~EventSync() = default;

Status EventSync::Run(SyncReport* report) {
  report_ = report;
  report->server = stream_.name;
  report->job = stream_.job;
  Status status;
  for (int tries = 0;; ++tries) {
    const Result<Turn> turn = Follow();
    status = turn.status();
    if (!turn.ok()) break;
    report->cancelled = *turn == Turn::kCancelled;
    if (*turn != Turn::kBack) break;
    for (const auto& one : tables_) {
      status = one->table->CheckAlone();
      if (!status.ok()) break;
    }
    if (!status.ok()) break;
    if (!stream_.can_reopen || tries == kMostTurnsBack) {
      status = CommitConflict("syncing ", stream_.name,
                              ": other writers won the race for a table's files; what was "
                              "committed is in the tables, run again to go on");
      break;
    }
  }
  report->records = records_;
  report->ignored_by_rule = ignored_;
  for (const auto& one : tables_) report->tables.push_back(one->table->Report());
  for (const auto& [source, why] : left_out_) report->left_out[source] = why;
  return status;
}

// Everything anew: what was not committed is gone, and each table stands at its position.
Status EventSync::OpenKnownTables() {
  by_source_.clear();
  tables_.clear();
  if (stream_.job.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names, list_tables_());
  for (const std::string& target : names) {
    const Result<Table> table = options_.open(target);
    if (IsKind(table.status(), ErrorKind::kIo)) return table.status();
    if (!table.ok()) continue;  // another program's, which cannot be written: it has no position of this job
    HEADRACE_ASSIGN_OR_RETURN(const auto text, CarriedPositionText(*table, stream_.job));
    if (!text) continue;
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindPosition(*table, stream_.job));
    if (!found) continue;
    const Position& position = found->position;
    if (position.format != NameOf(stream_.format)) {
      return Invalid("syncing ", stream_.name, ": the job '", stream_.job, "' reads ", position.format,
                     ", now the format is ", NameOf(stream_.format), "; give another --job");
    }
    // The same stream may be synced into another database by another command.
    const Result<std::string> elsewhere = TargetOf(position.source_table);
    const bool here =
        elsewhere.ok() && elsewhere->substr(0, elsewhere->find('.')) == target.substr(0, target.find('.'));
    if (!here || !Accepts(position.source_table)) continue;
    HEADRACE_RETURN_NOT_OK(Open(position.source_table, target).status());
  }
  return Status::OK();
}

Result<EventSync::Routed*> EventSync::Open(const std::string& source, const std::string& target) {
  SyncTableSetup setup;
  setup.source = source;
  setup.target = target;
  setup.job = stream_.job;
  setup.dead_letter_file = options_.dead_letter_folder + "/" + (stream_.job.empty() ? "once" : stream_.job) +
                           "." + target + ".jsonl";
  setup.options = options_.shared;
  setup.options.cancel = options_.cancel;
  setup.open = [open = options_.open, target] { return open(target); };
  auto one = std::make_unique<Routed>();
  one->source = source;
  HEADRACE_ASSIGN_OR_RETURN(one->table, SyncTable::Open(std::move(setup)));
  // The forms that leave values out: their rows are remembered from the start, since the stream does not go back for one table.
  if (!stream_.sends_whole_old_rows() && !one->table->shape().key_columns.empty())
    one->table->KeepCurrentRows();
  one->decoder = DecoderFor(*one);
  one->moved_ms = one->table->table().clock->NowMs();
  tables_.push_back(std::move(one));
  by_source_[source] = tables_.back().get();
  return tables_.back().get();
}

std::unique_ptr<LineDecoder> EventSync::DecoderFor(const Routed& one) const {
  EventOptions events = stream_.events;
  events.source_table = one.source;
  events.known_source_table = one.source;
  return MakeEventDecoder(stream_.format, one.table->shape(), std::move(events));
}

Position EventSync::LeastPosition() const {
  std::optional<Position> least;
  for (const auto& one : tables_) {
    if (!one->table->has_position()) continue;
    least = least ? Earlier(*least, one->table->committed()) : one->table->committed();
  }
  Position place;
  if (!least) return place;
  place.inputs = least->inputs;
  place.partitions = least->partitions;
  place.cluster = least->cluster;
  return place;
}

Result<EventSync::Turn> EventSync::Follow() {
  HEADRACE_RETURN_NOT_OK(OpenKnownTables());
  finished_ = false;
  records_ = 0;
  ignored_.clear();
  source_.reset();
  HEADRACE_ASSIGN_OR_RETURN(source_, stream_.open(LeastPosition()));
  last_commit_ms_ = last_record_ms_ = options_.now_ms();
  while (true) {
    if (options_.cancelled() && !waits_for_second_half()) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitAll(true));
      return turn == Turn::kOn ? Turn::kCancelled : turn;
    }
    HEADRACE_ASSIGN_OR_RETURN(const RecordSource::Event event, source_->Next());
    if (event == RecordSource::Event::kEnd) break;
    if (event == RecordSource::Event::kRecord) {
      if (source_->is_live()) last_record_ms_ = options_.now_ms();
      ++records_;
      Result<Turn> turn = HandleRecord();
      if (!turn.ok()) {
        // What came before the record that stops the sync is kept.
        const Status failed = turn.status();
        if (!IsKind(failed, ErrorKind::kInvalid) && !IsKind(failed, ErrorKind::kUnsupported)) return failed;
        source_->Unread();
        HEADRACE_ASSIGN_OR_RETURN(turn, CommitAll(true));
        return *turn == Turn::kOn ? Result<Turn>(failed) : turn;
      }
      if (*turn != Turn::kOn) return turn;
    } else if (options_.now_ms() - last_record_ms_ >= kSecondHalfMs) {
      for (const auto& one : tables_) one->open_delete = false;
    }
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitIfDue());
    if (turn != Turn::kOn) return turn;
    NoteProgress();
  }
  finished_ = true;
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitAll(true));
  return turn == Turn::kOn ? Turn::kEnd : turn;
}

std::string_view EventSync::value() const {
  std::string_view value = source_->value();
  // A byte order mark belongs to a file's start, and nowhere else.
  if (source_->first_of_input() && value.starts_with("\xEF\xBB\xBF")) value.remove_prefix(3);
  return value;
}

Result<EventSync::Turn> EventSync::HandleRecord() {
  if (!source_->damage().empty()) {
    return Invalid("syncing ", source_->place().text(), ": ", source_->damage(),
                   ". What came before it is committed; mend it and run again to go on with it");
  }
  const EventRoute route = RouteOf(stream_.format, value(), &tape_, &inner_tape_);
  if (route.to == EventRoute::To::kNobody) return HandleUnrouted(value(), route.is_nameless);
  if (route.to == EventRoute::To::kEverybody) {
    statements_.emplace_back(value());
    if (statements_.size() > kStatements) statements_.erase(statements_.begin());
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (tables_[i]->table->quarantined()) continue;
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, HandleFor(tables_[i].get(), false));
      if (turn != Turn::kOn) return turn;
    }
    ++ignored_["schema change"];
    return Turn::kOn;
  }
  for (const std::string& source : route.tables) {
    Routed* one = nullptr;
    if (route.has_rows) {
      HEADRACE_ASSIGN_OR_RETURN(one, FindOrMake(source));
    } else if (by_source_.contains(source)) {
      one = by_source_.at(source);
    }
    if (one == nullptr) {
      ++ignored_[route.has_rows ? "table that is left out" : "truncate of a table that is not there"];
      continue;
    }
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, HandleFor(one, true));
    if (turn != Turn::kOn) return turn;
  }
  return Turn::kOn;
}

Result<EventSync::Turn> EventSync::HandleUnrouted(std::string_view value, bool is_nameless) {
  RowBuffer none{std::vector<DataField>()};
  const LineOutcome outcome = unrouted_->Decode(value, std::nullopt, nullptr, &none);
  if (outcome.fate == LineFate::kIgnored) {
    ++ignored_[std::string(outcome.rule)];
    return Turn::kOn;
  }
  // Its fields mean nothing while its table is not known.
  if (is_nameless) {
    return Invalid(
        "syncing ", source_->place().text(), ": the event does not say of which table it is: it has no ",
        TableFieldOf(stream_.format),
        ", by which sync tells tables apart. Let the connector send it, or take events of one table "
        "into a table by `headrace ingest DB.TABLE`. What came before it is committed");
  }
  const std::string field = outcome.field.empty() ? "" : ", field " + outcome.field;
  return Invalid("syncing ", source_->place().text(), field, ": ",
                 outcome.reason.empty() ? "says of no table that it is its event" : outcome.reason,
                 ". What came before it is committed; mend it and run again to go on with it");
}

Result<EventSync::Turn> EventSync::HandleFor(Routed* one, bool by_name) {
  if (one->table->has_position()) {
    HEADRACE_ASSIGN_OR_RETURN(const bool before, source_->IsBefore(one->table->committed()));
    if (before) return Turn::kOn;
  }
  const RecordPlace place = source_->place();
  if (one->table->quarantined()) {
    HEADRACE_RETURN_NOT_OK(one->table->AddDeadLetter(
        {place.input, place.unit, place.number, "", "its table is quarantined", source_->raw()}));
    return Turn::kOn;
  }
  const int64_t rows_before = one->table->rows()->rows();
  const LineOutcome outcome =
      one->decoder->Decode(value(), source_->key(), one->table->current(), one->table->rows());
  switch (outcome.fate) {
    case LineFate::kApplied:
      HEADRACE_RETURN_NOT_OK(one->table->Applied(rows_before));
      one->open_delete = outcome.open_delete;
      return Turn::kOn;
    case LineFate::kIgnored:
      if (by_name) ++ignored_[std::string(outcome.rule)];
      if (one->decoder->source_table() != one->source) {
        by_source_.erase(one->source);
        one->source = one->decoder->source_table();
        by_source_[one->source] = one;
        options_.Tell(one->table->target() + " goes on with the source table's new name, " + one->source);
      }
      return Turn::kOn;
    case LineFate::kTruncate: return HandleTruncate(one);
    case LineFate::kSchemaChange: return HandleSchemaChange(one, outcome);
    case LineFate::kBad:
    case LineFate::kNeedsRows: break;
  }
  return HandleBad(one, outcome);
}

// The place before the record that is being handled.
Position EventSync::Before() {
  Position place;
  source_->Unread();
  source_->Stamp(&place);
  (void)source_->Next();  // hands the same record out again
  return place;
}

Result<EventSync::Turn> EventSync::HandleBad(Routed* one, const LineOutcome& outcome) {
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitOne(one, Before()));
  if (turn != Turn::kOn) return turn;
  const RecordPlace place = source_->place();
  const std::string field = outcome.field.empty() ? "" : ", field " + outcome.field;
  const std::string why = place.text() + field + ": " + outcome.reason;
  HEADRACE_RETURN_NOT_OK(one->table->Quarantine(why));
  options_.Tell(one->table->target() + " is quarantined, its events go to a dead-letter file: " + why);
  HEADRACE_RETURN_NOT_OK(one->table->AddDeadLetter(
      {place.input, place.unit, place.number, outcome.field, outcome.reason, source_->raw()}));
  one->open_delete = false;
  return Turn::kOn;
}

// What is live can be read only when it is committed; the deletes and the place after the record are one commit.
Result<EventSync::Turn> EventSync::HandleTruncate(Routed* one) {
  HEADRACE_ASSIGN_OR_RETURN(const Turn before, CommitOne(one, Before()));
  if (before != Turn::kOn) return before;
  HEADRACE_RETURN_NOT_OK(one->table->DeleteEverything());
  one->open_delete = false;
  Position place;
  source_->Stamp(&place);
  return CommitOne(one, place);
}

Result<EventSync::Turn> EventSync::HandleSchemaChange(Routed* one, const LineOutcome& outcome) {
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitOne(one, Before()));
  if (turn != Turn::kOn) return turn;
  const SchemaId before = one->table->table().schema->id;
  Status altered = one->table->Alter(outcome.changes);
  // Changes that change nothing would be asked for again and again.
  if (altered.ok() && one->table->table().schema->id == before)
    altered = Invalid("the table has these columns already");
  if (!altered.ok()) {
    if (!IsKind(altered, ErrorKind::kInvalid) && !IsKind(altered, ErrorKind::kUnsupported)) return altered;
    return HandleBad(one, LineOutcome::Bad(outcome.field, outcome.reason +
                                                              "; the change of the table that would follow "
                                                              "the source is refused: " +
                                                              altered.message()));
  }
  for (const SchemaChange& change : outcome.changes)
    options_.Tell(one->table->target() + " follows its source: " + Described(change));
  one->decoder = DecoderFor(*one);
  return HandleFor(one, true);
}

// Commits ---------------------------------------------------------------------------------------------------------

Result<EventSync::Turn> EventSync::CommitOne(Routed* one, const Position& source_place) {
  const Position place = NotBehind(source_place, one->table->committed());
  const Status committed = one->table->Commit([&](Position* position) {
    position->inputs = place.inputs;
    position->partitions = place.partitions;
    position->cluster = place.cluster;
    position->format = NameOf(stream_.format);
    position->source_table = one->source;
    position->finished = finished_;
  });
  if (IsKind(committed, ErrorKind::kCommitConflict)) return Turn::kBack;
  HEADRACE_RETURN_NOT_OK(committed);
  one->moved_ms = one->table->table().clock->NowMs();
  return Turn::kOn;
}

Result<EventSync::Turn> EventSync::CommitAll(bool idle_ones_too) {
  Position place;
  source_->Stamp(&place);
  for (const auto& one : tables_) {
    const bool idle = !one->table->outstanding();
    if (idle && !idle_ones_too && options_.now_ms() - one->moved_ms < kIdleMoveMs) continue;
    const Position& committed = one->table->committed();
    if (idle && SamePlace(NotBehind(place, committed), committed) && committed.finished == finished_)
      continue;
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitOne(one.get(), place));
    if (turn != Turn::kOn) return turn;
  }
  last_commit_ms_ = options_.now_ms();
  // Others are told the least place: what every table has.
  if (!tables_.empty()) source_->Committed(LeastPosition());
  return Turn::kOn;
}

bool EventSync::waits_for_second_half() const {
  return std::any_of(tables_.begin(), tables_.end(), [](const auto& one) { return one->open_delete; });
}

Result<EventSync::Turn> EventSync::CommitIfDue() {
  if (waits_for_second_half()) return Turn::kOn;
  const CommitEvery& every = options_.commit_every;
  int64_t rows = 0;
  int64_t bytes = 0;
  bool outstanding = false;
  for (const auto& one : tables_) {
    rows += one->table->rows_since_commit();
    bytes += one->table->bytes_since_commit();
    outstanding = outstanding || one->table->outstanding();
  }
  const int64_t most = std::min(kBytesOfWaiting, options_.shared.budget->limit() / 8);
  bool due = rows >= every.rows.value_or(kDefaultRows) || bytes >= most;
  const bool live = source_->is_live();
  if (!due && (live || every.milliseconds) && (live || records_ % kRecordsBetweenClocks == 0)) {
    const int64_t waited = options_.now_ms() - last_commit_ms_;
    const int64_t wanted = every.milliseconds.value_or(every.rows ? INT64_MAX : 1000);
    due = (outstanding && waited >= wanted) || waited >= kIdleMoveMs;
  }
  return due ? CommitAll(false) : Turn::kOn;
}

void EventSync::NoteProgress() {
  if (options_.progress == nullptr || (records_ % kRecordsBetweenClocks != 0 && !source_->is_live())) return;
  const int64_t now_ms = options_.now_ms();
  if (now_ms < next_progress_ms_) return;
  next_progress_ms_ = now_ms + kProgressMs;
  SyncProgress progress;
  progress.rows = records_;
  for (const auto& one : tables_) progress.commits += one->table->Report().commits;
  progress.lag_records = source_->lag();
  options_.progress(progress);
}

}  // namespace headrace::ingest
