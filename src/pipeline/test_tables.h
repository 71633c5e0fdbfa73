// Tables of a memory store for tests of stages: made, changed and read by SQL texts; a stage over them.
//
// Included by tests alone. A failure of what is not under test ends the program with its message. One thread.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/physical_columns.h"
#include "ingest/position.h"
#include "io/fault_store.h"
#include "pipeline/query_binding.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage.h"
#include "pipeline/table_relation.h"
#include "sql/assigned_value.h"
#include "write/session.h"

namespace headrace::pipeline {

class StageTables : public Relations {
 public:
  StageTables() : memory_(std::make_shared<MemoryStore>()), store_(std::make_shared<FaultStore>(memory_)) {
    room_.open = [this](const std::string& name, Access access) { return Named(store_, name, access); };
    room_.budget = &budget_;
    room_.queries = {64 << 20, 1, "/tmp"};
    reader_ = testing::Must(QuerySession::Open(room_.queries, this));
  }

  void Make(const std::string& name, const std::string& columns, std::vector<std::string> key,
            std::map<std::string, std::string> options = {}) {
    NewTable table;
    table.fields = testing::Must(ParseColumns(columns));
    options.emplace("bucket", key.empty() ? "-1" : "2");
    table.primary_keys = std::move(key);
    table.options = std::move(options);
    testing::Must(Catalog(memory_, clock_, "/w").CreateTable({"db", name}, std::move(table)));
  }

  // One commit of what a query gives: the table's columns, then the row kind.
  void Write(const std::string& table, const std::string& query) {
    SessionOptions options;
    options.commit_user = "writer" + std::to_string(++writers_);
    options.budget = &budget_;
    const Table opened = testing::Must(Named(memory_, "db." + table, Access::kWrite));
    const std::vector<DataField>& fields = opened.schema->fields;
    const auto session = testing::Must(WriteSession::Open(opened, options));
    for (const auto& batch : Batches(query)) {
      const auto rows = testing::Must(FitColumns(*batch, 0, fields, [](const DataField&) { return false; }));
      Check(session->Write(rows, testing::Must(arrow::compute::Cast(
                                     *batch->column(static_cast<int>(fields.size())), arrow::int8()))));
    }
    Check(session->Commit(testing::Must(session->PrepareCommit(1, false))).status());
  }

  // Takes all files out in one OVERWRITE commit.
  void Overwrite(const std::string& name) {
    const Table table = testing::Must(Named(memory_, "db." + name, Access::kWrite));
    PreparedCommit commit;
    commit.user = "overwriter" + std::to_string(++writers_);
    commit.identifier = 1;
    std::map<std::pair<std::string, BucketId>, BucketChange> changes;
    const auto latest = Latest(name);
    if (!latest) return;
    for (ManifestEntry& entry : testing::Must(LiveFiles(table, *latest))) {
      BucketChange& change = changes[{entry.partition.bytes, entry.bucket}];
      change.partition = entry.partition;
      change.bucket = entry.bucket;
      change.total_buckets = entry.total_buckets;
      change.change.append.removed.push_back(std::move(entry.file));
    }
    for (auto& [place, change] : changes) commit.changes.push_back(std::move(change));
    Check(Commit(table, commit).status());
  }

  // The paths of the data files that a table of one bucket has now.
  std::vector<std::string> DataFiles(const std::string& name) {
    std::vector<std::string> paths;
    for (const ManifestEntry& entry :
         testing::Must(LiveFiles(testing::Must(Named(memory_, "db." + name, Access::kRead)), *Latest(name))))
      paths.push_back("/w/db.db/" + name + "/bucket-0/" + entry.file.name);
    return paths;
  }
  void Delete(const std::string& path) { Check(memory_->Delete(path)); }

