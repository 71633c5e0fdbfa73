#include "ingest/postgres_sync.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <xxhash.h>

#include "base/uuid.h"
#include "ingest/postgres_schema.h"

namespace headrace::ingest {
namespace {

using pgoutput::Lsn;
using pgoutput::LsnText;
using Turn = PostgresFollower::Turn;

constexpr int64_t kSlotWaitMs = 10000;
constexpr int64_t kSlotLookMs = 200;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Its number too: a table that was dropped and made anew is another one.
std::string DescribeSource(const SourceTable& source) {
  return source.name() + ", oid " + std::to_string(source.relation.id);
}

bool MatchesAny(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&name](const std::string& pattern) {
    return MatchesPattern(name, pattern.find('.') == std::string::npos ? "public." + pattern : pattern);
  });
}

}  // namespace

Status PostgresSync::Run(SyncReport* report) {
  report->server = DescribePostgresUri(postgres_.uri);
  Status status = Prepare();
  if (status.ok()) status = Follow();
  FillReport(report);
  if (IsKind(status, ErrorKind::kCancelled) && options_.cancelled()) {
    report->cancelled = true;
    return Status::OK();
  }
  report->cancelled = cancelled_;
  return status;
}

Status PostgresSync::Prepare() {
  HEADRACE_ASSIGN_OR_RETURN(
      catalog_, PostgresConnection::Open(postgres_.uri, PostgresConnection::Use::kQueries, options_.cancel));
  server_name_ = catalog_->name();
  HEADRACE_ASSIGN_OR_RETURN(server_, ReadServer(catalog_.get()));
  HEADRACE_RETURN_NOT_OK(LoadTypes(catalog_.get(), &types_));
  HEADRACE_RETURN_NOT_OK(ChooseNames());
  HEADRACE_RETURN_NOT_OK(ChooseTables());
  HEADRACE_RETURN_NOT_OK(OpenTables());
  // Before anything is changed at the server: another sync may run.
  HEADRACE_RETURN_NOT_OK(CheckSlot());
  HEADRACE_RETURN_NOT_OK(Publish());
  HEADRACE_RETURN_NOT_OK(ChooseCopies());
  return CopyTables();
}

// Two warehouses that sync from one database have a slot each: the name says which.
Status PostgresSync::ChooseNames() {
  if (postgres_.slot.empty()) {
    const std::string identity =
        options_.place + '\n' + server_.system + '\n' + catalog_->database() + '\n' + options_.database;
    char name[32];
    std::snprintf(name, sizeof(name), "headrace_%012llx",
                  static_cast<unsigned long long>(XXH3_64bits(identity.data(), identity.size()) >> 16));
    postgres_.slot = name;
  }
  const bool legal =
      postgres_.slot.size() <= 63 && std::all_of(postgres_.slot.begin(), postgres_.slot.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (!legal)
    return Invalid("syncing from ", server_name_, ": the slot name ", postgres_.slot,
                   " may have a-z, 0-9 and _, at most 63");
  own_publication_ = postgres_.publication.empty();
  if (own_publication_) postgres_.publication = postgres_.slot;
  job_ = options_.job.empty() ? "sync-" + postgres_.slot : options_.job;
  return CheckJobName(job_);
}

// Asked for by its whole name, not only taken by a '*'.
bool PostgresSync::IsNamed(const SourceTable& source) const {
  for (const std::string& pattern : options_.patterns) {
    if (pattern == source.name() || "public." + pattern == source.name()) return true;
  }
  return false;
}

// Without anything that tells rows apart only inserts can be followed; and publishing such a table makes the server refuse its updates and
// deletes, unless it has REPLICA IDENTITY FULL.
Result<bool> PostgresSync::Accepts(const SourceTable& source) const {
  if (source.relation.identity == pgoutput::ReplicaIdentity::kFull) return true;
  std::string reason;
  if (source.relation.identity == pgoutput::ReplicaIdentity::kNothing) {
    reason = "has REPLICA IDENTITY NOTHING, so its updates and deletes cannot be followed; set another one";
  } else if (source.key.empty()) {
    reason =
        "has no primary key; give it one, or ALTER TABLE … REPLICA IDENTITY FULL to follow its inserts alone";
  } else {
    return true;
  }
  if (IsNamed(source))
    return Unsupported("syncing from ", server_name_, ": table ", source.name(), " ", reason);
  options_.Tell("left out: " + source.name() + " " + reason);
  return false;
}

Status PostgresSync::ChooseTables() {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<SourceTable> listed, ListTables(catalog_.get(), options_.patterns));
  for (const std::string& pattern : options_.patterns) {
    const bool found = std::any_of(listed.begin(), listed.end(), [&pattern](const SourceTable& source) {
      return MatchesAny(source.name(), {pattern});
    });
    if (!found && pattern.find('*') == std::string::npos)
      return NotFound("syncing from ", server_name_, ": there is no table ", pattern, "; write schema.table");
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto published,
                            FindPublished(catalog_.get(), postgres_.publication, listed));
  if (published) published_before_ = *published;
  if (!own_publication_ && !published)
    return NotFound("syncing from ", server_name_, ": there is no publication ", postgres_.publication);
  for (SourceTable& source : listed) {
    if (!own_publication_ && !Contains(published_before_, source.name())) {
      if (IsNamed(source)) {
        return Invalid("syncing from ", server_name_, ": publication ", postgres_.publication,
                       " does not publish ", source.name(), "; add it by ALTER PUBLICATION … ADD TABLE");
      }
      options_.Tell("left out: " + source.name() + " is not published by " + postgres_.publication);
      continue;
    }
    HEADRACE_ASSIGN_OR_RETURN(const bool accepted, Accepts(source));
    if (accepted) sources_.push_back(std::move(source));
  }
  if (sources_.empty())
    return NotFound("syncing from ", server_name_, ": no table that can be followed is named by --tables");
  return Status::OK();
}

