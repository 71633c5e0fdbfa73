#include "tests/scenarios/laws.h"

#include <algorithm>
#include <set>
#include <utility>

#include <arrow/record_batch.h>

#include "base/text.h"
#include "catalog/snapshots.h"
#include "lsm/levels.h"
#include "lsm/merge.h"
#include "maintain/check.h"
#include "read/changes.h"
#include "read/split_rows.h"
#include "tests/scenarios/rows.h"

namespace headrace::scenario {
namespace {

constexpr size_t kMostKeysAsked = 40;

template <typename... Args>
Status Broken(const Snapshot& snapshot, Args&&... args) {
  return Corruption("snapshot ", snapshot.id, " (", NameOf(snapshot.commit_kind),
                    "): ", std::forward<Args>(args)...);
}

Status CompareTo(const std::vector<Row>& rows, const Result<std::vector<Row>>& other,
                 const Snapshot& snapshot, const std::string& how) {
  if (!other.ok())
    return WithContext("snapshot " + std::to_string(snapshot.id.value) + ", " + how, other.status());
  const auto difference = Difference(rows, Sorted(*other), false);
  return difference.has_value() ? Broken(snapshot, how, ": ", *difference) : Status::OK();
}

std::vector<size_t> PlacesOf(const TableSchema& schema, const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& name : names) places.push_back(static_cast<size_t>(schema.FieldIndex(name)));
  return places;
}

std::vector<Row> Project(const std::vector<Row>& rows, const std::vector<size_t>& places) {
  std::vector<Row> projected;
  for (const Row& row : rows) {
    Row& made = projected.emplace_back();
    for (const size_t place : places) made.cells.push_back(row.cells[place]);
  }
  return Sorted(std::move(projected));
}

// ---- references

Status CheckFile(const Table& table, const Snapshot& snapshot, const std::string& path,
                 std::optional<int64_t> bytes) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, table.store->Stat(path));
  if (!info.has_value()) return Broken(snapshot, "names ", path, ", which is not there");
  if (bytes.has_value() && info->size_bytes != *bytes)
    return Broken(snapshot, "says ", path, " has ", *bytes, " bytes, it has ", info->size_bytes);
  return Status::OK();
}

Status CheckList(const Table& table, const Snapshot& snapshot, const std::string& name,
                 std::optional<int64_t> bytes) {
  HEADRACE_RETURN_NOT_OK(CheckFile(table, snapshot, ManifestPath(table, name), bytes));
  HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(table, name));
  for (const ManifestFileMeta& manifest : manifests)
    HEADRACE_RETURN_NOT_OK(
        CheckFile(table, snapshot, ManifestPath(table, manifest.name), manifest.size_bytes));
  return Status::OK();
}

Result<int64_t> CheckDataFiles(const Table& table, const Snapshot& snapshot,
                               const std::vector<ManifestEntry>& entries) {
  int64_t rows = 0;
  for (const ManifestEntry& entry : entries) {
    if (entry.kind != EntryKind::kAdd) continue;
    HEADRACE_ASSIGN_OR_RETURN(const std::string path, table.PathOf(entry));
    HEADRACE_RETURN_NOT_OK(CheckFile(table, snapshot, path, entry.file.size_bytes));
    rows += entry.file.row_count;
  }
  return rows;
}

// ---- splits

[[maybe_unused]] const DataFileMeta& MetaOf(const DataFileMeta& file) { return file; }
[[maybe_unused]] const DataFileMeta& MetaOf(const TreeFilePtr& file) { return file->meta; }

using Place = std::pair<std::string, int32_t>;

