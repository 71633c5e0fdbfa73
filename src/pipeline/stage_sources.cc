// Ranges of changes, states and sums of the sources of one step.
#include "pipeline/stage_sources.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "ingest/position.h"
#include "pipeline/stage_queries.h"
#include "pipeline/touched_keys.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

Status NeedsRebuild(const StageWork& work, const Status& expired) {
  return WithContext("the position of the job " + work.plan.job + " has expired; --rebuild computes " +
                         work.plan.target + " anew",
                     expired);
}

bool ReadsTable(const StageWork& work, const QueryBranch& branch, size_t table) {
  return std::any_of(branch.sources.begin(), branch.sources.end(),
                     [&](const ShapeSource& source) { return work.plan.TableOf(source) == table; });
}

bool StandsOnce(const StageWork& work, const QueryBranch& branch, size_t table) {
  return std::count_if(branch.sources.begin(), branch.sources.end(),
                       [&](const ShapeSource& source) { return work.plan.TableOf(source) == table; }) == 1;
}

// Whether a branch would take the changes as they are.
bool TakesRaw(const StageWork& work, size_t table) {
  return std::any_of(work.plan.branches.begin(), work.plan.branches.end(), [&](const QueryBranch& branch) {
    return branch.row_wise && ReadsTable(work, branch, table);
  });
}

}  // namespace

Status OpenSources(StageWork* work) {
  for (const std::string& name : work->plan.tables) {
    StageSource source;
    HEADRACE_ASSIGN_OR_RETURN(source.table, work->room->open(name, Access::kRead));
    const auto first = ReadSchema(source.table.store.get(), source.table.path, SchemaId(0));
    if (first.ok()) source.made_ms = first->time_millis;
    source.drives = !work->plan.LooksUp(name);
    work->sources.push_back(std::move(source));
  }
  return Status::OK();
}

Status CheckSameColumns(const StageWork& work, const Table& source, SchemaId was) {
  if (source.schema->id == was) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const TableSchema before, ReadSchema(source.store.get(), source.path, was));
  for (const DataField& field : before.fields) {
    const int place = source.schema->FieldIndex(field.name);
    if (place < 0) continue;
    const DataField& now = source.schema->fields[static_cast<size_t>(place)];
    const bool reads_as_text = now.type.root == TypeRoot::kVarChar && field.type.root != now.type.root;
    if (now.id == field.id && !reads_as_text) continue;
    return Invalid("column ", field.name, " of ", source.name,
                   now.id == field.id ? " has become a text" : " is another column", " since the job ",
                   work.plan.job, " ran last; --rebuild computes ", work.plan.target, " anew");
  }
  return Status::OK();
}

Status HoldSources(StageWork* work) {
  for (const StageSource& source : work->sources)
    HEADRACE_RETURN_NOT_OK(ingest::KeepSnapshot(source.table, work->plan.job,
                                                SnapshotId(std::max<int64_t>(1, source.next - 1))));
  return Status::OK();
}

Status ReleaseSources(const StageWork& work) {
  for (const StageSource& source : work.sources)
    HEADRACE_RETURN_NOT_OK(ingest::ReleaseSnapshot(source.table, work.plan.job));
  return Status::OK();
}

Status ReleaseTables(const StageWork& work, const std::vector<std::string>& tables) {
  for (const std::string& name : tables) {
    const auto table = work.room->open(name, Access::kRead);
    if (IsKind(table.status(), ErrorKind::kNotFound)) continue;
    HEADRACE_RETURN_NOT_OK(table.status());
    HEADRACE_RETURN_NOT_OK(ingest::ReleaseSnapshot(*table, work.plan.job));
  }
  return Status::OK();
}

Result<bool> FindRanges(StageWork* work) {
  bool any = false;
  for (StageSource& source : work->sources) {
    source.range = {source.next, source.next - 1, false};
    if (!source.drives) continue;
    auto range = FindRange(source.table, source.next, work->room->most_rows_a_step);
    if (IsKind(range.status(), ErrorKind::kSnapshotExpired)) return NeedsRebuild(*work, range.status());
    HEADRACE_RETURN_NOT_OK(range.status());
    source.range = *range;
    any |= !range->empty();
  }
  for (StageSource& source : work->sources) {
    if (source.drives || !any) continue;
    // After the changes that it is looked up for were found: what was committed before them is seen.
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(source.table));
    // Also where the table was rolled back: it is read as it stands.
    source.range.to = latest ? latest->value : 0;
    source.range.from = std::min(source.range.from, source.range.to + 1);
  }
  return any;
}