Status PostgresSync::OpenTables() {
  std::map<std::string, std::string> by_target;
  for (const SourceTable& source : sources_) {
    const std::string database = options_.database.empty() ? source.relation.schema : options_.database;
    const std::string target = database + "." + source.relation.name;
    const auto [other, fresh] = by_target.emplace(target, source.name());
    if (!fresh) {
      return Invalid("syncing from ", server_name_, ": ", other->second, " and ", source.name(),
                     " would both be ", target,
                     "; sync them by two commands with a --database each, or leave --database away");
    }
    const Status opened = OpenOne(source, target);
    if (opened.ok()) continue;
    if (IsNamed(source) || IsKind(opened, ErrorKind::kIo))
      return WithContext("syncing " + source.name() + " from " + server_name_, opened);
    options_.Tell("left out: " + source.name() + ": " + opened.message());
    SyncTableReport report;
    report.source = source.name();
    report.table = target;
    report.quarantine = opened.message();
    left_out_.push_back(std::move(report));
  }
  if (tables_.empty()) return Invalid("syncing from ", server_name_, ": none of its tables can be taken");
  return Status::OK();
}

Status PostgresSync::MakeTable(const SourceTable& source, const std::string& target) {
  NewTable table = TableFor(source, types_);
  table.options = options_.table_options;
  // With whole old rows every change can be kept as it was; else the table finds them itself.
  const bool whole = source.relation.identity == pgoutput::ReplicaIdentity::kFull;
  std::string chosen;
  if (!source.key.empty() && !table.options.contains("changelog-producer")) {
    table.options["changelog-producer"] = whole ? "input" : "lookup";
    chosen = whole ? ", changelog-producer=input because REPLICA IDENTITY FULL sends whole old rows"
                   : ", changelog-producer=lookup because old rows are not sent whole";
  }
  if (source.key.empty()) chosen = ", append-only: an update or delete will quarantine it";
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> notes, options_.create(target, std::move(table)));
  options_.Tell("made table " + target + " for " + source.name() + chosen);
  for (const std::string& note : notes) options_.Tell("  with " + note);
  return Status::OK();
}

