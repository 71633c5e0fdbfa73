#include "ingest/ingest_run.h"

#include <sys/stat.h>

#include <algorithm>

#include <arrow/record_batch.h>

#include "catalog/schema_log.h"
#include "commit/commit.h"
#include "ingest/csv_decoder.h"
#include "ingest/event_decoders.h"
#include "ingest/file_records.h"
#include "ingest/json_lines_decoder.h"
#include "ingest/schema_drift.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kDefaultRows = 100000;
constexpr int64_t kDefaultMs = 1000;  // of a source that is followed
constexpr int64_t kBytesOfCurrentRows = 64LL << 20;
constexpr int64_t kBytesOfDeadLetters = 16LL << 20;
constexpr int64_t kLinesBetweenClocks = 64;
constexpr int64_t kProgressMs = 250;
constexpr int64_t kMostTurnsBack = 8;
// The second half of a key change follows its delete at once; a live source that is silent that long has none.
constexpr int64_t kOpenDeleteMs = 2000;

TableShape ShapeOf(const Table& table) {
  TableShape shape;
  shape.fields = table.schema->fields;
  for (const std::string& key : table.schema->primary_keys)
    shape.key_columns.push_back(table.schema->FieldIndex(key));
  shape.keep_update_before = table.options.changelog_producer == ChangelogProducer::kInput;
  return shape;
}

}  // namespace

bool IsColumnar(EventFormat format) {
  return format == EventFormat::kParquet || format == EventFormat::kArrow;
}

IngestRun::IngestRun(const Table& table, const IngestOptions& options, RunInputs inputs, std::string job,
                     IngestReport* report)
    : table_(table),
      options_(options),
      inputs_(std::move(inputs)),
      job_(std::move(job)),
      report_(report),
      shape_(ShapeOf(table)) {}

Status IngestRun::Run() {
  report_->job = job_;
  const Status prepared = Prepare();
  if (!prepared.ok()) return prepared;
  start_ = writer_->committed();
  const Status done = RunToTheEnd(start_);
  if (!writer_->held_back().ok())
    report_->notes.push_back("rows are committed, but " + writer_->held_back().message());
  if (!writer_->expiry().ok())
    report_->notes.push_back("rows are committed, but old snapshots could not be ended: " +
                             writer_->expiry().message());
  return done;
}

Status IngestRun::RunToTheEnd(const Position& start) {
  while (true) {
    const Result<Turn> turn = RunFromCommitted();
    FillReport();
    HEADRACE_RETURN_NOT_OK(turn.status());
    if (*turn == Turn::kCancelled) {
      report_->cancelled = true;
      return Status::OK();
    }
    if (*turn == Turn::kOn) break;
    HEADRACE_RETURN_NOT_OK(writer_->CheckAlone());
    if (has_stdin()) {
      return CommitConflict("ingesting standard input into ", table_.name,
                            ": another writer won the race for its files",
                            job_.empty() ? "; what was committed before is in the table"
                                         : "; run again with the same input to go on");
    }
    if (++turned_back_ > kMostTurnsBack) {
      return CommitConflict("ingesting into ", table_.name, ": other writers won ", turned_back_,
                            " races for its files; what was committed is in the table, run again to go on");
    }
    HEADRACE_RETURN_NOT_OK(writer_->Restart());
  }
  report_->already_ingested = start.finished && writer_->committed() == start;
  if (report_->already_ingested && !report_->last_snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> made,
                              FindCommitted(table_, CommitUserOf(job_), start.identifier));
    report_->last_snapshot = made ? made->id.value : found_at_.value;
  }
  // A job that has ended needs its snapshot no longer: the position is carried on by every commit. A source that grows has no end.
  return job_.empty() || inputs_.open_source != nullptr ? Status::OK() : ReleaseSnapshot(table_, job_);
}