bool Overwritten(const StageWork& work) {
  return std::any_of(work.sources.begin(), work.sources.end(),
                     [](const StageSource& source) { return source.range.overwritten; });
}

std::string RangesText(const StageWork& work) {
  std::string text;
  for (const StageSource& source : work.sources) {
    if (source.range.empty()) continue;
    text += (text.empty() ? " with " : ", ") + source.table.name + " snapshots " +
            std::to_string(source.range.from) + " to " + std::to_string(source.range.to);
  }
  return text;
}

Status ReadState(StageWork* work, size_t i) {
  StageSource& source = work->sources[i];
  source.now.reset();
  if (source.range.to >= 1) {
    auto now = ReadSnapshot(source.table, SnapshotId(source.range.to));
    if (IsKind(now.status(), ErrorKind::kSnapshotExpired)) return NeedsRebuild(*work, now.status());
    HEADRACE_ASSIGN_OR_RETURN(source.now, std::move(now));
  }
  work->PutState(i, Named("state", i), source.now);
  return Status::OK();
}

Result<std::optional<Snapshot>> ReadStateBefore(const StageWork& work, const StageSource& source) {
  auto before = StateBefore(source.table, source.range.from);
  if (IsKind(before.status(), ErrorKind::kSnapshotExpired)) return NeedsRebuild(work, before.status());
  return before;
}

Status SumChanges(StageWork* work, size_t i) {
  StageSource& source = work->sources[i];
  if (source.range.empty() && source.delta_is_empty) return Status::OK();
  source.delta_is_empty = false;
  const std::vector<DataField>& fields = source.table.schema->fields;
  const std::string delta = Named("$delta", i), changes = Named("changes", i);
  work->relations.Put(changes, ChangesOf(source.table, source.range));
  source.raw_is_whole = true;
  if (!NeedsLookups(source.table) || source.range.empty()) {
    HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary(delta, SumOfChangesQuery(fields, FromRelation(changes)))));
    source.delta_is_empty = source.range.empty();
    return Status::OK();
  }
  HEADRACE_ASSIGN_OR_RETURN(
      const TouchedKeys keys,
      TouchedKeys::Of(work, "SELECT DISTINCT " +
                                ColumnList(source.table.schema->FieldsOf(source.table.schema->primary_keys)) +
                                FromRelation(changes)));
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> before, ReadStateBefore(*work, source));
  // A key's rows are all in one page, so that pages differ by themselves.
  const std::string difference =
      DifferenceQuery(fields, "SELECT *" + FromRelation("is"), "SELECT *" + FromRelation("was"));
  for (int64_t page = 0; page < keys.pages(); ++page) {
    HEADRACE_RETURN_NOT_OK(keys.PutRows(page, "was", source.table, before));
    HEADRACE_RETURN_NOT_OK(keys.PutRows(page, "is", source.table, source.now));
    HEADRACE_RETURN_NOT_OK(work->Run(AddToTemporary(delta, difference, /*anew=*/page == 0)));
  }
  source.raw_is_whole = false;
  if (!TakesRaw(*work, i)) return Status::OK();
  // The changelog tells the same sum, or less.
  const std::string columns = ColumnList(fields) + ", " + QuotedName(kWeightColumn);
  HEADRACE_ASSIGN_OR_RETURN(
      const auto other,
      work->Batches("(" + SumOfChangesQuery(fields, FromRelation(changes)) + " EXCEPT SELECT " + columns +
                    " FROM " + TemporaryTable(delta) + ") UNION ALL (SELECT " + columns + " FROM " +
                    TemporaryTable(delta) + " EXCEPT " + SumOfChangesQuery(fields, FromRelation(changes)) +
                    ") LIMIT 1"));
  source.raw_is_whole = other.empty();
  return Status::OK();
}

bool GivesAlone(const StageWork& work, const QueryBranch& branch, size_t i) {
  const size_t table = work.TableOf(branch, i);
  return branch.linear[i] && !work.sources[table].range.empty() && StandsOnce(work, branch, table) &&
         (!branch.keys[i].empty() || !OthersChanged(work, branch, i));
}

bool OthersChanged(const StageWork& work, const QueryBranch& branch, size_t i) {
  for (size_t other = 0; other < branch.sources.size(); ++other) {
    if (other != i && !work.sources[work.TableOf(branch, other)].range.empty()) return true;
  }
  return false;
}

}  // namespace headrace::pipeline
