// The messages of a replication stream into the tables of a sync: whole transactions, each table from its own position on.
//
// Commits happen between transactions alone, all tables at the same place of the log. What cannot be done where the stream stands (a table must
// be committed, or take a transaction otherwise, from before it on) asks for a turn back: the caller drops what is uncommitted and begins the
// stream anew at LeastCommitted. What has to be done differently then is remembered here. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/pgoutput_rows.h"
#include "ingest/postgres_catalog.h"
#include "ingest/postgres_stream.h"
#include "ingest/postgres_types.h"
#include "ingest/sync.h"
#include "ingest/sync_table.h"

namespace headrace::ingest {

// What a transaction met before needs done for one table when it comes again.
struct PlannedTurn {
  pgoutput::Lsn commit_lsn = 0;
  std::string quarantine;  // the reason; empty: pass over what comes before the n-th truncate
  int truncates = 0;
};

struct FollowedTable {
  SourceTable source;
  std::unique_ptr<SyncTable> table;
  std::string failed;  // why it is not followed in this run; empty: it is

  std::optional<pgoutput::Relation> relation;  // as the stream told it last
  std::unique_ptr<PgoutputRows> decoder;       // null: the table has not been made fit for the relation
  std::optional<PlannedTurn> planned;
  int64_t taken_in_transaction = 0;  // events that became rows, of the transaction that is open
  int truncates_in_transaction = 0;

  pgoutput::Lsn position() const { return table->committed().log ? table->committed().log->lsn : 0; }
};

class PostgresFollower {
 public:
  enum class Turn { kOn, kBack, kDone };
  struct Place {
    std::string server;  // for messages
    std::string system;
    std::string slot;
  };
  // Questions to the server's catalog, as it is now.
  struct Questions {
    std::function<Status(PostgresTypes*)> reload_types;
    // The table of that name; nothing when it is gone.
    std::function<Result<std::optional<SourceTable>>(const std::string& name)> describe;
  };

  PostgresFollower(std::vector<FollowedTable>* tables, const SyncOptions& options, Place place,
                   PostgresTypes types, Questions questions);

  // The least position of all tables that are followed: where a stream has to begin, and what may be acknowledged.
  pgoutput::Lsn LeastCommitted() const;
  // A stream begins at that place; nothing is uncommitted.
  void Begin(pgoutput::Lsn from);
  void StopAt(pgoutput::Lsn lsn) { stop_at_ = lsn; }

  Result<Turn> Handle(const StreamMessage& message);
  // Between messages: commits what is due.
  Result<Turn> Rest();
  bool between_transactions() const { return !transaction_; }
  // All that is whole, idle tables too.
  Result<Turn> CommitAll();

  pgoutput::Lsn position() const { return boundary_; }
  int64_t transactions() const { return transactions_; }
  // Turns back because another writer was first.
  int races_lost() const { return races_lost_; }
  SyncProgress Progress() const;

 private:
  struct Transaction {
    pgoutput::Lsn commit_lsn = 0;
    int64_t commit_time_us = 0;
    uint32_t xid = 0;
  };
  struct Change {
    const pgoutput::Message* message = nullptr;
    std::string_view bytes;
    pgoutput::Lsn lsn = 0;
  };

  Result<Turn> HandleMessage(const pgoutput::Message& message, const StreamMessage& sent);
  void TakeRelation(const pgoutput::Relation& relation);
  Result<Turn> HandleChange(uint32_t relation, const Change& change);
  Result<Turn> TakeChange(FollowedTable* one, const Change& change);
  Result<Turn> ApplyRows(FollowedTable* one, const Change& change);
  Result<Turn> ApplyTruncate(FollowedTable* one, const Change& change);
  Result<std::string> KeyProblem(const FollowedTable& one) const;
  Result<Turn> MakeFit(FollowedTable* one, const Change& change);
  Result<Turn> Quarantine(FollowedTable* one, const std::string& reason, const Change& change);
  Status AddDeadLetter(FollowedTable* one, const std::string& reason, const Change& change);
  Result<Turn> CommitTable(FollowedTable* one);
  Result<Turn> CommitDue(bool idle_too);
  bool IsDue() const;
  bool IsFarBehind(const FollowedTable& one) const;
  std::string WhereText() const;

  std::vector<FollowedTable>* const tables_;
  const SyncOptions& options_;
  const Place place_;
  PostgresTypes types_;
  const Questions questions_;

  std::unordered_map<uint32_t, FollowedTable*> by_relation_;
  std::vector<std::string> told_unknown_;
  std::optional<Transaction> transaction_;
  pgoutput::Lsn boundary_ = 0;  // everything before it is handled
  pgoutput::Lsn server_end_ = 0;
  std::optional<pgoutput::Lsn> stop_at_;
  bool server_waits_ = false;
  int64_t oldest_uncommitted_ms_ = 0;  // 0: nothing is
  int64_t transactions_ = 0;
  int races_lost_ = 0;
  int64_t newest_commit_us_ = 0;  // when the newest transaction handled was committed
};

}  // namespace headrace::ingest
