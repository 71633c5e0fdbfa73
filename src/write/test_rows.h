// Rows for tests of writing, and what a table holds, read back without the rooms that are tested elsewhere.
//
// Included by tests alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/data_file_reader.h"
#include "file/physical_columns.h"
#include "write/session.h"

namespace headrace::testing {

// A table of two INT columns "id, v".
struct Row {
  int32_t id = 0;
  std::optional<int32_t> v;
  int8_t kind = 0;
};

inline std::shared_ptr<arrow::RecordBatch> BatchOf(const Table& table, const std::vector<Row>& rows) {
  arrow::Int32Builder ids, values;
  for (const Row& row : rows) {
    if (!ids.Append(row.id).ok() || !(row.v ? values.Append(*row.v) : values.AppendNull()).ok()) std::abort();
  }
  return arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), static_cast<int64_t>(rows.size()),
                                  {Must(ids.Finish()), Must(values.Finish())});
}

inline std::shared_ptr<arrow::Array> KindsOf(const std::vector<Row>& rows) {
  arrow::Int8Builder kinds;
  for (const Row& row : rows)
    if (!kinds.Append(row.kind).ok()) std::abort();
  return Must(kinds.Finish());
}

inline Status WriteRows(WriteSession* session, const Table& table, const std::vector<Row>& rows) {
  return session->Write(BatchOf(table, rows), KindsOf(rows));
}

inline Result<std::vector<Snapshot>> CommitRows(WriteSession* session, int64_t identifier, bool wait = true) {
  HEADRACE_ASSIGN_OR_RETURN(const PreparedCommit prepared, session->PrepareCommit(identifier, wait));
  return session->Commit(prepared);
}

using IntRows = std::map<int32_t, std::optional<int32_t>>;

// One row a key: the one with the largest sequence number. Two rows with one number are told as an error.
inline Result<IntRows> ReadByKey(const Table& table, const Snapshot& snapshot) {
  std::map<int32_t, std::tuple<int64_t, int8_t, std::optional<int32_t>>> newest;
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, snapshot));
  for (const ManifestEntry& entry : live) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string path, table.PathOf(entry));
    FileReadOptions options;
    options.table_schema = table.schema;
    options.schema_by_id = table.schema_by_id;
    options.columns = {.keys = false, .sequence = true, .kind = true, .values = {"id", "v"}};
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenDataFile(table.store.get(), path, entry.file, options));
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
      if (batch == nullptr) break;
      const auto& sequences = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& kinds = static_cast<const arrow::Int8Array&>(*batch->column(1));
      const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(2));
      const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(3));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const std::optional<int32_t> value = values.IsNull(i) ? std::nullopt : std::optional(values.Value(i));
        const auto [it, fresh] = newest.try_emplace(ids.Value(i), sequences.Value(i), kinds.Value(i), value);
        if (fresh) continue;
        if (std::get<0>(it->second) == sequences.Value(i))
          return Corruption("two rows of key ", ids.Value(i), " have the sequence number ",
                            sequences.Value(i));
        if (std::get<0>(it->second) < sequences.Value(i))
          it->second = {sequences.Value(i), kinds.Value(i), value};
      }
    }
  }
  IntRows rows;
  for (const auto& [id, version] : newest)
    if (!IsRetract(std::get<1>(version))) rows[id] = std::get<2>(version);
  return rows;
}

inline IntRows ReadByKey(const Table& table) {
  const auto latest = Must(ReadLatestSnapshot(table));
  return latest.has_value() ? Must(ReadByKey(table, *latest)) : IntRows{};
}

// The rows of an append table, files in the order of their sequence numbers.
inline std::vector<int32_t> ReadAppended(const Table& table) {
  std::vector<int32_t> ids;
  auto live = Must(LiveFiles(table, *Must(ReadLatestSnapshot(table))));
  std::stable_sort(live.begin(), live.end(),
                   [](const auto& a, const auto& b) { return a.file.min_sequence < b.file.min_sequence; });
  for (const ManifestEntry& entry : live) {
    FileReadOptions options;
    options.table_schema = table.schema;
    options.schema_by_id = table.schema_by_id;
    options.columns.values = {"id"};
    const auto reader = Must(OpenDataFile(table.store.get(), Must(table.PathOf(entry)), entry.file, options));
    while (const auto batch = Must(reader->Next()))
      for (int64_t i = 0; i < batch->num_rows(); ++i)
        ids.push_back(static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(i));
  }
  return ids;
}

// "L0 L0 L5": the levels of the live files, sorted.
inline std::string LevelsOf(const Table& table) {
  std::multiset<int> levels;
  for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
    levels.insert(entry.file.level.value);
  std::string text;
  for (const int level : levels) text += (text.empty() ? "L" : " L") + std::to_string(level);
  return text;
}

// Data and changelog files that lie in bucket folders, and those among them that no snapshot names.
inline std::set<std::string> UnreferencedFiles(const Table& table) {
  std::set<std::string> there, named;
  for (const FileInfo& folder : Must(table.store->List(table.path)))
    if (folder.path.find("/bucket-") != std::string::npos)
      for (const FileInfo& file : Must(table.store->List(folder.path))) there.insert(file.path);
  for (const SnapshotId id : Must(ListSnapshotIds(table))) {
    const Snapshot snapshot = Must(ReadSnapshot(table, id));
    auto entries = Must(DeltaEntries(table, snapshot));
    for (const ManifestEntry& entry : Must(ChangelogEntries(table, snapshot))) entries.push_back(entry);
    for (const ManifestEntry& entry : entries) named.insert(Must(table.PathOf(entry)));
  }
  std::set<std::string> unreferenced;
  for (const std::string& path : there)
    if (!named.contains(path)) unreferenced.insert(path);
  return unreferenced;
}

}  // namespace headrace::testing