Status CheckLevels(const Table& table, const Snapshot& snapshot, const std::vector<ManifestEntry>& live) {
  const TableSchema& schema = *table.schema;
  if (!schema.has_primary_key()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order,
                            KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  std::map<Place, std::vector<DataFileMeta>> buckets;
  for (const ManifestEntry& entry : live)
    if (entry.bucket.value >= 0)  // rows that wait lie as they came
      buckets[{entry.partition.bytes, entry.bucket.value}].push_back(entry.file);
  for (const auto& [place, files] : buckets) {
    const Status levels = Levels::Make(order, files, table.options.num_levels).status();
    if (!levels.ok()) return Broken(snapshot, levels.message());
  }
  return Status::OK();
}

// The rows of each bucket read whole, by one plan of the merge.
Result<std::vector<Row>> ReadByPlan(const Table& table, const std::vector<Split>& splits, MergePlan plan,
                                    bool key_ordered) {
  std::vector<Row> rows;
  const TableSchema& schema = *table.schema;
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order,
                            KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  for (const Split& split : splits) {
    HEADRACE_ASSIGN_OR_RETURN(BucketFiles files, FilesOf(table, split.partition, split.bucket, nullptr));
    HEADRACE_ASSIGN_OR_RETURN(files.deletions,
                              ReadDeletions(table, {split.partition, split.bucket}, split.deletions));
    std::vector<TreeFilePtr> tree;
    for (const auto& planned : split.files) {
      HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order, MetaOf(planned)));
      tree.push_back(std::move(file));
    }
    MergeRequest request;
    request.sections = PartitionIntoSections(tree);
    request.values = schema.ColumnNames();
    request.key_ordered = key_ordered;
    request.policy = MergePolicyOf(table.options, /*drop_deletes=*/true);
    request.batch_rows = 7;
    HEADRACE_ASSIGN_OR_RETURN(const auto stream, OpenMerge(files, std::move(request), plan));
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, stream->Next());
      if (batch == nullptr) break;
      HEADRACE_RETURN_NOT_OK(AppendRows(*batch, schema.fields, &rows));
    }
  }
  return rows;
}

Status CheckKeysAreOneEach(const Table& table, const Snapshot& snapshot, const std::vector<Row>& rows) {
  const std::vector<size_t> key = PlacesOf(*table.schema, table.schema->primary_keys);
  std::set<std::vector<Cell>> seen;
  for (const Row& row : rows) {
    std::vector<Cell> cells;
    for (const size_t place : key) cells.push_back(row.cells[place]);
    if (!seen.insert(cells).second) return Broken(snapshot, "key ", Print(cells), " is read twice");
  }
  return Status::OK();
}

// Rows of a split asked for in order ascend by key.
Status CheckOrder(const Table& table, const Snapshot& snapshot, const std::vector<Split>& splits) {
  const TableSchema& schema = *table.schema;
  const std::vector<DataField> fields = schema.FieldsOf(schema.TrimmedPrimaryKeys());
  for (const Split& split : splits) {
    ScanOptions options{.columns = schema.TrimmedPrimaryKeys(), .key_ordered = true, .batch_rows = 5};
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenSplit(table, split, options));
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Row> keys, ReadAll(reader.get(), fields));
    std::vector<Value> last;
    for (const Row& row : keys) {
      HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> values, ValuesOf(fields, row.cells));
      int compared = last.empty() ? -1 : 0;
      for (size_t i = 0; i < last.size() && compared == 0; ++i) compared = CompareValues(last[i], values[i]);
      if (compared >= 0) return Broken(snapshot, "in key order, ", Print(row.cells), " comes too late");
      last = std::move(values);
    }
  }
  return Status::OK();
}

Status CheckGets(const Table& table, const Snapshot& snapshot, const std::vector<Row>& rows) {
  const TableSchema& schema = *table.schema;
  const std::vector<size_t> places = PlacesOf(schema, schema.primary_keys);
  const std::vector<DataField> key_fields = schema.FieldsOf(schema.primary_keys);
  const size_t stride = rows.size() / kMostKeysAsked + 1;
  for (size_t i = 0; i < rows.size(); i += stride) {
    std::vector<Cell> key;
    for (const size_t place : places) key.push_back(rows[i].cells[place]);
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, ValuesOf(key_fields, key));
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindByKey(table, snapshot, values, {}));
    if (found == nullptr) return Broken(snapshot, "getting key ", Print(key), " finds nothing; a scan does");
    std::vector<Row> got;
    HEADRACE_RETURN_NOT_OK(AppendRows(*found, schema.fields, &got));
    if (const auto difference = Difference({rows[i]}, got, false); difference.has_value())
      return Broken(snapshot, "getting key ", Print(key), ": ", *difference);
  }
  return Status::OK();
}

Status CheckColumns(const Table& table, const Snapshot& snapshot, const std::vector<Row>& rows) {
  const std::vector<std::string> names = table.schema->ColumnNames();
  std::vector<std::vector<std::string>> wanted = {{names.rbegin(), names.rend()}};
  for (const std::string& name : names) wanted.push_back({name});
  for (const std::vector<std::string>& columns : wanted) {
    ScanOptions options;
    options.columns = columns;
    HEADRACE_RETURN_NOT_OK(CompareTo(Project(rows, PlacesOf(*table.schema, columns)),
                                     Scan(table, snapshot, options), snapshot,
                                     "reading columns " + Joined(columns)));
  }
  return Status::OK();
}