Status PostgresSync::OpenOne(const SourceTable& source, const std::string& target) {
  Result<Table> opened = options_.open(target);
  if (IsKind(opened.status(), ErrorKind::kNotFound)) {
    HEADRACE_RETURN_NOT_OK(MakeTable(source, target));
  } else {
    HEADRACE_RETURN_NOT_OK(opened.status());
  }
  SyncTableSetup setup;
  setup.source = source.name();
  setup.target = target;
  setup.job = job_;
  setup.dead_letter_file = options_.dead_letter_folder + "/" + job_ + "." + target + ".jsonl";
  setup.options = options_.shared;
  setup.options.cancel = options_.cancel;
  setup.open = [open = options_.open, target] { return open(target); };
  FollowedTable one;
  one.source = source;
  HEADRACE_ASSIGN_OR_RETURN(one.table, SyncTable::Open(std::move(setup)));
  HEADRACE_RETURN_NOT_OK(CheckKey(one));
  tables_.push_back(std::move(one));
  return Status::OK();
}

Status PostgresSync::CheckKey(const FollowedTable& one) const {
  const std::string problem =
      KeyMismatch(one.table->table().schema->primary_keys, one.source.relation, one.source.key);
  return problem.empty() ? Status::OK()
                         : Invalid("table ", one.table->target(), " for ", one.source.name(), ": ", problem);
}

// Tables that are not published yet are added, those no longer asked for are taken out: what is published is what is followed.
Status PostgresSync::Publish() {
  if (!own_publication_) return Status::OK();
  const std::string name = catalog_->Quoted(postgres_.publication);
  std::string added;
  std::string removed;
  for (const FollowedTable& one : tables_) {
    if (Contains(published_before_, one.source.name())) continue;
    added += (added.empty() ? "" : ", ") + catalog_->Quoted(one.source.relation.schema) + "." +
             catalog_->Quoted(one.source.relation.name);
  }
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> members,
      catalog_->Query(
          "SELECT n.nspname, c.relname FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid "
          "JOIN "
          "pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = " +
          catalog_->Literal(postgres_.publication)));
  for (const PostgresRow& row : members) {
    const std::string full = row[0].value_or("") + "." + row[1].value_or("");
    const bool wanted = std::any_of(tables_.begin(), tables_.end(),
                                    [&full](const FollowedTable& one) { return one.source.name() == full; });
    if (wanted) continue;
    removed += (removed.empty() ? "" : ", ") + catalog_->Quoted(*row[0]) + "." + catalog_->Quoted(*row[1]);
    options_.Tell("no longer followed: " + full);
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<PostgresRow> exists,
                            catalog_->Query("SELECT 1 FROM pg_publication WHERE pubname = " +
                                            catalog_->Literal(postgres_.publication)));
  if (exists.empty()) {
    HEADRACE_RETURN_NOT_OK(catalog_->Run(
        "CREATE PUBLICATION " + name + " FOR TABLE " + added +
        " WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)"));
    options_.Tell("made publication " + postgres_.publication);
    return Status::OK();
  }
  if (!added.empty())
    HEADRACE_RETURN_NOT_OK(catalog_->Run("ALTER PUBLICATION " + name + " ADD TABLE " + added));
  if (!removed.empty())
    HEADRACE_RETURN_NOT_OK(catalog_->Run("ALTER PUBLICATION " + name + " DROP TABLE " + removed));
  return Status::OK();
}

// A process that was killed may hold the slot for a moment longer.
Status PostgresSync::WaitForSlot() {
  for (int64_t waited = 0;; waited += kSlotLookMs) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SlotState> slot, FindSlot(catalog_.get(), postgres_.slot));
    if (!slot || !slot->active_process) return Status::OK();
    if (waited >= kSlotWaitMs) {
      return CommitConflict("syncing from ", server_name_, ": slot ", postgres_.slot,
                            " is in use by the server's process ", *slot->active_process,
                            "; only one sync may run on a slot. Stop the other, or name another by --slot");
    }
    if (options_.cancelled()) return Cancelled("syncing from ", server_name_, ": stopped on request");
    tables_.front().table->table().clock->SleepMs(kSlotLookMs);
  }
}

