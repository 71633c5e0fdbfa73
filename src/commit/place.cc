#include "commit/place.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "catalog/snapshots.h"

namespace headrace {
namespace {

std::vector<BinaryRow> PartitionsOf(const std::vector<ManifestEntry>& entries) {
  std::set<BinaryRow> partitions;
  for (const ManifestEntry& entry : entries) partitions.insert(entry.partition);
  return {partitions.begin(), partitions.end()};
}

// Whether `next` has the snapshot's own manifests among those it was built on. It need not when manifests were merged.
Result<bool> IsListed(const Table& table, const Snapshot& snapshot, const Snapshot& next) {
  const auto own = ReadManifestList(table, snapshot.delta_manifest_list);
  if (IsKind(own.status(), ErrorKind::kNotFound)) return false;
  HEADRACE_RETURN_NOT_OK(own.status());
  std::unordered_set<std::string> names;
  for (const ManifestFileMeta& manifest : *own) names.insert(manifest.name);
  if (names.empty()) return false;
  HEADRACE_ASSIGN_OR_RETURN(const auto base, ReadManifestList(table, next.base_manifest_list));
  return std::any_of(base.begin(), base.end(),
                     [&](const ManifestFileMeta& manifest) { return names.contains(manifest.name); });
}

// Whether the manifests of `later` tell of a file that `delta` added. They go on telling of it when it is live no more, as after a compaction of
// others, until manifests are merged.
Result<bool> TellsOf(const Table& table, const Snapshot& later, const std::vector<ManifestEntry>& delta) {
  std::unordered_set<std::string> added;
  for (const ManifestEntry& entry : delta)
    if (entry.kind == EntryKind::kAdd) added.insert(IdentityOf(entry));
  if (added.empty()) return false;
  for (const std::string& list : {later.delta_manifest_list, later.base_manifest_list}) {
    HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(table, list));
    for (const ManifestFileMeta& manifest : manifests) {
      HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadManifest(table, manifest));
      if (std::any_of(entries.begin(), entries.end(),
                      [&](const ManifestEntry& entry) { return added.contains(IdentityOf(entry)); }))
        return true;
    }
  }
  return false;
}

// Whether the snapshot that follows knows of these changes: lists a file that they added or takes it away. Where they only took files away,
// that it has none of them is all there is to go by: another writer may have done that too.
Result<bool> KnowsOf(const Table& table, const Snapshot& next, const std::vector<ManifestEntry>& delta) {
  HEADRACE_ASSIGN_OR_RETURN(auto entries,
                            LiveFiles(table, next, {.partitions = PartitionsOf(delta), .bucket = {}}));
  HEADRACE_ASSIGN_OR_RETURN(const auto changed, DeltaEntries(table, next));
  entries.insert(entries.end(), changed.begin(), changed.end());
  std::unordered_set<std::string> known;
  for (const ManifestEntry& entry : entries) known.insert(IdentityOf(entry));
  bool adds = false;
  for (const ManifestEntry& entry : delta) {
    if (entry.kind != EntryKind::kAdd) continue;
    if (known.contains(IdentityOf(entry))) return true;
    adds = true;
  }
  if (adds) return false;
  return std::any_of(delta.begin(), delta.end(),
                     [&](const ManifestEntry& entry) { return !known.contains(IdentityOf(entry)); });
}

// What the snapshot added and deleted. Nothing when an expiry that was interrupted has begun to delete what it names, which it does not do
// before history.
Result<std::optional<std::vector<ManifestEntry>>> OwnEntries(const Table& table, const Snapshot& snapshot) {
  const auto manifests = ReadManifestList(table, snapshot.delta_manifest_list);
  if (IsKind(manifests.status(), ErrorKind::kNotFound)) return std::nullopt;
  HEADRACE_RETURN_NOT_OK(manifests.status());
  std::vector<ManifestEntry> all;
  for (const ManifestFileMeta& manifest : *manifests) {
    auto entries = ReadManifest(table, manifest);
    if (IsKind(entries.status(), ErrorKind::kNotFound)) return std::nullopt;
    HEADRACE_RETURN_NOT_OK(entries.status());
    std::move(entries->begin(), entries->end(), std::back_inserter(all));
  }
  return all;
}

// The next one was not there.
Result<Place> PlaceBeforeAGap(const Table& table, const Snapshot& snapshot,
                              const std::vector<ManifestEntry>& delta) {
  HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table, snapshot.id));
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  if (!latest.has_value() || latest->id <= snapshot.id) return Place::kInHistory;  // rolled back to it
  if (found == snapshot) return Place::kBeforeIt;
  HEADRACE_ASSIGN_OR_RETURN(const auto left_behind, FindChangelog(table, snapshot.id));
  if (left_behind == snapshot) return Place::kInHistory;
  HEADRACE_ASSIGN_OR_RETURN(const bool told, TellsOf(table, *latest, delta));
  return told ? Place::kInHistory : Place::kUnknown;
}

}  // namespace

Result<Place> PlaceOf(const Table& table, const Snapshot& snapshot, const std::vector<ManifestEntry>* delta) {
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  if (!latest.has_value() || *latest <= snapshot.id) return Place::kInHistory;
  HEADRACE_ASSIGN_OR_RETURN(const auto next, FindSnapshot(table, SnapshotId(snapshot.id.value + 1)));
  if (next.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(const bool listed, IsListed(table, snapshot, *next));
    if (listed) return Place::kInHistory;
  }
  std::vector<ManifestEntry> read;
  if (delta == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(auto entries, OwnEntries(table, snapshot));
    if (!entries.has_value()) return Place::kUnknown;
    read = *std::move(entries);
    delta = &read;
  }
  if (!next.has_value()) return PlaceBeforeAGap(table, snapshot, *delta);
  if (delta->empty()) return Place::kUnknown;
  HEADRACE_ASSIGN_OR_RETURN(const bool known, KnowsOf(table, *next, *delta));
  return known ? Place::kInHistory : Place::kBeforeIt;
}

}  // namespace headrace