  // One INSERT; it has the job "job".
  Status OpenStage(const std::string& target, const std::string& query, bool rebuild = false,
                   bool on_window_close = false) {
    stage_.reset();
    HEADRACE_ASSIGN_OR_RETURN(const auto binding, QueryBinding::Open(room_.queries));
    HEADRACE_ASSIGN_OR_RETURN(
        StagePlan plan, PlanStage(binding.get(), {"db." + target, {}, query, on_window_close}, "job", room_));
    HEADRACE_ASSIGN_OR_RETURN(stage_, Stage::Open(std::move(plan), &room_, rebuild));
    return Status::OK();
  }
  Stage* stage() { return stage_.get(); }
  // Steps until nothing is new.
  Status StepAll() {
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool stepped, stage_->Step());
      if (!stepped) return stage_->Close();
    }
  }

  // Sorted, values with '|' behind each. `next`: tables as a stage stands in them by that position; the others as they are.
  std::vector<std::string> Rows(const std::string& query, std::map<std::string, int64_t> next = {}) {
    next_ = std::move(next);
    std::vector<std::string> rows;
    for (const auto& batch : Batches(query)) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) rows.push_back(Text(*batch, row));
    }
    std::sort(rows.begin(), rows.end());
    next_.clear();
    return rows;
  }
  // The changes of snapshots from `from` on, in their order, the kind last.
  std::vector<std::string> Changes(const std::string& table, int64_t from = 1) {
    std::vector<std::string> rows;
    const Table opened = testing::Must(Named(memory_, "db." + table, Access::kRead));
    const auto latest = testing::Must(FindLatestSnapshotId(opened));
    if (!latest) return rows;
    changes_ = ChangesOf(opened, {from, latest->value, false});
    for (const auto& batch : Batches("FROM \"changes of\".it")) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) rows.push_back(Text(*batch, row));
    }
    return rows;
  }

  std::optional<ingest::Position> Position(const std::string& target) {
    const auto found = testing::Must(
        ingest::FindPosition(testing::Must(Named(memory_, "db." + target, Access::kRead)), "job"));
    return found ? std::optional(found->position) : std::nullopt;
  }
  std::map<std::string, int64_t> Next(const std::string& target) {
    std::map<std::string, int64_t> next;
    if (const auto position = Position(target)) {
      for (const auto& source : position->sources) next[source.table] = source.next_snapshot;
    }
    return next;
  }
  std::optional<Snapshot> Latest(const std::string& table) {
    return testing::Must(ReadLatestSnapshot(testing::Must(Named(memory_, "db." + table, Access::kRead))));
  }

  FaultStore& faults() { return *store_; }
  StageRoom& room() { return room_; }

  Result<std::shared_ptr<Relation>> Open(const RelationName& name) override {
    if (name.database == "changes of") return changes_;
    const std::string full = name.database + "." + name.table;
    HEADRACE_ASSIGN_OR_RETURN(Table table, Named(memory_, full, Access::kRead));
    std::optional<Snapshot> snapshot;
    const auto known = next_.find(full);
    if (known == next_.end()) {
      HEADRACE_ASSIGN_OR_RETURN(snapshot, ReadLatestSnapshot(table));
    } else if (known->second > 1) {
      HEADRACE_ASSIGN_OR_RETURN(snapshot, ReadSnapshot(table, SnapshotId(known->second - 1)));
    }
    const auto schema = ToArrowSchema(table.schema->fields);
    return MakeStateRelation(table, snapshot, schema,
                             known == next_.end() ? TableView::kScan : TableView::kStream);
  }

 private:
  static void Check(const Status& status) {
    if (!status.ok()) status.Abort();
  }

  Result<Table> Named(const std::shared_ptr<Store>& store, const std::string& name, Access access) {
    return OpenTableAt(store, clock_, "/w/db.db/" + name.substr(3), name, access);
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> Batches(const std::string& query) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    const QuerySession::Answer answer = testing::Must(reader_->Query(query));
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      Check(answer.rows->ReadNext(&batch));
      if (batch == nullptr) return batches;
      batches.push_back(std::move(batch));
    }
  }

  static std::string Text(const arrow::RecordBatch& batch, int64_t row) {
    std::string text;
    for (const auto& column : batch.columns())
      text += testing::Must(column->GetScalar(row))->ToString() + "|";
    return text;
  }

  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<FaultStore> store_;  // of the stage alone
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'700'000'000'000);
  MemoryBudget budget_{256 << 20};
  StageRoom room_;
  std::unique_ptr<QuerySession> reader_;
  std::unique_ptr<Stage> stage_;
  std::map<std::string, int64_t> next_;
  std::shared_ptr<Relation> changes_;
  int writers_ = 0;
};

}  // namespace headrace::pipeline
