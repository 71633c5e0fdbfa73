// Sync from PostgreSQL: the tables' rows at one point of its log, then all changes from there on, each exactly once.
//
// Connects, makes publication and slot where they are missing, makes or widens the tables, copies those that have no position (or a position that
// can no longer be continued: just what differs is written), then follows the log until it is cancelled or has got where it should stop. A lost
// connection is made again. docs/decisions/0006-sources.md tells why nothing is lost or doubled. One call, one thread; used once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ingest/postgres_follow.h"
#include "ingest/postgres_snapshot.h"
#include "ingest/sync.h"

namespace headrace::ingest {

struct PostgresOptions {
  std::string uri;
  std::string slot;         // empty: named after the warehouse and the database
  std::string publication;  // empty: the slot's name, made and kept here; else it must be there
};

class PostgresSync {
 public:
  PostgresSync(const SyncOptions& options, PostgresOptions postgres)
      : options_(options), postgres_(std::move(postgres)) {}

  // On an error what is whole before it is committed or can be continued; `report` is filled either way.
  Status Run(SyncReport* report);

 private:
  Status Prepare();
  Status ChooseNames();
  Status ChooseTables();
  Result<bool> Accepts(const SourceTable& source) const;
  Status OpenTables();
  Status OpenOne(const SourceTable& source, const std::string& target);
  Status MakeTable(const SourceTable& source, const std::string& target);
  Status CheckKey(const FollowedTable& one) const;
  Status Publish();
  Status CheckSlot();
  Status WaitForSlot();
  Status ChooseCopies();
  Status CopyTables();
  Status CopyOne(PostgresConnection* at_snapshot, FollowedTable* one, pgoutput::Lsn point);

  Status Follow();
  Result<PostgresFollower::Turn> FollowStream(PostgresFollower* follower);
  Result<PostgresFollower::Turn> Stop(PostgresFollower* follower, PostgresStream* stream);
  Status RestartTables();
  Result<bool> SlotIsGone();
  Status CopyAnew();
  PostgresFollower::Questions Questions();
  Status WaitBeforeRetry(const Status& lost, int tries);
  void FillReport(SyncReport* report) const;
  bool IsNamed(const SourceTable& source) const;

  const SyncOptions& options_;
  PostgresOptions postgres_;
  std::unique_ptr<PostgresConnection> catalog_;
  std::string server_name_;
  PostgresServer server_;
  PostgresTypes types_;
  std::string job_;
  bool own_publication_ = true;
  std::vector<SourceTable> sources_;
  std::vector<FollowedTable> tables_;
  std::vector<SyncTableReport> left_out_;  // tables that could not be opened or made
  std::vector<std::string> published_before_;
  bool slot_there_ = false;
  pgoutput::Lsn slot_confirmed_ = 0;
  std::vector<size_t> copies_;  // of tables_
  int64_t transactions_ = 0;
  bool cancelled_ = false;
};

}  // namespace headrace::ingest
