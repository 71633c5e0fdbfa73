// The statements that look at a table and compare what they find with what is expected.
#include <algorithm>
#include <utility>

#include <arrow/compare.h>
#include <arrow/record_batch.h>

#include "base/text.h"
#include "catalog/snapshots.h"
#include "read/changes.h"
#include "read/scan.h"
#include "read/table_lookup.h"
#include "tests/scenarios/laws.h"
#include "tests/scenarios/rows.h"
#include "tests/scenarios/stage.h"

namespace headrace::scenario {
namespace {

Status Mismatch(const std::string& what) { return Corruption(what); }

// "bucket-0: L0 L0 L5", a line a bucket.
Result<std::vector<std::string>> LinesOfLevels(const Table& table, const Snapshot& snapshot) {
  std::map<std::string, std::multiset<int32_t>> buckets;
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, snapshot));
  for (const ManifestEntry& entry : live) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string folder, table.BucketDirectory(entry.partition, entry.bucket));
    buckets[folder.substr(table.path.size() + 1)].insert(entry.file.level.value);
  }
  std::vector<std::string> lines;
  for (const auto& [folder, levels] : buckets) {
    std::string line = folder + ":";
    for (const int32_t level : levels) line += " L" + std::to_string(level);
    lines.push_back(line);
  }
  return lines;
}

Result<std::vector<std::string>> LinesOfSnapshots(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto ids, ListSnapshotIds(table));
  std::vector<std::string> lines;
  for (const SnapshotId id : ids) {
    HEADRACE_ASSIGN_OR_RETURN(const Snapshot one, ReadSnapshot(table, id));
    lines.push_back(std::to_string(id.value) + " " + std::string(NameOf(one.commit_kind)));
  }
  return lines;
}

// The row of a key, or none.
Result<std::vector<Row>> Get(const Table& table, const Snapshot& snapshot, const std::vector<Cell>& cells) {
  HEADRACE_ASSIGN_OR_RETURN(const auto key,
                            ValuesOf(table.schema->FieldsOf(table.schema->primary_keys), cells));
  HEADRACE_ASSIGN_OR_RETURN(const auto row, FindByKey(table, snapshot, key, {}));
  std::vector<Row> found;
  if (row != nullptr) HEADRACE_RETURN_NOT_OK(AppendRows(*row, table.schema->fields, &found));
  // A lookup that plans the whole snapshot gives the same.
  HEADRACE_ASSIGN_OR_RETURN(const auto lookup, TableLookup::Open(table, snapshot, {}, nullptr));
  HEADRACE_ASSIGN_OR_RETURN(const auto looked_up, lookup->Find(key));
  if ((looked_up == nullptr) != (row == nullptr) ||
      (row != nullptr &&
       !looked_up->Equals(*row, /*check_metadata=*/false, arrow::EqualOptions().nans_equal(true))))
    return Corruption("a lookup of the key gives ", looked_up == nullptr ? "no row" : looked_up->ToString(),
                      ", a get ", row == nullptr ? "no row" : row->ToString());
  return found;
}

Result<std::vector<Row>> Read(const Table& table, const Snapshot& snapshot, const Statement& statement,
                              const std::vector<DataField>& fields) {
  const ScanOptions options{.columns = statement.columns, .key_ordered = statement.ordered};
  HEADRACE_ASSIGN_OR_RETURN(const auto reader, statement.verb == Verb::kRead
                                                   ? OpenScan(table, snapshot, options)
                                                   : OpenStreamVisibleState(table, snapshot, options));
  return ReadAll(reader.get(), fields);
}

// Places of the key among the columns shown; empty when not all of it is shown.
std::vector<size_t> PlacesOfKey(const TableSchema& schema, const std::vector<std::string>& shown) {
  std::vector<size_t> places;
  for (const std::string& name : schema.primary_keys) {
    const auto it = std::find(shown.begin(), shown.end(), name);
    if (it == shown.end()) return {};
    places.push_back(static_cast<size_t>(it - shown.begin()));
  }
  return places;
}

}  // namespace

Status Stage::Observe(const Statement& statement) {
  HEADRACE_ASSIGN_OR_RETURN(Table table, OpenTable());
  if (statement.verb == Verb::kCheck) return CheckTable(table);
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, ReadLatestSnapshot(table));
  if (statement.verb == Verb::kChanges)
    return CompareChanges(statement, table, snapshot.has_value() ? snapshot->id.value : 0);
  if (statement.verb == Verb::kSnapshots) {
    HEADRACE_ASSIGN_OR_RETURN(const auto lines, LinesOfSnapshots(table));
    return CompareLines(statement, lines);
  }
  if (statement.at.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(snapshot, ReadSnapshot(table, SnapshotId(*statement.at)));
    HEADRACE_ASSIGN_OR_RETURN(table, TableAsOf(table, *snapshot));
  }
  if (statement.verb == Verb::kLevels) {
    std::vector<std::string> lines;
    if (snapshot.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(lines, LinesOfLevels(table, *snapshot));
    }
    return CompareLines(statement, lines);
  }
  if (statement.verb == Verb::kGet) {
    std::vector<Row> found;
    if (snapshot.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(found, Get(table, *snapshot, statement.key));
    }
    return Compare(statement, table.schema->fields, std::move(found), false);
  }
  for (const std::string& name : statement.columns)
    if (table.schema->FieldIndex(name) < 0) return NotFound("the table has no column '", name, "'");
  const std::vector<DataField> fields =
      statement.columns.empty() ? table.schema->fields : table.schema->FieldsOf(statement.columns);
  std::vector<Row> found;
  if (snapshot.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(found, Read(table, *snapshot, statement, fields));
  }
  return Compare(statement, fields, std::move(found), statement.ordered);
}

Status Stage::Compare(const Statement& statement, const std::vector<DataField>& fields,
                      std::vector<Row> found, bool ordered) const {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> expected, Normalised(fields, statement.rows));
  if (!ordered) {
    expected = Sorted(std::move(expected));
    found = Sorted(std::move(found));
  }
  const auto difference = Difference(expected, found, false);
  return difference.has_value() ? Mismatch(*difference) : Status::OK();
}

Status Stage::CompareChanges(const Statement& statement, const Table& table, int64_t latest) const {
  HEADRACE_ASSIGN_OR_RETURN(const auto all, ChangesOf(table, statement.from.value_or(1),
                                                      statement.to.value_or(latest), statement.columns));
  std::vector<Row> found;
  for (const ChangesOfSnapshot& one : all) found.insert(found.end(), one.rows.begin(), one.rows.end());
  const std::vector<std::string> names =
      statement.columns.empty() ? table.schema->ColumnNames() : statement.columns;
  const std::vector<DataField> fields = table.schema->FieldsOf(names);
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> expected, Normalised(fields, statement.rows));
  const std::vector<size_t> key = PlacesOfKey(*table.schema, names);
  if (statement.ordered) {
    // Exactly as delivered.
  } else if (key.empty()) {
    expected = Sorted(std::move(expected));
    found = Sorted(std::move(found));
  } else {
    expected = SortedByKey(std::move(expected), key);
    found = SortedByKey(std::move(found), key);
  }
  const auto difference = Difference(expected, found, true);
  return difference.has_value() ? Mismatch(*difference) : Status::OK();
}

Status Stage::CompareLines(const Statement& statement, const std::vector<std::string>& found) const {
  if (statement.columns == found) return Status::OK();
  return Mismatch("expected:\n  " + Joined(statement.columns, "\n  ") + "\nfound:\n  " +
                  Joined(found, "\n  "));
}

}  // namespace headrace::scenario
