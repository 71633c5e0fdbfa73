#include "ingest/ingest_run.h"

#include <sys/stat.h>

#include <algorithm>

#include <arrow/record_batch.h>

#include "commit/commit.h"
#include "ingest/csv_decoder.h"
#include "ingest/debezium_decoder.h"
#include "ingest/json_lines_decoder.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kDefaultRows = 100000;
constexpr int64_t kBytesOfCurrentRows = 64LL << 20;
constexpr int64_t kBytesOfDeadLetters = 16LL << 20;
constexpr int64_t kLinesBetweenClocks = 64;
constexpr int64_t kProgressMs = 250;
constexpr int64_t kMostTurnsBack = 8;

TableShape ShapeOf(const Table& table) {
  TableShape shape;
  shape.fields = table.schema->fields;
  for (const std::string& key : table.schema->primary_keys)
    shape.key_columns.push_back(table.schema->FieldIndex(key));
  shape.keep_update_before = table.options.changelog_producer == ChangelogProducer::kInput;
  return shape;
}

bool IsColumnar(EventFormat format) {
  return format == EventFormat::kParquet || format == EventFormat::kArrow;
}

std::string_view NameOfInput(const std::string& path) {
  return path == "-" ? "standard input" : std::string_view(path);
}

}  // namespace

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
  // A job that has ended needs its snapshot no longer: the position is carried on by every commit.
  return job_.empty() ? Status::OK() : ReleaseSnapshot(table_, job_);
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
  if (has_stdin() && inputs_.format == EventFormat::kDebeziumJson && !shape_.key_columns.empty())
    writer_->KeepCurrentRows();
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
  DebeziumOptions debezium;
  debezium.modes = options_.modes;
  debezium.source_table = options_.source_table;
  debezium.known_source_table = writer_->committed().source_table;
  debezium.truncate_deletes = options_.truncate_deletes;
  return std::make_unique<DebeziumDecoder>(shape_, debezium);
}

Result<IngestRun::Turn> IngestRun::RunFromCommitted() {
  now_ = writer_->committed();
  now_.finished = false;
  open_delete_ = false;
  earlier_bytes_ = 0;
  report_->ignored_by_rule.clear();
  if (!IsColumnar(inputs_.format)) decoder_ = MakeDecoder();
  for (const std::string& path : inputs_.paths) {
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn,
                              IsColumnar(inputs_.format) ? RunColumns(path) : RunLines(path));
    if (turn != Turn::kOn) return turn;
  }
  now_.finished = true;
  return Commit(true);
}

InputPosition* IngestRun::EntryOf(const std::string& path) {
  for (InputPosition& entry : now_.inputs) {
    if (entry.path == path) return &entry;
  }
  InputPosition fresh;
  fresh.path = path;
  now_.inputs.push_back(std::move(fresh));
  return &now_.inputs.back();
}

Result<std::unique_ptr<LineSource>> IngestRun::OpenLines(const std::string& path, std::string* header) {
  LineSourceOptions options;
  options.max_line_bytes = options_.max_line_bytes;
  options.csv = inputs_.format == EventFormat::kCsv;
  options.csv_delimiter = options_.csv_delimiter;
  std::unique_ptr<LineSource> source = path == "-" ? std::move(inputs_.opened) : nullptr;
  if (source == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(source, LineSource::Open(path, options));
  }
  const InputPosition* entry = EntryOf(path);
  if (entry->bytes > 0) HEADRACE_RETURN_NOT_OK(source->SkipTo(*entry, header));
  return source;
}

Result<std::unique_ptr<LineSource>> IngestRun::OpenKeys(int64_t lines) {
  if (options_.keys_file.empty() || inputs_.format != EventFormat::kDebeziumJson) return nullptr;
  LineSourceOptions options;
  options.max_line_bytes = options_.max_line_bytes;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<LineSource> keys, LineSource::Open(options_.keys_file, options));
  while (keys->lines() < lines) {
    HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event event, keys->Next());
    if (event == LineSource::Event::kEnd) {
      return Invalid("reading the keys file ", options_.keys_file, ": it has ", keys->lines(), " lines, but ",
                     lines, " of the input are ingested; line n of it belongs to line n of the input");
    }
  }
  return keys;
}

