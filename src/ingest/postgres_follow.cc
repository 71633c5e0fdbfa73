#include "ingest/postgres_follow.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "ingest/postgres_schema.h"

namespace headrace::ingest {
namespace {

using pgoutput::Lsn;
using pgoutput::LsnText;

constexpr int64_t kDefaultCommitMs = 1000;
constexpr int64_t kMostUncommittedBytes = 64LL << 20;
// A table with nothing new moves on once it is so far behind, so that the server can free its log.
constexpr Lsn kFarBehindBytes = 16ULL << 20;
constexpr int64_t kFarBehindMs = 5 * 60 * 1000;

int64_t WallUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Described(const SchemaChange& change) {
  if (const auto* add = std::get_if<AddColumn>(&change))
    return "column " + add->column.front() + " " + add->type + " added";
  if (const auto* retype = std::get_if<RetypeColumn>(&change))
    return "column " + retype->column.front() + " is " + retype->type + " now";
  return "a column takes nulls now";
}

std::string Joined(const std::vector<SchemaChange>& changes) {
  std::string text;
  for (const SchemaChange& change : changes) text += (text.empty() ? "" : ", ") + Described(change);
  return text;
}

}  // namespace

PostgresFollower::PostgresFollower(std::vector<FollowedTable>* tables, const SyncOptions& options,
                                   Place place, PostgresTypes types, Questions questions)
    : tables_(tables),
      options_(options),
      place_(std::move(place)),
      types_(std::move(types)),
      questions_(std::move(questions)) {}

Lsn PostgresFollower::LeastCommitted() const {
  std::optional<Lsn> least;
  for (const FollowedTable& one : *tables_) {
    if (one.failed.empty()) least = std::min(least.value_or(one.position()), one.position());
  }
  return least.value_or(0);
}

void PostgresFollower::Begin(Lsn from) {
  boundary_ = from;
  transaction_.reset();
  by_relation_.clear();
  oldest_uncommitted_ms_ = 0;
  server_waits_ = false;
  for (FollowedTable& one : *tables_) {
    one.relation.reset();
    one.decoder.reset();
    one.taken_in_transaction = 0;
    one.truncates_in_transaction = 0;
  }
}

std::string PostgresFollower::WhereText() const {
  return transaction_
             ? "transaction " + std::to_string(transaction_->xid) + " at " + LsnText(transaction_->commit_lsn)
             : "at " + LsnText(boundary_);
}

Result<PostgresFollower::Turn> PostgresFollower::Handle(const StreamMessage& sent) {
  server_end_ = std::max(server_end_, sent.server_end);
  if (sent.keepalive) {
    server_waits_ = server_waits_ || sent.wants_answer;
    // Every transaction that ended before was sent.
    if (!transaction_) boundary_ = std::max(boundary_, sent.server_end);
    return Rest();
  }
  const Result<pgoutput::Message> message = pgoutput::Decode(sent.bytes);
  if (!message.ok()) {
    return WithContext("following the log of " + place_.server + " at " + LsnText(sent.begin),
                       message.status());
  }
  return HandleMessage(*message, sent);
}

Result<PostgresFollower::Turn> PostgresFollower::HandleMessage(const pgoutput::Message& message,
                                                               const StreamMessage& sent) {
  const Change change{&message, sent.bytes, sent.begin};
  if (const auto* begin = std::get_if<pgoutput::Begin>(&message)) {
    // Commit order is log order: whatever ended before is handled.
    boundary_ = std::max(boundary_, begin->commit_lsn);
    if (stop_at_ && boundary_ >= *stop_at_) return Turn::kDone;
    transaction_ = Transaction{begin->commit_lsn, begin->commit_time_us, begin->xid};
    return Turn::kOn;
  }
  if (const auto* relation = std::get_if<pgoutput::Relation>(&message)) {
    TakeRelation(*relation);
    return Turn::kOn;
  }
  if (const auto* insert = std::get_if<pgoutput::Insert>(&message))
    return HandleChange(insert->relation, change);
  if (const auto* update = std::get_if<pgoutput::Update>(&message))
    return HandleChange(update->relation, change);
  if (const auto* deleted = std::get_if<pgoutput::Delete>(&message))
    return HandleChange(deleted->relation, change);
  if (const auto* truncate = std::get_if<pgoutput::Truncate>(&message)) {
    for (const uint32_t relation : truncate->relations) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, HandleChange(relation, change));
      if (turn != Turn::kOn) return turn;
    }
    return Turn::kOn;
  }
  const auto* commit = std::get_if<pgoutput::Commit>(&message);
  if (commit == nullptr) return Turn::kOn;  // origins, types, messages of programs
  transaction_.reset();
  boundary_ = std::max(boundary_, commit->end_lsn);
  newest_commit_us_ = commit->commit_time_us;
  ++transactions_;
  for (FollowedTable& one : *tables_) {
    if (one.taken_in_transaction > 0 && oldest_uncommitted_ms_ == 0) oldest_uncommitted_ms_ = SteadyMs();
    one.taken_in_transaction = 0;
    one.truncates_in_transaction = 0;
  }
  return Rest();
}