Status PostgresSync::CheckSlot() {
  HEADRACE_RETURN_NOT_OK(WaitForSlot());
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<SlotState> slot, FindSlot(catalog_.get(), postgres_.slot));
  if (!slot) return Status::OK();
  if (slot->plugin != "pgoutput" || slot->database != catalog_->database()) {
    return Invalid("syncing from ", server_name_, ": slot ", postgres_.slot, " is of plugin ", slot->plugin,
                   " and database ", slot->database, "; it must be of pgoutput and ", catalog_->database(),
                   ". Name another by --slot");
  }
  slot_confirmed_ = slot->confirmed;
  slot_there_ = !slot->lost;
  if (!slot->lost) return Status::OK();
  options_.Tell(
      "the server no longer has the log that slot " + postgres_.slot +
      " needs (max_slot_wal_keep_size): a new slot is made, and all tables are compared with the source");
  return catalog_->Run("SELECT pg_drop_replication_slot(" + catalog_->Literal(postgres_.slot) + ")");
}

// Tables without a position are copied; those whose position cannot be continued as well.
Status PostgresSync::ChooseCopies() {
  for (size_t i = 0; i < tables_.size(); ++i) {
    FollowedTable& one = tables_[i];
    const std::string name = one.source.name();
    const std::optional<LogPosition>& log = one.table->committed().log;
    HEADRACE_ASSIGN_OR_RETURN(const bool has_rows, one.table->HasRows());
    std::string why;
    if (!one.table->has_position() || !log) {
      if (has_rows && !one.table->position_lost() && !options_.adopt) {
        return Invalid(
            "syncing ", name, " from ", server_name_, ": table ", one.table->target(),
            " holds rows that job ", job_,
            " did not write. --adopt compares it with the source and changes what "
            "differs; if another slot was used before (the warehouse was moved), name it by --slot");
      }
      if (has_rows) why = "it holds rows without a position of this job";
    } else if (log->system != server_.system) {
      if (!options_.adopt) {
        return Invalid("syncing ", name, ": table ", one.table->target(),
                       " follows the server with system identifier ", log->system, ", but ", server_name_,
                       " is ", server_.system,
                       "; --adopt compares it with this server and changes what differs");
      }
      why = "it followed another server";
    } else if (!slot_there_) {
      why = "slot " + postgres_.slot + " is gone, and with it the changes since " + LsnText(log->lsn);
    } else if (log->lsn < slot_confirmed_) {
      why = "it has all up to " + LsnText(log->lsn) + ", but the slot is at " + LsnText(slot_confirmed_);
    } else if (log->lsn > server_.log_end && log->lsn - server_.log_end > server_.log_block_bytes) {
      why = "it has all up to " + LsnText(log->lsn) + ", but the server's log ends at " +
            LsnText(server_.log_end) + ": the server went back in time";
    } else if (own_publication_ && !Contains(published_before_, one.source.name())) {
      why = "it was not published for a while";
    } else if (one.table->committed().source_table != DescribeSource(one.source)) {
      why = "it was dropped and made anew in PostgreSQL";
    } else if (MatchesAny(name, options_.resync)) {
      why = "--resync asks for it";
    } else {
      continue;
    }
    if (!why.empty())
      options_.Tell(name + " is compared with " + one.table->target() + " row by row: " + why);
    copies_.push_back(i);
  }
  return Status::OK();
}

