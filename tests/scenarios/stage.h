// Where a scenario is played: a store, a clock, the tables in it, and the writers that are open.
//
// Every statement is done for real by the rooms, through a store that can be made to fail. A restart ends the process as kill -9 does: nothing
// is cleaned up, and what follows knows only what is stored. Commit identifiers of a writer's name count on over restarts. A writer whose store
// failed is closed; after an unknown outcome it may commit again. Deterministic but for the names of files: compactions run in line, and
// the clock moves only when told to. One thread, except for `together`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "catalog/catalog.h"
#include "io/fault_store.h"
#include "io/scratch.h"
#include "tests/scenarios/scenario.h"
#include "write/session.h"

namespace headrace::scenario {

struct StageOptions {
  std::string folder = {};  // where `store local` puts its warehouse; empty: there is none
  // For tests that look for a fault: what becomes of rows on their way to the writer.
  std::function<void(std::vector<Row>* rows)> tamper = {};
};

class Stage {
 public:
  explicit Stage(StageOptions options = {});
  ~Stage();

  // Does what the statement says; a reading one that finds other rows than expected is kCorruption. Expectations of errors are the caller's.
  Status Perform(const Statement& statement);
  // Perform, held against what the statement expects. The message begins with the statement.
  Status Run(const Statement& statement);

  // The table as a process that knows nothing finds it, through the store below the faults; kNotFound when there is none.
  Result<Table> LookAt() const;
  // The identifier that the last commit of a writer had, or would have had.
  int64_t IdentifierOf(const std::string& writer) const;
  // Whether faults are still to be expected: `fail` was said, and neither `heal` nor `restart` since.
  bool is_failing() const { return failing_; }
  bool fault_happened() const { return faults_ != nullptr && faults_->fired(); }
  bool has_writer(const std::string& name) const { return writers_.contains(name); }
  bool has_prepared(const std::string& name) const {
    const auto it = writers_.find(name);
    return it != writers_.end() && it->second.prepared.has_value();
  }

 private:
  struct Writer {
    std::unique_ptr<WriteSession> session;
    Table table;
    std::optional<PreparedCommit> prepared;  // not acknowledged yet
  };

  Status SetStore(const Statement& statement);
  Status Create(const Statement& statement);
  Status Alter(const Statement& statement);
  SessionOptions OptionsOf(const std::string& user) const;
  Result<Table> OpenTable() const;  // for writing, through the faults
  Result<Writer*> WriterOf(const std::string& name);
  // Closes the writer when its store failed.
  Status Judge(const std::string& writer, const Status& status);
  Status Write(const Statement& statement);
  Status Prepare(const std::string& name, std::optional<int64_t> identifier);
  Status Commit(const Statement& statement);
  Status CommitPrepared(const std::string& name);
  Status CommitOvertaken(const Statement& statement);
  Status CommitTogether(const std::vector<std::string>& names);
  Status Compact(bool full);
  Status CompactBuckets(const Table& table, bool full, std::optional<std::set<BinaryRow>> partitions);
  Status Overwrite(const Statement& statement);
  Status SetFault(const Statement& statement);
  void Restart();
  Status Observe(const Statement& statement);  // the statements that only look
  Status Compare(const Statement& statement, const std::vector<DataField>& fields, std::vector<Row> found,
                 bool ordered) const;
  Status CompareChanges(const Statement& statement, const Table& table, int64_t latest) const;
  Status CompareLines(const Statement& statement, const std::vector<std::string>& found) const;

  StageOptions options_;
  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<Store> below_;
  std::shared_ptr<FaultStore> faults_;
  std::string warehouse_ = "/warehouse";
  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<LocalScratch> scratch_;  // where rows are put aside; null: nowhere
  std::string table_;                      // the table in use
  bool failing_ = false;
  std::map<std::string, int64_t> identifiers_;
  std::map<std::string, Writer> writers_;
};

}  // namespace headrace::scenario