Status IngestRun::Prepare() {
  Position start;
  std::optional<std::string> start_text;
  if (!job_.empty()) {
    // Before the position itself: what moves in between is then seen as a conflict, not taken over unseen.
    HEADRACE_ASSIGN_OR_RETURN(start_text, CarriedPositionText(table_, job_));
    Result<std::optional<FoundPosition>> found = FindPosition(table_, job_);
    if (!options_.again || !IsKind(found.status(), ErrorKind::kSnapshotExpired))
      HEADRACE_RETURN_NOT_OK(found.status());
    if (found.ok() && *found) {
      const Position& known = (*found)->position;
      if (options_.again) {
        start.identifier = known.identifier;
        start.dead_letter_file = known.dead_letter_file;
        start.dead_letter_bytes = known.dead_letter_bytes;
      } else {
        start = known;
        found_at_ = (*found)->snapshot;
        report_->resumed = true;
      }
    } else {
      // The position may be gone while its commits are still there: identifiers go on after theirs.
      HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> newest,
                                FindCommitted(table_, CommitUserOf(job_), 0));
      if (newest) start.identifier = newest->commit_identifier;
    }
  }
  if (start.format.empty()) start.format = NameOf(inputs_.format);
  if (start.format != NameOf(inputs_.format)) {
    return Invalid("resuming the job '", job_, "': it reads ", start.format, ", now the format is ",
                   NameOf(inputs_.format), "; give another --job");
  }
  for (const std::string& path : inputs_.paths) {
    struct stat info {};
    if (path == "-" || ::stat(path.c_str(), &info) != 0) {
      total_bytes_.reset();
      break;
    }
    total_bytes_ = total_bytes_.value_or(0) + info.st_size;
  }
  writer_ =
      std::make_unique<TableWriter>(table_, &shape_, options_, job_, std::move(start), std::move(start_text));
  HEADRACE_RETURN_NOT_OK(writer_->Open());
  // Standard input cannot be read again, so the rows that events may ask for are kept from its start.
  if (has_stdin() && IsEventForm(inputs_.format) && !shape_.key_columns.empty()) writer_->KeepCurrentRows();
  return Status::OK();
}

bool IngestRun::has_stdin() const {
  return std::find(inputs_.paths.begin(), inputs_.paths.end(), "-") != inputs_.paths.end();
}

std::unique_ptr<LineDecoder> IngestRun::MakeDecoder() const {
  if (inputs_.format == EventFormat::kJson)
    return std::make_unique<JsonLinesDecoder>(shape_, options_.modes, options_.kind_column);
  if (inputs_.format == EventFormat::kCsv) {
    CsvOptions csv;
    csv.delimiter = options_.csv_delimiter;
    csv.null_text = options_.csv_null;
    csv.kind_column = options_.kind_column;
    csv.modes = options_.modes;
    return std::make_unique<CsvDecoder>(shape_, csv);
  }
  EventOptions events;
  events.modes = options_.modes;
  events.source_table = options_.source_table;
  events.known_source_table = writer_->committed().source_table;
  events.truncate_deletes = options_.truncate_deletes;
  events.follow_schema = options_.follow_schema;
  return MakeEventDecoder(inputs_.format, shape_, std::move(events));
}

Result<IngestRun::Turn> IngestRun::RunFromCommitted() {
  now_ = writer_->committed();
  now_.finished = false;
  open_delete_ = false;
  source_.reset();
  earlier_bytes_ = 0;
  report_->ignored_by_rule.clear();
  if (!IsColumnar(inputs_.format)) decoder_ = MakeDecoder();
  if (inputs_.open_source != nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, RunOtherSource());
    return turn == Turn::kOn ? Commit(true) : turn;
  }
  for (const std::string& path : inputs_.paths) {
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn,
                              IsColumnar(inputs_.format) ? RunColumns(path) : RunLines(path));
    if (turn != Turn::kOn) return turn;
  }
  now_.finished = true;
  return Commit(true);
}