Result<IngestRun::Turn> IngestRun::RunLines(const std::string& path) {
  std::string header;
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<LineSource> source, OpenLines(path, &header));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<LineSource> keys, OpenKeys(source->lines()));
  input_ = EntryOf(path);
  source_ = source.get();
  if (decoder_->wants_header() && !header.empty()) decoder_->ReadHeader(header);
  while (true) {
    if (cancelled() && !open_delete_) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
      return turn == Turn::kOn ? Turn::kCancelled : turn;
    }
    HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event event, source->Next());
    if (event == LineSource::Event::kEnd) break;
    Turn turn = Turn::kOn;
    if (event == LineSource::Event::kLine) {
      HEADRACE_ASSIGN_OR_RETURN(turn, HandleLine(source.get(), keys.get()));
    }
    if (turn == Turn::kOn) {
      HEADRACE_ASSIGN_OR_RETURN(turn, CommitIfDue());
    }
    if (turn != Turn::kOn) return turn;
    NoteProgress(source->file_bytes());
  }
  SyncInput();
  input_->ended = true;
  earlier_bytes_ += source->file_bytes();
  source_ = nullptr;
  input_ = nullptr;
  return options_.commit_every.file && !open_delete_ ? Commit(false) : Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::HandleLine(LineSource* source, LineSource* keys) {
  std::optional<std::string_view> key_line;
  if (keys != nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event event, keys->Next());
    if (event == LineSource::Event::kEnd) {
      return Invalid("reading the keys file ", options_.keys_file, ": it ends after line ", keys->lines(),
                     ", but the input has more; line n of it belongs to line n of the input");
    }
    key_line = keys->line();
  }
  RowBuffer* rows = writer_->rows();
  const int64_t before = rows->rows();
  LineOutcome outcome;
  if (decoder_->wants_header() && source->lines() == 1) {
    outcome = decoder_->ReadHeader(source->line());
    if (outcome.fate == LineFate::kBad) {
      return Invalid("ingesting ", NameOfInput(source->path()), ": its header ", outcome.reason);
    }
  } else {
    std::string_view line = source->line();
    // A byte order mark belongs to a file's start, and nowhere else.
    if (source->lines() == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    outcome = decoder_->Decode(line, key_line, writer_->current(), rows);
  }
  switch (outcome.fate) {
    case LineFate::kApplied: ++now_.applied; break;
    case LineFate::kIgnored:
      ++now_.ignored;
      ++report_->ignored_by_rule[std::string(outcome.rule)];
      break;
    case LineFate::kBad: return HandleBad(source, outcome);
    case LineFate::kTruncate: return HandleTruncate(source);
    case LineFate::kNeedsRows:
      writer_->KeepCurrentRows();
      --turned_back_;  // once, and for no race lost
      return Turn::kBack;
  }
  ++now_.lines;
  open_delete_ = outcome.open_delete;
  if (writer_->current() != nullptr) writer_->current()->Add(*rows, before);
  HEADRACE_RETURN_NOT_OK(writer_->PassRowsOn(false));
  return Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::HandleBad(LineSource* source, const LineOutcome& outcome) {
  const bool never_read = outcome.foreign_form && now_.applied == 0;
  if (writer_->dead_letters() != nullptr && !never_read) {
    writer_->dead_letters()->Add(
        {NameOfInput(source->path()), source->lines(), outcome.field, outcome.reason, source->line()});
    ++now_.dead_letters;
    ++now_.lines;
    open_delete_ = false;
    return Turn::kOn;
  }
  const std::string field = outcome.field.empty() ? "" : ", field " + outcome.field;
  const int64_t number = source->lines();
  source->Unread();
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, Commit(false));
  if (turn != Turn::kOn) return turn;
  if (never_read)
    return Unsupported("ingesting ", NameOfInput(source->path()), ", line ", number, ": ", outcome.reason);
  return Invalid("ingesting ", NameOfInput(source->path()), ", line ", number, field, ": ", outcome.reason,
                 ". Nothing of this line was taken, and what came before it is committed. Mend it and run "
                 "again to go on with it, or keep such "
                 "records aside by --on-bad-record dead-letter=FILE");
}

// The rows before it are committed first, so that what is live can be read; the deletes and the place after the line are one commit.
Result<IngestRun::Turn> IngestRun::HandleTruncate(LineSource* source) {
  source->Unread();
  HEADRACE_ASSIGN_OR_RETURN(const Turn before, Commit(false));
  if (before != Turn::kOn) return before;
  HEADRACE_RETURN_NOT_OK(source->Next().status());
  HEADRACE_RETURN_NOT_OK(writer_->DeleteEverything());
  ++now_.applied;
  ++now_.lines;
  open_delete_ = false;
  return Commit(false);
}

void IngestRun::SyncInput() {
  if (input_ == nullptr || source_ == nullptr) return;
  input_->bytes = source_->bytes();
  input_->lines = source_->lines();
  input_->hash = source_->hash();
  input_->open_end = source_->open_end();
  input_->ended = false;
}

Result<IngestRun::Turn> IngestRun::Commit(bool last) {
  SyncInput();
  if (decoder_ != nullptr) now_.source_table = decoder_->source_table();
  const Status committed = writer_->Commit(now_, last);
  if (IsKind(committed, ErrorKind::kCommitConflict)) return Turn::kBack;
  HEADRACE_RETURN_NOT_OK(committed);
  return Turn::kOn;
}

Result<IngestRun::Turn> IngestRun::CommitIfDue() {
  if (open_delete_) return Turn::kOn;
  const CommitEvery& every = options_.commit_every;
  const bool by_default = !every.rows && !every.milliseconds && !every.file;
  const int64_t rows = every.rows.value_or(by_default ? kDefaultRows : INT64_MAX);
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
  if (!due && every.milliseconds && (now_.lines % kLinesBetweenClocks == 0 || has_stdin())) {
    due = writer_->ms_since_commit() >= *every.milliseconds && now_.lines > writer_->committed().lines;
  }
  return due ? Commit(false) : Turn::kOn;
}

void IngestRun::NoteProgress(int64_t bytes_of_input) {
  if (options_.progress == nullptr || (now_.lines % kLinesBetweenClocks != 0 && !IsColumnar(inputs_.format)))
    return;
  const int64_t now_ms = table_.clock->NowMs();
  if (now_ms < next_progress_ms_) return;
  next_progress_ms_ = now_ms + kProgressMs;
  IngestProgress progress;
  progress.bytes_read = earlier_bytes_ + bytes_of_input;
  progress.bytes_total = total_bytes_;
  progress.lines_read = now_.lines;
  progress.commits = writer_->commits();
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
  if (writer_->last_snapshot()) report_->last_snapshot = writer_->last_snapshot()->value;
}

}  // namespace headrace::ingest