// One snapshot for all: of the slot itself when it is made now, else of a slot that is gone with its connection. A temporary slot has a name of
// its own, so that it does not stand in the way of another sync's.
Status PostgresSync::CopyTables() {
  if (copies_.empty() && slot_there_) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(
      const std::unique_ptr<PostgresConnection> replication,
      PostgresConnection::Open(postgres_.uri, PostgresConnection::Use::kReplication, options_.cancel));
  std::string temporary = "headrace_copy_" + NewUuid();
  std::erase(temporary, '-');
  HEADRACE_ASSIGN_OR_RETURN(
      const ExportedSnapshot snapshot,
      CreateSlot(replication.get(), slot_there_ ? temporary : postgres_.slot, slot_there_));
  if (!slot_there_)
    options_.Tell("made slot " + postgres_.slot + ", consistent at " + LsnText(snapshot.consistent_point));
  HEADRACE_ASSIGN_OR_RETURN(
      const std::unique_ptr<PostgresConnection> reader,
      PostgresConnection::Open(postgres_.uri, PostgresConnection::Use::kQueries, options_.cancel));
  HEADRACE_RETURN_NOT_OK(UseSnapshot(reader.get(), snapshot));
  for (const size_t i : copies_) {
    FollowedTable& one = tables_[i];
    const Status copied = CopyOne(reader.get(), &one, snapshot.consistent_point);
    if (copied.ok()) {
      one.failed.clear();
      continue;
    }
    if (KindOf(copied) == ErrorKind::kIo || KindOf(copied) == ErrorKind::kCancelled ||
        KindOf(copied) == ErrorKind::kCommitConflict)
      return copied;
    // The others go on. What the table had is as it was; the next run tries again.
    one.failed = copied.message();
    options_.Tell(one.source.name() + " is not followed: " + copied.message());
    HEADRACE_RETURN_NOT_OK(one.table->Restart());
    // The failed statement has ended the transaction, and with it the snapshot.
    HEADRACE_RETURN_NOT_OK(reader->Run("ROLLBACK"));
    HEADRACE_RETURN_NOT_OK(UseSnapshot(reader.get(), snapshot));
  }
  HEADRACE_RETURN_NOT_OK(reader->Run("COMMIT"));
  const bool any = std::any_of(tables_.begin(), tables_.end(),
                               [](const FollowedTable& one) { return one.failed.empty(); });
  return any ? Status::OK() : Invalid("syncing from ", server_name_, ": ", tables_.front().failed);
}

Status PostgresSync::CopyOne(PostgresConnection* at_snapshot, FollowedTable* one, Lsn point) {
  // A schema that changed while no sync ran shows here first.
  const NeededChanges needed = ChangesFor(one->source.relation, types_, *one->table->table().schema);
  if (!needed.required.empty()) HEADRACE_RETURN_NOT_OK(one->table->Alter(needed.required));
  for (const SchemaChange& widening : needed.widening) {
    const Status status = one->table->Alter({widening});
    if (IsKind(status, ErrorKind::kIo)) return status;
  }
  HEADRACE_ASSIGN_OR_RETURN(const bool has_rows, one->table->HasRows());
  if (has_rows && one->table->shape().key_columns.empty()) {
    return Unsupported("table ", one->table->target(),
                       " has rows but no primary key to compare them by; drop it to copy ",
                       one->source.name(), " anew");
  }
  SyncProgress progress;
  progress.doing = "copying " + one->source.name();
  PostgresCopy copy(at_snapshot, one->source, one->table.get(), [this, &progress](int64_t rows) {
    progress.rows = rows;
    if (options_.progress != nullptr) options_.progress(progress);
  });
  HEADRACE_RETURN_NOT_OK(has_rows ? copy.CopyDifference(options_.shared.budget->limit() / 4)
                                  : copy.CopyAll());
  const Status committed = one->table->CommitCopy([&](Position* position) {
    position->format = "pgoutput";
    position->source_table = DescribeSource(one->source);
    position->log = LogPosition{server_.system, postgres_.slot, point, /*snapshot_done=*/true};
  });
  HEADRACE_RETURN_NOT_OK(committed);
  options_.Tell(one->source.name() +
                (has_rows ? " compared: " + std::to_string(copy.added()) + " rows added, " +
                                std::to_string(copy.changed()) + " changed, " +
                                std::to_string(copy.deleted()) + " deleted in "
                          : " copied: " + std::to_string(copy.added()) + " rows in ") +
                one->table->target() + ", as of " + LsnText(point));
  return Status::OK();
}

void PostgresSync::FillReport(SyncReport* report) const {
  if (!server_name_.empty()) report->server = server_name_;
  report->job = job_;
  report->slot = postgres_.slot;
  report->publication = postgres_.publication;
  report->transactions = transactions_;
  std::optional<Lsn> least;
  for (const FollowedTable& one : tables_) {
    report->tables.push_back(one.table->Report());
    if (!one.failed.empty()) report->tables.back().quarantine = one.failed;
    if (one.failed.empty()) least = std::min(least.value_or(one.position()), one.position());
  }
  report->tables.insert(report->tables.end(), left_out_.begin(), left_out_.end());
  if (least) report->position = LsnText(*least);
}

}  // namespace headrace::ingest
