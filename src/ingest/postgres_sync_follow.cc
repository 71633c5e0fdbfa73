// The part of PostgresSync that runs: streams, turns back, lost connections.
#include <algorithm>

#include "base/clock.h"
#include "ingest/postgres_sync.h"

namespace headrace::ingest {
namespace {

using pgoutput::Lsn;
using pgoutput::LsnText;
using Turn = PostgresFollower::Turn;

constexpr int kTurnMs = 50;
constexpr int64_t kAskMs = 250;
constexpr int64_t kProgressMs = 250;
constexpr int64_t kWholeTransactionMs =
    10000;  // how long a stop waits for the end of the transaction that is open
constexpr int64_t kMostStatusMs = 10000;
constexpr int64_t kLeastStatusMs = 100;
constexpr int64_t kRetryForMs = 120000;  // with no message from the server in between
constexpr int64_t kMostRetryMs = 5000;
constexpr int kMostRacesLost = 16;  // without getting on in between

}  // namespace

PostgresFollower::Questions PostgresSync::Questions() {
  // The connection of the catalog lies idle for hours, and may be gone.
  const auto with_connection = [this](const std::function<Status()>& ask) -> Status {
    const Status asked = ask();
    if (!IsKind(asked, ErrorKind::kIo)) return asked;
    HEADRACE_ASSIGN_OR_RETURN(
        catalog_,
        PostgresConnection::Open(postgres_.uri, PostgresConnection::Use::kQueries, options_.cancel));
    return ask();
  };
  PostgresFollower::Questions questions;
  questions.reload_types = [this, with_connection](PostgresTypes* types) {
    return with_connection([&] { return LoadTypes(catalog_.get(), types); });
  };
  questions.describe = [this,
                        with_connection](const std::string& name) -> Result<std::optional<SourceTable>> {
    std::optional<SourceTable> found;
    HEADRACE_RETURN_NOT_OK(with_connection([&]() -> Status {
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<SourceTable> listed, ListTables(catalog_.get(), {name}));
      for (const SourceTable& source : listed) {
        if (source.name() == name) found = source;
      }
      return Status::OK();
    }));
    return found;
  };
  return questions;
}

Result<bool> PostgresSync::SlotIsGone() {
  HEADRACE_ASSIGN_OR_RETURN(
      catalog_, PostgresConnection::Open(postgres_.uri, PostgresConnection::Use::kQueries, options_.cancel));
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<SlotState> slot, FindSlot(catalog_.get(), postgres_.slot));
  return !slot || slot->lost;
}

// As a start would: a new slot, and every table compared with the source.
Status PostgresSync::CopyAnew() {
  HEADRACE_ASSIGN_OR_RETURN(server_, ReadServer(catalog_.get()));
  published_before_.clear();
  for (const FollowedTable& one : tables_) published_before_.push_back(one.source.name());
  slot_there_ = false;
  copies_.clear();
  HEADRACE_RETURN_NOT_OK(CheckSlot());
  HEADRACE_RETURN_NOT_OK(ChooseCopies());
  return CopyTables();
}

Status PostgresSync::RestartTables() {
  for (FollowedTable& one : tables_) {
    if (one.failed.empty()) HEADRACE_RETURN_NOT_OK(one.table->Restart());
  }
  return Status::OK();
}

