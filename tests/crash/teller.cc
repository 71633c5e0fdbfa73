// One life of a writing process.
#include "tests/crash/teller.h"

#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "catalog/catalog.h"
#include "commit/commit.h"
#include "write/session.h"

namespace headrace::crash {
namespace {

constexpr int kRetries = 4;

struct Batch {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<arrow::Array> kinds;
};

Result<Batch> ToBatch(const Table& table, const std::vector<Change>& changes) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  arrow::Int32Builder amounts;
  arrow::Int8Builder kinds;
  for (const Change& change : changes) {
    HEADRACE_RETURN_NOT_OK(ids.Append(change.row.id));
    HEADRACE_RETURN_NOT_OK(names.Append(change.row.name));
    HEADRACE_RETURN_NOT_OK(amounts.Append(change.row.amount));
    HEADRACE_RETURN_NOT_OK(kinds.Append(static_cast<int8_t>(change.kind)));
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto id_array, ids.Finish());
  HEADRACE_ASSIGN_OR_RETURN(const auto name_array, names.Finish());
  HEADRACE_ASSIGN_OR_RETURN(const auto amount_array, amounts.Finish());
  HEADRACE_ASSIGN_OR_RETURN(const auto kind_array, kinds.Finish());
  return Batch{
      arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), static_cast<int64_t>(changes.size()),
                               {id_array, name_array, amount_array}),
      kind_array};
}

Result<Table> OpenOrCreate(const std::shared_ptr<Store>& store, const Story& story) {
  Catalog catalog(store, std::make_shared<ManualClock>(1'700'000'000'000), kWarehouse);
  const TableIdentifier name{"db", "t"};
  Result<Table> opened = catalog.OpenTable(name, Access::kWrite);
  if (opened.ok() || !IsKind(opened.status(), ErrorKind::kNotFound)) return opened;
  Result<Table> created = catalog.CreateTable(name, story.Table());
  if (created.ok() || !IsKind(created.status(), ErrorKind::kAlreadyExists)) return created;
  return catalog.OpenTable(name, Access::kWrite);
}

class Life {
 public:
  Life(const Story& story, OnFailure on_failure, std::string user, Progress* progress)
      : story_(story), on_failure_(on_failure), user_(std::move(user)), progress_(*progress) {}

  Status Run(const std::shared_ptr<Store>& store) {
    HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenOrCreate(store, story_));
    progress_.created = true;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> last, FindCommitted(table, user_, 1));
    if (last.has_value()) progress_.acknowledged = static_cast<int>(last->commit_identifier);
    progress_.attempted = progress_.acknowledged;

    HEADRACE_ASSIGN_OR_RETURN(
        const auto session,
        WriteSession::Open(
            table, {.commit_user = user_, .budget = &budget_, .compactors = nullptr, .pool = nullptr}));
    for (int step = progress_.acknowledged + 1; step <= story_.last_step(); ++step) {
      progress_.attempted = step;
      HEADRACE_RETURN_NOT_OK(Write(table, session.get(), story_.steps[static_cast<size_t>(step) - 1], step));
      progress_.acknowledged = step;
    }
    return Status::OK();
  }

 private:
  Status Write(const Table& table, WriteSession* session, const Step& step, int number) {
    HEADRACE_RETURN_NOT_OK(WriteChanges(table, session, step.changes));
    if (step.full_compaction) HEADRACE_RETURN_NOT_OK(session->Compact(true));
    HEADRACE_ASSIGN_OR_RETURN(const PreparedCommit prepared, session->PrepareCommit(number, true));
    Status committed = session->Commit(prepared).status();
    for (int retry = 0; !committed.ok() && on_failure_ == OnFailure::kRetry && retry < kRetries; ++retry) {
      committed = session->Commit(prepared).status();
    }
    return committed;
  }

  const Story& story_;
  const OnFailure on_failure_;
  const std::string user_;
  Progress& progress_;
  MemoryBudget budget_{int64_t{64} << 20};
};

}  // namespace

Status WriteChanges(const Table& table, WriteSession* session, const std::vector<Change>& changes) {
  HEADRACE_ASSIGN_OR_RETURN(const Batch batch, ToBatch(table, changes));
  return session->Write(batch.rows, batch.kinds);
}

Progress Tell(const std::shared_ptr<Store>& store, const Story& story, OnFailure on_failure,
              const std::string& user) {
  Progress progress;
  Life life(story, on_failure, user, &progress);
  progress.error = life.Run(store);
  return progress;
}

}  // namespace headrace::crash
