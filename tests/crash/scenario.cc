// The scenarios.
#include "tests/crash/scenario.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/uuid.h"
#include "catalog/catalog.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/expiry.h"
#include "ingest/ingest.h"
#include "ingest/jobs.h"
#include "tests/crash/story.h"
#include "tests/crash/teller.h"
#include "write/postpone_compaction.h"
#include "write/session.h"

namespace headrace::crash {
namespace {

using StorePtr = std::shared_ptr<Store>;

constexpr uint64_t kSeed = 20261201;
constexpr int64_t kNowMs = 1'700'000'000'000;
const TableIdentifier kTable{"db", "t"};

Catalog CatalogOf(const StorePtr& store) {
  return Catalog(store, std::make_shared<ManualClock>(kNowMs), kWarehouse);
}

// Commits of rows alone: what they wrote waits for a compaction.
Story FilledStory(int steps, bool has_key = true) {
  std::map<std::string, std::string> options = {
      {"bucket", has_key ? "2" : "-1"}, {"manifest.merge-min-count", "3"}, {"write-only", "true"}};
  if (has_key)
    options.insert({{"changelog-producer", "input"}, {"num-sorted-run.compaction-trigger", "2"}});
  else
    options.insert({"compaction.min.file-num", "2"});
  return MakeStory("filled", kSeed, steps, has_key, options);
}

Status Fill(const StorePtr& store, int steps, bool has_key = true) {
  return Tell(store, FilledStory(steps, has_key), OnFailure::kEnd).error;
}

// Rows that wait for their buckets.
Story PostponedStory(int steps) {
  return MakeStory("postponed", kSeed + 1, steps, true,
                   {{"bucket", "-2"}, {"postpone.default-bucket-num", "2"}, {"changelog-producer", "input"}});
}

// Keys that move between partitions.
Story MovingStory(int steps) {
  return MakeStory("moving", kSeed + 2, steps, true,
                   {{"bucket", "-1"}, {"num-sorted-run.compaction-trigger", "2"}}, "name", /*moves=*/true);
}

// ---- one function a scenario -----------------------------------------------------------------------------------------------

Status Create(const StorePtr& store) {
  const Status made = CatalogOf(store).CreateTable(kTable, FilledStory(1).Table()).status();
  return IsKind(made, ErrorKind::kAlreadyExists) ? Status::OK() : made;
}

Status Drop(const StorePtr& store) {
  const Status dropped = CatalogOf(store).DropTable(kTable);
  return IsKind(dropped, ErrorKind::kNotFound) ? Status::OK() : dropped;
}

Status Rename(const StorePtr& store) {
  const Catalog catalog = CatalogOf(store);
  if (catalog.OpenTable({"db", "renamed"}, Access::kRead).ok()) return Status::OK();
  return CatalogOf(store).RenameTable(kTable, {"db", "renamed"});
}

Status Alter(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  return AlterSchema(table, {SetOption{"snapshot.num-retained.min", "3"}, SetOption{"my.key", "x"}}).status();
}

// Rows that wait get their buckets first.
Status CompactTable(const StorePtr& store, bool full) {
  HEADRACE_ASSIGN_OR_RETURN(Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  table.options.write_only = false;
  MemoryBudget budget(int64_t{64} << 20);
  const SessionOptions options = {
      .commit_user = "compactor-" + NewUuid(), .budget = &budget, .compactors = nullptr, .pool = nullptr};
  if (table.options.bucket == -2) {
    HEADRACE_RETURN_NOT_OK(MovePostponedRows(table, options).status());
    HEADRACE_ASSIGN_OR_RETURN(const auto counts, BucketCounts(table));
    table.options.bucket = counts.begin()->second;
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(table, options));
  HEADRACE_RETURN_NOT_OK(session->Compact(full));
  HEADRACE_ASSIGN_OR_RETURN(const PreparedCommit prepared, session->PrepareCommit(1, true));
  return session->Commit(prepared).status();
}

// All that is there is replaced by the rows of a step.
Status Overwrite(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  HEADRACE_ASSIGN_OR_RETURN(const auto done, FindCommitted(table, "overwriter", 1));
  if (done.has_value()) return Status::OK();
  MemoryBudget budget(int64_t{64} << 20);
  HEADRACE_ASSIGN_OR_RETURN(
      const auto session,
      WriteSession::Open(
          table, {.commit_user = "overwriter", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
  HEADRACE_RETURN_NOT_OK(WriteChanges(table, session.get(),
                                      {{Kind::kInsert, {1, "after", 1}},
                                       {Kind::kInsert, {70, "after", 2}},
                                       {Kind::kInsert, {71, "after", 3}}}));
  HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared, session->PrepareCommit(1, true));
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, *latest));
  for (const ManifestEntry& entry : live) {
    BucketChange change{entry.partition, entry.bucket, entry.total_buckets, {}};
    change.change.append.removed.push_back(entry.file);
    prepared.changes.push_back(std::move(change));
  }
  return Commit(table, prepared).status();
}

Status MovePosition(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  PreparedCommit moved;
  moved.user = "mover";
  moved.identifier = 1;
  moved.properties = {{"headrace.note", "moved"}};
  moved.commit_when_empty = true;
  return Commit(table, moved).status();
}

// Lines in a file of the machine: the source of an ingest is not behind the store.
const std::string& InputFile() {
  static const std::string path = [] {
    const std::string made =
        (std::filesystem::temp_directory_path() / ("headrace-scenario-" + NewUuid() + ".jsonl")).string();
    std::ofstream lines(made);
    for (int i = 0; i < 12; ++i)
      lines << R"({"id": )" << i % 5 << R"(, "name": "n)" << i << R"(", "amount": )" << i << "}\n";
    return made;
  }();
  return path;
}

Status RunJob(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  MemoryBudget budget(int64_t{64} << 20);
  ingest::IngestOptions options;
  options.inputs = {InputFile()};
  options.format = EventFormat::kJson;
  options.commit_every.rows = 5;
  options.job = "job";
  options.budget = &budget;
  IngestReport report;
  return ingest::RunIngest(table, std::move(options), &report);
}

Status DropTheJob(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  const Status dropped = ingest::DropJob(table, "job");
  return IsKind(dropped, ErrorKind::kNotFound) ? Status::OK() : dropped;
}

// Keeps the newest two of five snapshots: the third step brings two, its rows and its compaction.
Status ExpireOld(const StorePtr& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, CatalogOf(store).OpenTable(kTable, Access::kWrite));
  ExpirySettings settings;
  settings.retention = table.options.retention;
  settings.retention.snapshot_min = 2;
  settings.retention.snapshot_max = 2;
  settings.retention.snapshot_ms = 0;
  return Expire(table, settings).status();
}

}  // namespace

std::vector<Scenario> AllScenarios() {
  const auto tells = [](Story story) {
    return [story = std::move(story)](const StorePtr& store) {
      return Tell(store, story, OnFailure::kEnd).error;
    };
  };
  const auto nothing = [](const StorePtr&) { return Status::OK(); };
  const auto filled = [](const StorePtr& store) { return Fill(store, 4); };
  const auto filled_append = [](const StorePtr& store) { return Fill(store, 4, false); };
  const auto ingested = [](const StorePtr& store) -> Status {
    HEADRACE_RETURN_NOT_OK(Create(store));
    return RunJob(store);
  };
  return {
      {"Create", nothing, Create},
      {"Drop", filled, Drop},
      {"Rename", filled, Rename},
      {"AlterSchema", filled, Alter},
      {"Compaction", [](const StorePtr& store) { return Fill(store, 5); },
       [](const StorePtr& store) { return CompactTable(store, false); }},
      {"CompactionOfAnAppendTable", filled_append,
       [](const StorePtr& store) { return CompactTable(store, true); }},
      {"FullCompaction", filled, [](const StorePtr& store) { return CompactTable(store, true); }},
      {"Overwrite", filled, Overwrite},
      {"EmptyCommit", filled, MovePosition},
      {"PostponedRows", tells(PostponedStory(1)), tells(PostponedStory(4)), true},
      {"PostponedCompaction",
       [tells](const StorePtr& store) -> Status {
         HEADRACE_RETURN_NOT_OK(tells(PostponedStory(2))(store));
         HEADRACE_RETURN_NOT_OK(CompactTable(store, false));
         return tells(PostponedStory(4))(store);
       },
       [](const StorePtr& store) { return CompactTable(store, true); }, true},
      {"KeysThatMove", tells(MovingStory(1)), tells(MovingStory(4)), true},
      {"Ingest", Create, RunJob, true},
      {"DropJob", ingested, DropTheJob},
      {.name = "Expire", .prepare = filled, .act = ExpireOld, .first_that_stays = 4},
  };
}

}  // namespace headrace::crash