void PostgresFollower::TakeRelation(const pgoutput::Relation& relation) {
  by_relation_[relation.id] = nullptr;
  for (FollowedTable& one : *tables_) {
    if (one.source.relation.schema != relation.schema || one.source.relation.name != relation.name) continue;
    by_relation_[relation.id] = &one;
    one.relation = relation;
    one.decoder.reset();
    return;
  }
  const std::string name = relation.schema + "." + relation.name;
  if (std::find(told_unknown_.begin(), told_unknown_.end(), name) != told_unknown_.end()) return;
  told_unknown_.push_back(name);
  options_.Tell(name +
                " is published, but was not there when the sync began, or is not asked for: its changes are "
                "passed over; "
                "start again to take it up");
}

Result<PostgresFollower::Turn> PostgresFollower::HandleChange(uint32_t relation, const Change& change) {
  const auto found = by_relation_.find(relation);
  if (found == by_relation_.end() || !transaction_) {
    return Corruption(
        "following the log of ", place_.server, " at ", LsnText(change.lsn), ": a change of relation ",
        relation,
        found == by_relation_.end() ? ", which the server has not described" : " outside a transaction");
  }
  FollowedTable* one = found->second;
  // A table passes over what it has.
  if (one == nullptr || !one->failed.empty() || transaction_->commit_lsn < one->position()) return Turn::kOn;
  return TakeChange(one, change);
}

Result<PostgresFollower::Turn> PostgresFollower::TakeChange(FollowedTable* one, const Change& change) {
  const bool planned = one->planned && one->planned->commit_lsn == transaction_->commit_lsn;
  if (planned && !one->planned->quarantine.empty() && !one->table->quarantined())
    return Quarantine(one, one->planned->quarantine, change);
  if (one->table->quarantined()) {
    HEADRACE_RETURN_NOT_OK(AddDeadLetter(one, "the table is quarantined", change));
    ++one->taken_in_transaction;
    return Turn::kOn;
  }
  const bool truncate = std::holds_alternative<pgoutput::Truncate>(*change.message);
  if (truncate) ++one->truncates_in_transaction;
  if (planned && one->truncates_in_transaction < one->planned->truncates) return Turn::kOn;
  if (truncate) return ApplyTruncate(one, change);
  if (one->decoder == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, MakeFit(one, change));
    if (turn != Turn::kOn || one->decoder == nullptr) return turn;
  }
  return ApplyRows(one, change);
}

Result<PostgresFollower::Turn> PostgresFollower::ApplyRows(FollowedTable* one, const Change& change) {
  SyncTable& table = *one->table;
  const int64_t before = table.rows()->rows();
  const auto decode = [&]() -> LineOutcome {
    if (const auto* insert = std::get_if<pgoutput::Insert>(change.message))
      return one->decoder->Insert(*insert, table.rows());
    if (const auto* update = std::get_if<pgoutput::Update>(change.message))
      return one->decoder->Update(*update, table.current(), table.rows());
    return one->decoder->Delete(std::get<pgoutput::Delete>(*change.message), table.rows());
  };
  LineOutcome outcome = decode();
  if (outcome.fate == LineFate::kNeedsRows) {
    // Rows written since the last commit were not remembered: begin again with remembering, unless there are none.
    if (table.outstanding()) {
      table.KeepCurrentRows();
      return Turn::kBack;
    }
    table.KeepCurrentRows();
    outcome = decode();
  }
  if (outcome.fate == LineFate::kBad) {
    const std::string column = outcome.field.empty() ? "" : "column " + outcome.field + " ";
    return Quarantine(one, column + outcome.reason, change);
  }
  ++one->taken_in_transaction;
  HEADRACE_RETURN_NOT_OK(table.Applied(before));
  return Turn::kOn;
}

