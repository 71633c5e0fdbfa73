#include "catalog/snapshots.h"

#include <algorithm>

#include "catalog/numbered_files.h"

namespace headrace {
namespace {

NumberedFolder SnapshotFolder(const Table& table) {
  return {table.store.get(), table.path + "/snapshot", "snapshot-"};
}
NumberedFolder ChangelogFolder(const Table& table) {
  return {table.store.get(), table.path + "/changelog", "changelog-"};
}

std::optional<SnapshotId> AsId(std::optional<int64_t> number) {
  if (!number.has_value()) return std::nullopt;
  return SnapshotId(*number);
}

Result<std::vector<SnapshotId>> ListIds(const NumberedFolder& folder) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ListNumbers(folder));
  std::vector<SnapshotId> ids;
  ids.reserve(numbers.size());
  for (const int64_t number : numbers) ids.emplace_back(number);
  return ids;
}

Result<std::optional<Snapshot>> FindIn(const NumberedFolder& folder, SnapshotId id) {
  const std::string path = folder.PathOf(id.value);
  HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(folder.store->ReadAll(path)));
  if (!bytes.has_value()) return std::nullopt;
  HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, ParseSnapshot(*bytes, path));
  if (snapshot.id != id)
    return Corruption(path, " says it is snapshot ", snapshot.id, ", its name says ", id);
  return snapshot;
}

// Why a snapshot that was asked for is not there.
Status MissingSnapshot(const Table& table, SnapshotId id) {
  const auto earliest = FindEarliestSnapshotId(table);
  HEADRACE_RETURN_NOT_OK(earliest.status());
  const auto latest = FindLatestSnapshotId(table);
  HEADRACE_RETURN_NOT_OK(latest.status());
  if (!earliest->has_value() || !latest->has_value())
    return NotFound("table ", table.name, " has no snapshot ", id, ": nothing has been committed to it yet");
  if (id < **earliest)
    return SnapshotExpired("snapshot ", id, " of table ", table.name, " has expired; snapshots ", **earliest,
                           " to ", **latest, " are there");
  if (id > **latest)
    return NotFound("table ", table.name, " has no snapshot ", id, " yet; snapshots ", **earliest, " to ",
                    **latest, " are there");
  return Corruption("snapshot ", id, " of table ", table.name, " is missing: there is no ",
                    SnapshotPath(table, id), ", although snapshots ", **earliest, " to ", **latest,
                    " should all be there");
}

}  // namespace

Result<std::optional<SnapshotId>> FindLatestSnapshotId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto number, FindLatestNumber(SnapshotFolder(table)));
  return AsId(number);
}

Result<std::optional<SnapshotId>> FindEarliestSnapshotId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto number, FindEarliestNumber(SnapshotFolder(table)));
  return AsId(number);
}

Result<std::vector<SnapshotId>> ListSnapshotIds(const Table& table) { return ListIds(SnapshotFolder(table)); }

Result<Snapshot> ReadSnapshot(const Table& table, SnapshotId id) {
  if (id.value < 1)
    return Invalid("table ", table.name, " has no snapshot ", id, ": snapshot ids begin at 1");
  HEADRACE_ASSIGN_OR_RETURN(auto found, FindSnapshot(table, id));
  if (found.has_value()) return std::move(*found);
  return MissingSnapshot(table, id);
}

Result<std::optional<Snapshot>> FindSnapshot(const Table& table, SnapshotId id) {
  return FindIn(SnapshotFolder(table), id);
}

Result<std::optional<Snapshot>> ReadLatestSnapshot(const Table& table) {
  // Expiry may take the snapshot away between finding its id and reading it; a newer one is there then.
  for (int attempt = 0; attempt < 3; ++attempt) {
    HEADRACE_ASSIGN_OR_RETURN(const auto id, FindLatestSnapshotId(table));
    if (!id.has_value()) return std::nullopt;
    HEADRACE_ASSIGN_OR_RETURN(auto snapshot, FindSnapshot(table, *id));
    if (snapshot.has_value()) return snapshot;
  }
  return Corruption("the latest snapshot of table ", table.name,
                    " was found three times and was gone each time it was read");
}