Result<IngestRun::Turn> IngestRun::RunLines(const std::string& path) {
  LineSourceOptions options;
  options.max_line_bytes = options_.max_line_bytes;
  options.csv = inputs_.format == EventFormat::kCsv;
  options.test_decoding = inputs_.format == EventFormat::kTestDecoding;
  options.csv_delimiter = options_.csv_delimiter;
  const bool has_keys = inputs_.format == EventFormat::kDebeziumJson;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<FileRecords> records,
                            FileRecords::Open(path, path == "-" ? std::move(inputs_.opened) : nullptr,
                                              options, has_keys ? options_.keys_file : "", now_));
  if (decoder_->wants_header() && !records->header().empty()) decoder_->ReadHeader(records->header());
  source_ = std::move(records);
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, RunRecords());
  if (turn != Turn::kOn) return turn;
  return options_.commit_every.file && !open_delete_ ? Commit(false) : Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::RunOtherSource() {
  const bool begins = now_.partitions.empty() && !now_.log;
  Result<std::unique_ptr<RecordSource>> opened = inputs_.open_source(now_);
  if (IsKind(opened.status(), ErrorKind::kCancelled) && cancelled()) return Turn::kCancelled;
  HEADRACE_ASSIGN_OR_RETURN(source_, std::move(opened));
  if (!begins) {
    if (!options_.kafka.start.empty() && turned_back_ == 0 && report_->resumed)
      report_->notes.push_back("--start is for jobs that begin; this one goes on at its position");
    source_->Committed(now_);  // a run that was killed may not have come to tell
  } else if (inputs_.commit_start) {
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
    if (turn != Turn::kOn) return turn;
  }
  return RunRecords();
}

// Reads source_ to its end, and lets go of it.
Result<IngestRun::Turn> IngestRun::RunRecords() {
  last_record_ms_ = table_.clock->NowMs();
  while (true) {
    if (cancelled() && !open_delete_) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
      return turn == Turn::kOn ? Turn::kCancelled : turn;
    }
    HEADRACE_ASSIGN_OR_RETURN(const RecordSource::Event event, source_->Next());
    if (event == RecordSource::Event::kEnd) break;
    Turn turn = Turn::kOn;
    if (event == RecordSource::Event::kRecord) {
      if (source_->is_live()) last_record_ms_ = table_.clock->NowMs();
      HEADRACE_ASSIGN_OR_RETURN(turn, HandleRecord());
    } else if (open_delete_ && table_.clock->NowMs() - last_record_ms_ >= kOpenDeleteMs) {
      open_delete_ = false;
    }
    if (turn == Turn::kOn) {
      HEADRACE_ASSIGN_OR_RETURN(turn, CommitIfDue());
    }
    if (turn != Turn::kOn) return turn;
    NoteProgress();
  }
  source_->Stamp(&now_);
  earlier_bytes_ += source_->bytes_read();
  report_->lag = source_->lag();
  if (inputs_.open_source == nullptr) source_.reset();  // others are told of the last commit too
  return Turn::kOn;
}

Result<LineOutcome> IngestRun::DecodeRecord() {
  if (!source_->damage().empty()) return LineOutcome::Bad("", std::string(source_->damage()));
  std::string_view value = source_->value();
  if (!source_->first_of_input())
    return decoder_->Decode(value, source_->key(), writer_->current(), writer_->rows());
  if (decoder_->wants_header()) {
    LineOutcome outcome = decoder_->ReadHeader(value);
    if (outcome.fate == LineFate::kBad)
      return Invalid("ingesting ", source_->place().input, ": its header ", outcome.reason);
    return outcome;
  }
  // A byte order mark belongs to a file's start, and nowhere else.
  if (value.starts_with("\xEF\xBB\xBF")) value.remove_prefix(3);
  return decoder_->Decode(value, source_->key(), writer_->current(), writer_->rows());
}