// Every live row goes. Those of this very transaction are not live yet: the transaction is taken again, without what came before its truncate.
Result<PostgresFollower::Turn> PostgresFollower::ApplyTruncate(FollowedTable* one, const Change& change) {
  if (one->table->shape().key_columns.empty())
    return Quarantine(one, "it was truncated, and the table has no primary key to delete rows by", change);
  if (one->taken_in_transaction > 0) {
    one->planned = PlannedTurn{transaction_->commit_lsn, "", one->truncates_in_transaction};
    return Turn::kBack;
  }
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitTable(one));
  if (turn != Turn::kOn) return turn;
  ++one->taken_in_transaction;
  HEADRACE_RETURN_NOT_OK(one->table->DeleteEverything());
  return Turn::kOn;
}

// Rows that PostgreSQL tells apart must be told apart here, or one would replace the other; empty when they are. With a whole old row
// every column is marked as part of the identity, so the catalog has to say what the key is.
Result<std::string> PostgresFollower::KeyProblem(const FollowedTable& one) const {
  if (one.relation->id != one.source.relation.id)
    return std::string("it was dropped and made anew in PostgreSQL");
  std::vector<std::string> key;
  if (one.relation->identity == pgoutput::ReplicaIdentity::kFull) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SourceTable> now, questions_.describe(one.source.name()));
    if (now && now->relation.id == one.relation->id) key = now->key;
  } else {
    for (const pgoutput::RelationColumn& column : one.relation->columns) {
      if (column.identity) key.push_back(column.name);
    }
  }
  return KeyMismatch(one.table->table().schema->primary_keys, *one.relation, key);
}

// The table's schema follows the relation. What came before is committed as it is.
Result<PostgresFollower::Turn> PostgresFollower::MakeFit(FollowedTable* one, const Change& change) {
  for (const pgoutput::RelationColumn& column : one->relation->columns) {
    if (types_.Knows(column.type_oid)) continue;
    HEADRACE_RETURN_NOT_OK(questions_.reload_types(&types_));
    break;
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::string key_problem, KeyProblem(*one));
  if (!key_problem.empty()) return Quarantine(one, key_problem, change);
  const NeededChanges needed = ChangesFor(*one->relation, types_, *one->table->table().schema);
  bool back = false;
  if (!needed.required.empty() || !needed.widening.empty()) {
    back = one->taken_in_transaction > 0;
    if (!back) {
      HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitTable(one));
      if (turn != Turn::kOn) return turn;
    }
  }
  bool altered = false;
  const std::string where =
      "table " + one->table->target() + ", as " + one->source.name() + " at " + LsnText(change.lsn) + ": ";
  if (!needed.required.empty()) {
    const Status status = one->table->Alter(needed.required);
    if (IsKind(status, ErrorKind::kIo)) return status;
    if (!status.ok()) return Quarantine(one, "its columns changed: " + status.message(), change);
    options_.Tell(where + Joined(needed.required));
    altered = true;
  }
  for (const SchemaChange& widening : needed.widening) {
    // Where it is refused, values that fit go on.
    const Status status = one->table->Alter({widening});
    if (IsKind(status, ErrorKind::kIo)) return status;
    options_.Tell(status.ok()
                      ? where + Described(widening)
                      : where + "its column keeps its type as long as values fit: " + status.message());
    altered = altered || status.ok();
  }
  if (altered && back) return Turn::kBack;
  one->decoder = std::make_unique<PgoutputRows>(&one->table->shape());
  one->decoder->SetRelation(*one->relation);
  return Turn::kOn;
}

// A transaction is kept aside whole: when part of it became rows already, it is taken again.
Result<PostgresFollower::Turn> PostgresFollower::Quarantine(FollowedTable* one, const std::string& reason,
                                                            const Change& change) {
  if (one->taken_in_transaction > 0) {
    one->planned = PlannedTurn{transaction_->commit_lsn, reason, 0};
    return Turn::kBack;
  }
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, CommitTable(one));
  if (turn != Turn::kOn) return turn;
  HEADRACE_RETURN_NOT_OK(one->table->Quarantine(reason));
  one->decoder.reset();
  options_.Tell(one->source.name() + " cannot be followed any more, from " + WhereText() + " on: " + reason +
                ". Its events are kept aside, the other tables go on; --resync " + one->source.name() +
                " puts it right once the cause is mended");
  ++one->taken_in_transaction;
  HEADRACE_RETURN_NOT_OK(AddDeadLetter(one, reason, change));
  return Turn::kOn;
}