Status CheckPlans(const Table& table, const Snapshot& snapshot, const std::vector<Split>& splits,
                  const std::vector<Row>& rows) {
  HEADRACE_RETURN_NOT_OK(CheckKeysAreOneEach(table, snapshot, rows));
  HEADRACE_RETURN_NOT_OK(CompareTo(rows, ReadByPlan(table, splits, MergePlan::kWholeRows, false), snapshot,
                                   "reading whole rows"));
  if (MergePolicyOf(table.options, true).newest_wins()) {
    HEADRACE_RETURN_NOT_OK(CompareTo(rows, ReadByPlan(table, splits, MergePlan::kWinnersFirst, false),
                                     snapshot, "reading winners first"));
  }
  HEADRACE_RETURN_NOT_OK(CheckOrder(table, snapshot, splits));
  return CheckGets(table, snapshot, rows);
}

}  // namespace

Result<std::vector<Row>> Scan(const Table& table, const Snapshot& snapshot, const ScanOptions& options) {
  const auto names = options.columns.empty() ? table.schema->ColumnNames() : options.columns;
  HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenScan(table, snapshot, options));
  return ReadAll(reader.get(), table.schema->FieldsOf(names));
}

Result<std::vector<Row>> RowsOf(const Table& table, const Snapshot& snapshot) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> rows, Scan(table, snapshot, {}));
  return Sorted(std::move(rows));
}

Result<std::vector<ChangesOfSnapshot>> ChangesOf(const Table& table, int64_t from, int64_t to,
                                                 const std::vector<std::string>& columns) {
  const auto names = columns.empty() ? table.schema->ColumnNames() : columns;
  ChangeStreamOptions options;
  options.from = SnapshotId(from);
  options.columns = columns;
  options.batch_rows = 11;
  HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, options));
  std::vector<ChangesOfSnapshot> all;
  while (stream->next_snapshot().value <= to) {
    HEADRACE_ASSIGN_OR_RETURN(const auto next, stream->Next());
    if (!next.has_value()) break;
    ChangesOfSnapshot& changes = all.emplace_back();
    changes.id = next->snapshot.id.value;
    changes.skipped_overwrite = next->skipped_overwrite;
    if (next->rows == nullptr) continue;
    HEADRACE_ASSIGN_OR_RETURN(changes.rows, ReadAll(next->rows.get(), table.schema->FieldsOf(names)));
  }
  return all;
}

Status CheckReferences(const Table& table, const Snapshot& snapshot) {
  HEADRACE_RETURN_NOT_OK(
      CheckList(table, snapshot, snapshot.base_manifest_list, snapshot.base_manifest_list_bytes));
  HEADRACE_RETURN_NOT_OK(
      CheckList(table, snapshot, snapshot.delta_manifest_list, snapshot.delta_manifest_list_bytes));
  if (snapshot.changelog_manifest_list.has_value()) {
    HEADRACE_RETURN_NOT_OK(CheckList(table, snapshot, *snapshot.changelog_manifest_list,
                                     snapshot.changelog_manifest_list_bytes));
    HEADRACE_ASSIGN_OR_RETURN(const auto changelog, ChangelogEntries(table, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const int64_t rows, CheckDataFiles(table, snapshot, changelog));
    if (rows != snapshot.changelog_record_count.value_or(rows))
      return Broken(snapshot, "counts ", *snapshot.changelog_record_count, " changelog rows, its files ",
                    rows);
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, snapshot));
  HEADRACE_ASSIGN_OR_RETURN(const int64_t rows, CheckDataFiles(table, snapshot, live));
  if (rows != snapshot.total_record_count.value_or(rows))
    return Broken(snapshot, "counts ", *snapshot.total_record_count, " rows, its live files ", rows);
  return Status::OK();
}

Status CheckSplits(const Table& table, const Snapshot& snapshot) {
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, snapshot));
  HEADRACE_RETURN_NOT_OK(CheckLevels(table, snapshot, live));
  HEADRACE_ASSIGN_OR_RETURN(const auto splits, PlanSplits(table, live, {}, ScanView::kEveryLevel));
  std::multiset<std::string> planned, listed;
  for (const ManifestEntry& entry : live)
    if (entry.bucket.value >= 0) listed.insert(entry.file.name);  // rows that wait are not read
  for (const Split& split : splits)
    for (const auto& file : split.files) planned.insert(MetaOf(file).name);
  if (planned != listed)
    return Broken(snapshot, "has ", listed.size(), " live files, its splits hold ", planned.size(),
                  ", not each of them once");
  return Status::OK();
}