Status PostgresSync::Follow() {
  PostgresFollower follower(&tables_, options_, {server_name_, server_.system, postgres_.slot}, types_,
                            Questions());
  if (options_.until == SyncUntil::kCurrent) {
    HEADRACE_ASSIGN_OR_RETURN(const Lsn end, ReadLogEnd(catalog_.get(), server_));
    follower.StopAt(end);
  } else if (options_.until == SyncUntil::kPosition) {
    const std::optional<Lsn> end = pgoutput::ParseLsn(options_.until_position);
    if (!end)
      return Invalid("stopping at ", options_.until_position, ": no place of the log; write 16/B374D848");
    follower.StopAt(*end);
  }
  int races_before = 0;
  int retries = 0;
  int64_t lost_since_ms = 0;
  Lsn reached = follower.LeastCommitted();
  while (true) {
    const Result<Turn> turn = FollowStream(&follower);
    transactions_ = follower.transactions();
    if (turn.ok() && *turn == Turn::kDone) return Status::OK();
    const bool got_on = follower.LeastCommitted() > reached;
    reached = std::max(reached, follower.LeastCommitted());
    if (got_on) {
      races_before = follower.races_lost();
      lost_since_ms = 0;
      retries = 0;
    }
    if (turn.ok()) {
      const int races = follower.races_lost() - races_before;
      if (races > kMostRacesLost) {
        return CommitConflict(
            "syncing from ", server_name_, ": other writers won ", races,
            " races for the tables' files; what was committed is in the tables, run again to go on");
      }
    } else {
      if (options_.cancelled()) return turn.status();
      if (!IsKind(turn.status(), ErrorKind::kIo)) {
        HEADRACE_ASSIGN_OR_RETURN(const bool gone, SlotIsGone());
        if (!gone) return turn.status();
        HEADRACE_RETURN_NOT_OK(RestartTables());
        HEADRACE_RETURN_NOT_OK(CopyAnew());
        continue;
      }
      if (lost_since_ms == 0) lost_since_ms = SteadyMs();
      if (SteadyMs() - lost_since_ms > kRetryForMs) return turn.status();
      HEADRACE_RETURN_NOT_OK(WaitBeforeRetry(turn.status(), retries++));
    }
    HEADRACE_RETURN_NOT_OK(RestartTables());
  }
}

Status PostgresSync::WaitBeforeRetry(const Status& lost, int tries) {
  if (tries == 0) options_.Tell(lost.message() + "; trying again");
  const int64_t wait_ms = std::min<int64_t>(kMostRetryMs, 100LL << std::min(tries, 10));
  for (int64_t waited = 0; waited < wait_ms; waited += kTurnMs) {
    if (options_.cancelled()) return Cancelled("syncing from ", server_name_, ": stopped on request");
    tables_.front().table->table().clock->SleepMs(kTurnMs);
  }
  return Status::OK();
}

Result<Turn> PostgresSync::FollowStream(PostgresFollower* follower) {
  PostgresStream::Options options;
  options.slot = postgres_.slot;
  options.publication = postgres_.publication;
  options.from = follower->LeastCommitted();
  options.status_every_ms = server_.sender_timeout_ms > 0
                                ? std::clamp(server_.sender_timeout_ms / 4, kLeastStatusMs, kMostStatusMs)
                                : kMostStatusMs;
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresStream> stream,
                            PostgresStream::Start(postgres_.uri, options, options_.cancel));
  follower->Begin(options.from);
  int64_t next_ask_ms = 0;
  int64_t next_progress_ms = 0;
  while (true) {
    if (options_.cancelled()) return Stop(follower, stream.get());
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<StreamMessage> message, stream->Next(kTurnMs));
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, message ? follower->Handle(*message) : follower->Rest());
    if (turn == Turn::kDone) return Stop(follower, stream.get());
    if (turn == Turn::kBack) return Turn::kBack;
    if (!follower->between_transactions() && message) continue;
    stream->Acknowledge(follower->LeastCommitted());
    const int64_t now = SteadyMs();
    if (!message && options_.until != SyncUntil::kStopped && now >= next_ask_ms) {
      stream->AskForEnd();
      next_ask_ms = now + kAskMs;
    }
    if (options_.progress != nullptr && now >= next_progress_ms) {
      options_.progress(follower->Progress());
      next_progress_ms = now + kProgressMs;
    }
  }
}

// Commits what is whole. A transaction that is open is waited for a little; what is there of it is dropped otherwise, and comes again.
Result<Turn> PostgresSync::Stop(PostgresFollower* follower, PostgresStream* stream) {
  cancelled_ = options_.cancelled();
  const int64_t give_up_ms = SteadyMs() + kWholeTransactionMs;
  while (!follower->between_transactions() && SteadyMs() < give_up_ms) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<StreamMessage> message, stream->Next(kTurnMs));
    if (!message) continue;
    HEADRACE_ASSIGN_OR_RETURN(const Turn turn, follower->Handle(*message));
    if (turn == Turn::kBack && cancelled_) return Turn::kDone;
    if (turn == Turn::kBack) return Turn::kBack;
  }
  if (!follower->between_transactions()) return Turn::kDone;
  HEADRACE_ASSIGN_OR_RETURN(const Turn turn, follower->CommitAll());
  if (turn == Turn::kBack && !cancelled_) return Turn::kBack;
  stream->Acknowledge(follower->LeastCommitted());
  return Turn::kDone;
}

}  // namespace headrace::ingest