std::string MayBeEnding(const Table& table, SnapshotId snapshot) {
  const auto latest = FindLatestSnapshotId(table);
  const bool is_older = latest.ok() && latest->has_value() && snapshot < **latest;
  return is_older ? "; unless an expiry is ending this snapshot just now, or was cut short" : "";
}

Result<bool> WasOvertaken(const Table& table, const Snapshot& snapshot, const Status& failure) {
  const bool gone = IsKind(failure, ErrorKind::kNotFound) || IsKind(failure, ErrorKind::kSnapshotExpired) ||
                    IsKind(failure, ErrorKind::kCorruption);
  if (!gone) return false;
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  return latest.has_value() && *latest > snapshot.id;
}

Result<std::optional<SnapshotId>> FindLatestChangelogId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto number, FindLatestNumber(ChangelogFolder(table)));
  return AsId(number);
}

Result<std::optional<SnapshotId>> FindEarliestChangelogId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto number, FindEarliestNumber(ChangelogFolder(table)));
  return AsId(number);
}

Result<std::vector<SnapshotId>> ListChangelogIds(const Table& table) {
  return ListIds(ChangelogFolder(table));
}

Result<std::optional<Snapshot>> FindChangelog(const Table& table, SnapshotId id) {
  return FindIn(ChangelogFolder(table), id);
}

Result<std::optional<Snapshot>> FindSnapshotOrChangelog(const Table& table, SnapshotId id) {
  HEADRACE_ASSIGN_OR_RETURN(auto snapshot, FindSnapshot(table, id));
  if (snapshot.has_value()) return snapshot;
  return FindChangelog(table, id);
}

Result<std::optional<SnapshotId>> FindEarliestChangeId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<SnapshotId> changelogs, ListChangelogIds(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto earliest, FindEarliestSnapshotId(table));
  if (changelogs.empty()) return earliest;
  if (!earliest.has_value()) return changelogs.front();
  // After a time in which no changelogs were left behind there is a gap, which no reader gets over.
  return changelogs.back().value + 1 < earliest->value ? *earliest : std::min(changelogs.front(), *earliest);
}

Status WriteLatestSnapshotHint(const Table& table, SnapshotId id) {
  return WriteLatestHint(SnapshotFolder(table), id.value);
}

Status WriteEarliestSnapshotHint(const Table& table, SnapshotId id) {
  return WriteEarliestHint(SnapshotFolder(table), id.value);
}

Status EnsureEarliestSnapshotHint(const Table& table, SnapshotId id) {
  HEADRACE_ASSIGN_OR_RETURN(const auto hint,
                            table.store->Stat(SnapshotFolder(table).directory + "/EARLIEST"));
  return hint.has_value() ? Status::OK() : WriteEarliestSnapshotHint(table, id);
}

Status DeleteSnapshot(const Table& table, SnapshotId id) {
  return table.store->Delete(SnapshotPath(table, id));
}

Status WriteChangelog(const Table& table, SnapshotId id) {
  const Result<std::string> bytes = table.store->ReadAll(SnapshotPath(table, id));
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) return Status::OK();
  HEADRACE_RETURN_NOT_OK(bytes.status());
  return table.store->Replace(ChangelogFolder(table).PathOf(id.value), *bytes);
}

Status WriteLatestChangelogHint(const Table& table, SnapshotId id) {
  return WriteLatestHint(ChangelogFolder(table), id.value);
}

Status DeleteChangelog(const Table& table, SnapshotId id) {
  return table.store->Delete(ChangelogFolder(table).PathOf(id.value));
}

Status WriteEarliestChangelogHint(const Table& table, SnapshotId id) {
  return WriteEarliestHint(ChangelogFolder(table), id.value);
}

std::string SnapshotPath(const Table& table, SnapshotId id) { return SnapshotFolder(table).PathOf(id.value); }

std::string ManifestPath(const Table& table, const std::string& name) {
  return table.path + "/manifest/" + name;
}

}  // namespace headrace