Status CheckReaders(const Table& table, const Snapshot& snapshot, const std::vector<Row>& rows) {
  HEADRACE_RETURN_NOT_OK(
      CompareTo(rows, Scan(table, snapshot, {.batch_rows = 3}), snapshot, "reading three rows at a time"));
  HEADRACE_RETURN_NOT_OK(
      CompareTo(rows, Scan(table, snapshot, {.key_ordered = true}), snapshot, "reading in key order"));
  HEADRACE_RETURN_NOT_OK(CheckColumns(table, snapshot, rows));
  HEADRACE_ASSIGN_OR_RETURN(const auto splits, PlanScan(table, snapshot));
  std::vector<Row> parts;
  for (const Split& split : splits) {
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenSplit(table, split, {}));
    HEADRACE_ASSIGN_OR_RETURN(const auto some, ReadAll(reader.get(), table.schema->fields));
    parts.insert(parts.end(), some.begin(), some.end());
  }
  HEADRACE_RETURN_NOT_OK(CompareTo(rows, parts, snapshot, "reading split by split"));
  if (table.schema->has_primary_key()) HEADRACE_RETURN_NOT_OK(CheckPlans(table, snapshot, splits, rows));
  // A stream has seen what a batch read leaves out until a compaction.
  if ((table.options.changelog_producer != ChangelogProducer::kNone &&
       table.options.changelog_producer != ChangelogProducer::kInput) ||
      table.options.scans_skip_level_zero())
    return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto visible, OpenStreamVisibleState(table, snapshot, {}));
  return CompareTo(rows, ReadAll(visible.get(), table.schema->fields), snapshot, "the stream-visible state");
}

Status CheckFollowing(const Table& table, int64_t from, int64_t to) {
  HEADRACE_ASSIGN_OR_RETURN(const auto whole, ChangesOf(table, from, to));
  if (static_cast<int64_t>(whole.size()) != std::max<int64_t>(0, to - from + 1))
    return Corruption("following from ", from, " to ", to, " met ", whole.size(), " snapshots");
  for (const ChangesOfSnapshot& one : whole) {
    HEADRACE_ASSIGN_OR_RETURN(const auto alone, ChangesOf(table, one.id, one.id));
    if (alone.size() != 1 || alone[0].rows != one.rows)
      return Corruption("the changes of snapshot ", one.id, " alone are not those met while following from ",
                        from);
  }
  return Status::OK();
}

Status CheckDamage(const Table& table, bool all) {
  const CheckTarget target{.store = table.store,
                           .clock = table.clock,
                           .path = table.path,
                           .name = table.name,
                           .memory_bytes = 64LL << 20};
  CheckOptions options;
  options.data = true;
  options.changelog = true;
  options.all = all;
  HEADRACE_ASSIGN_OR_RETURN(const CheckReport report, RunCheck(target, options));
  if (report.clean()) return Status::OK();
  std::string told = "a check finds damage:";
  for (const Finding& finding : report.findings)
    if (finding.severity == Severity::kDamage)
      told += "\n  " + finding.kind + " " + finding.file + ": " + finding.found + ", expected " +
              finding.expected;
  return Corruption(told);
}

Status CheckTable(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto ids, ListSnapshotIds(table));
  std::vector<Row> before;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && ids[i].value != ids[i - 1].value + 1)
      return Corruption("snapshot ", ids[i], " follows ", ids[i - 1], ": one is missing");
    HEADRACE_ASSIGN_OR_RETURN(const Snapshot snapshot, ReadSnapshot(table, ids[i]));
    HEADRACE_ASSIGN_OR_RETURN(const Table then, TableAsOf(table, snapshot));
    HEADRACE_RETURN_NOT_OK(CheckReferences(then, snapshot));
    HEADRACE_RETURN_NOT_OK(CheckSplits(then, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> rows, RowsOf(then, snapshot));
    // Where a batch read leaves level 0 out, or rows wait for a bucket, a compaction is what shows the rows.
    const bool shows = then.options.scans_skip_level_zero() || then.options.bucket == -2;
    if (i > 0 && snapshot.commit_kind == CommitKind::kCompact && !shows)
      HEADRACE_RETURN_NOT_OK(CompareTo(before, rows, snapshot, "the compaction changed what is read"));
    HEADRACE_RETURN_NOT_OK(CheckReaders(then, snapshot, rows));
    before = std::move(rows);
  }
  if (ids.empty()) return Status::OK();
  HEADRACE_RETURN_NOT_OK(CheckFollowing(table, ids.front().value, ids.back().value));
  return CheckDamage(table, true);
}

}  // namespace headrace::scenario