Status PostgresFollower::AddDeadLetter(FollowedTable* one, const std::string& reason, const Change& change) {
  const std::string input = place_.server + ", " + one->source.name() + ", " + WhereText();
  DeadLetter letter;
  letter.input = input;
  letter.unit = "lsn";
  letter.number = static_cast<int64_t>(change.lsn);
  letter.reason = reason;
  letter.record = change.bytes;
  return one->table->AddDeadLetter(letter);
}

Result<PostgresFollower::Turn> PostgresFollower::CommitTable(FollowedTable* one) {
  if (!one->table->outstanding()) return Turn::kOn;
  const Status status = one->table->Commit([this](Position* position) {
    position->log = LogPosition{place_.system, place_.slot, boundary_, /*snapshot_done=*/true};
  });
  if (!IsKind(status, ErrorKind::kCommitConflict)) {
    HEADRACE_RETURN_NOT_OK(status);
    return Turn::kOn;
  }
  HEADRACE_RETURN_NOT_OK(one->table->CheckAlone());
  ++races_lost_;
  return Turn::kBack;
}

bool PostgresFollower::IsFarBehind(const FollowedTable& one) const {
  if (boundary_ <= one.position()) return false;
  return boundary_ - one.position() >= kFarBehindBytes || one.table->ms_since_commit() >= kFarBehindMs;
}

bool PostgresFollower::IsDue() const {
  const CommitEvery& every = options_.commit_every;
  const int64_t most_rows = every.rows.value_or(INT64_MAX);
  const int64_t most_ms = every.milliseconds.value_or(every.rows ? INT64_MAX : kDefaultCommitMs);
  int64_t rows = 0;
  int64_t bytes = 0;
  for (const FollowedTable& one : *tables_) {
    if (!one.failed.empty()) continue;
    if (IsFarBehind(one)) return true;
    if (!one.table->outstanding()) continue;
    rows += one.table->rows_since_commit();
    bytes += one.table->bytes_since_commit();
  }
  if (rows >= most_rows || bytes >= kMostUncommittedBytes) return true;
  return oldest_uncommitted_ms_ != 0 && SteadyMs() - oldest_uncommitted_ms_ >= most_ms;
}

Result<PostgresFollower::Turn> PostgresFollower::CommitDue(bool idle_too) {
  for (FollowedTable& one : *tables_) {
    if (!one.failed.empty()) continue;
    const bool moves =
        one.table->outstanding() || ((idle_too || IsFarBehind(one)) && boundary_ > one.position());
    if (!moves) continue;
    const Status status = one.table->Commit([this](Position* position) {
      position->log = LogPosition{place_.system, place_.slot, boundary_, /*snapshot_done=*/true};
    });
    if (IsKind(status, ErrorKind::kCommitConflict)) {
      HEADRACE_RETURN_NOT_OK(one.table->CheckAlone());
      ++races_lost_;
      return Turn::kBack;
    }
    HEADRACE_RETURN_NOT_OK(
        WithContext("up to " + LsnText(boundary_) + " of the log of " + place_.server, status));
  }
  oldest_uncommitted_ms_ = 0;
  return Turn::kOn;
}

Result<PostgresFollower::Turn> PostgresFollower::CommitAll() { return CommitDue(/*idle_too=*/true); }

Result<PostgresFollower::Turn> PostgresFollower::Rest() {
  if (transaction_) return Turn::kOn;
  if (stop_at_ && boundary_ >= *stop_at_) return Turn::kDone;
  const bool idle_too = server_waits_ && LeastCommitted() < boundary_;
  server_waits_ = false;
  if (!idle_too && !IsDue()) return Turn::kOn;
  return CommitDue(idle_too);
}

SyncProgress PostgresFollower::Progress() const {
  SyncProgress progress;
  progress.transactions = transactions_;
  bool outstanding = transaction_.has_value();
  for (const FollowedTable& one : *tables_) {
    if (!one.failed.empty()) continue;
    const SyncTableReport report = one.table->Report();
    progress.rows += report.rows + one.table->rows_since_commit();
    progress.commits += report.commits;
    outstanding = outstanding || one.table->outstanding();
  }
  if (server_end_ > boundary_) progress.lag_bytes = static_cast<int64_t>(server_end_ - boundary_);
  const int64_t newest_us = transaction_ ? transaction_->commit_time_us : newest_commit_us_;
  if ((outstanding || progress.lag_bytes > 0) && newest_us > 0)
    progress.lag_seconds = std::max<int64_t>(0, (WallUs() - newest_us) / 1000000);
  return progress;
}

}  // namespace headrace::ingest