Result<IngestRun::Turn> IngestRun::HandleRecord() {
  const int64_t before = writer_->rows()->rows();
  HEADRACE_ASSIGN_OR_RETURN(const LineOutcome outcome, DecodeRecord());
  switch (outcome.fate) {
    case LineFate::kApplied: ++now_.applied; break;
    case LineFate::kIgnored:
      ++now_.ignored;
      ++report_->ignored_by_rule[std::string(outcome.rule)];
      break;
    case LineFate::kBad: return HandleBad(outcome);
    case LineFate::kTruncate: return HandleTruncate();
    case LineFate::kSchemaChange: return HandleSchemaChange(outcome);
    case LineFate::kNeedsRows:
      writer_->KeepCurrentRows();
      --turned_back_;  // once, and for no race lost
      return Turn::kBack;
  }
  ++now_.lines;
  open_delete_ = outcome.open_delete;
  if (writer_->current() != nullptr) writer_->current()->Add(*writer_->rows(), before);
  HEADRACE_RETURN_NOT_OK(writer_->PassRowsOn(false));
  return Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::HandleBad(const LineOutcome& outcome) {
  const bool never_read = outcome.foreign_form && now_.applied == 0;
  const RecordPlace place = source_->place();
  if (writer_->dead_letters() != nullptr && !never_read) {
    writer_->dead_letters()->Add(
        {place.input, place.unit, place.number, outcome.field, outcome.reason, source_->raw()});
    ++now_.dead_letters;
    ++now_.lines;
    open_delete_ = false;
    return Turn::kOn;
  }
  const std::string field = outcome.field.empty() ? "" : ", field " + outcome.field;
  source_->Unread();
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
  if (turn != Turn::kOn) return turn;
  if (never_read) return Unsupported("ingesting ", place.text(), ": ", outcome.reason);
  return Invalid(
      "ingesting ", place.text(), field, ": ", outcome.reason, ". Nothing of this ",
      place.unit == "line" ? "line" : "record",
      " was taken, and what came before it is committed. Mend it and run again to go on with it, or "
      "keep such records aside by --on-bad-record dead-letter=FILE");
}

// The rows before it are committed first, so that what is live can be read; the deletes and the place after the line are one commit.
Result<IngestRun::Turn> IngestRun::HandleTruncate() {
  source_->Unread();
  HEADRACE_ASSIGN_OR_RETURN(const Turn before, Commit(false));
  if (before != Turn::kOn) return before;
  HEADRACE_RETURN_NOT_OK(source_->Next().status());
  HEADRACE_RETURN_NOT_OK(writer_->DeleteEverything());
  ++now_.applied;
  ++now_.lines;
  open_delete_ = false;
  return Commit(false);
}

// What came before the record is committed, and then the table changes: killed in between, the next run finds the same record at its position, and
// changes that are made already are none. The record itself is handed out again. Changes that a table cannot follow make it a bad one.
Result<IngestRun::Turn> IngestRun::HandleSchemaChange(LineOutcome outcome) {
  if (outcome.changes != refused_changes_) {
    source_->Unread();
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
    if (turn != Turn::kOn) return turn;
    Result<TableSchema> altered = AlterSchema(table_, outcome.changes);
    // Changes that change nothing would be asked for again and again.
    if (altered.ok() && altered->id == table_.schema->id)
      altered = Invalid("the table has these columns already");
    if (altered.ok()) {
      for (const SchemaChange& change : outcome.changes)
        report_->notes.push_back("the source's table changed: " + Described(change));
      HEADRACE_ASSIGN_OR_RETURN(
          table_, OpenTableAt(table_.store, table_.clock, table_.path, table_.name, Access::kWrite));
      shape_ = ShapeOf(table_);
      HEADRACE_RETURN_NOT_OK(writer_->UseTable(table_));
      decoder_ = MakeDecoder();
      open_delete_ = false;
      return Turn::kOn;
    }
    if (!IsKind(altered.status(), ErrorKind::kInvalid) && !IsKind(altered.status(), ErrorKind::kUnsupported))
      return altered.status();
    refused_changes_ = outcome.changes;
    refusal_ = altered.status().message();
    HEADRACE_RETURN_NOT_OK(source_->Next().status());
  }
  outcome.fate = LineFate::kBad;
  outcome.reason += "; the change of the table that would follow the source is refused: " + refusal_;
  return HandleBad(outcome);
}

Result<IngestRun::Turn> IngestRun::Commit(bool last) {
  if (source_ != nullptr) source_->Stamp(&now_);
  if (decoder_ != nullptr) now_.source_table = decoder_->source_table();
  const Status committed = writer_->Commit(now_, last);
  if (IsKind(committed, ErrorKind::kCommitConflict)) return Turn::kBack;
  HEADRACE_RETURN_NOT_OK(committed);
  if (source_ != nullptr) source_->Committed(writer_->committed());
  return Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::CommitIfDue() {
  if (open_delete_) return Turn::kOn;
  const CommitEvery& every = options_.commit_every;
  const bool by_default = !every.rows && !every.milliseconds && !every.file;
  const int64_t rows = every.rows.value_or(by_default ? kDefaultRows : INT64_MAX);
  const std::optional<int64_t> ms =
      by_default && inputs_.open_source != nullptr ? std::optional(kDefaultMs) : every.milliseconds;
  const DeadLetters* letters = writer_->dead_letters();
  bool due = writer_->rows_since_commit() >= rows;
  if (writer_->current() != nullptr) {
    due =
        due || writer_->current()->byte_size() >= std::min(kBytesOfCurrentRows, options_.budget->limit() / 8);
    // With a sequence field the newest row is not always the one that counts: the committed table says which does.
    due = due || (!table_.options.sequence_fields.empty() && writer_->rows_since_commit() > 0);
  }
  due = due || (letters != nullptr &&
                letters->bytes() - writer_->committed().dead_letter_bytes >= kBytesOfDeadLetters);
  const bool live = source_ != nullptr && source_->is_live();
  if (!due && ms && (now_.lines % kLinesBetweenClocks == 0 || live)) {
    due = writer_->ms_since_commit() >= *ms && now_.lines > writer_->committed().lines;
  }
  return due ? Commit(false) : Turn::kOn;
}

void IngestRun::NoteProgress() {
  const bool live = source_ != nullptr && source_->is_live();
  if (options_.progress == nullptr ||
      (now_.lines % kLinesBetweenClocks != 0 && !live && !IsColumnar(inputs_.format)))
    return;
  const int64_t now_ms = table_.clock->NowMs();
  if (now_ms < next_progress_ms_) return;
  next_progress_ms_ = now_ms + kProgressMs;
  IngestProgress progress;
  progress.bytes_read = earlier_bytes_ + (source_ == nullptr ? 0 : source_->bytes_read());
  progress.bytes_total = total_bytes_;
  progress.lines_read = now_.lines;
  progress.commits = writer_->commits();
  if (source_ != nullptr) progress.lag = source_->lag();
  options_.progress(progress);
}

void IngestRun::FillReport() {
  const Position& done = writer_->committed();
  report_->lines = done.lines - start_.lines;
  report_->applied = done.applied - start_.applied;
  report_->ignored = done.ignored - start_.ignored;
  report_->dead_letters = done.dead_letters - start_.dead_letters;
  report_->rows = done.rows - start_.rows;
  report_->job_lines = done.lines;
  report_->job_dead_letters = done.dead_letters;
  report_->commits = writer_->commits();
  if (source_ != nullptr) report_->lag = source_->lag();
  if (writer_->last_snapshot()) report_->last_snapshot = writer_->last_snapshot()->value;
}

}  // namespace headrace::ingest
