// Finding and reading a table's snapshots and the files they name.
//
// Hints are advice only (numbered_files.h); only names `snapshot-<digits>` are versions. An expired snapshot may live on as
// changelog/changelog-<id>, which is for reading its changes alone. Functions of the store, no state, thread-safe. Source: SnapshotManager,
// ChangelogManager, AbstractFileStoreScan.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

Result<std::optional<SnapshotId>> FindLatestSnapshotId(const Table& table);
Result<std::optional<SnapshotId>> FindEarliestSnapshotId(const Table& table);
Result<std::vector<SnapshotId>> ListSnapshotIds(const Table& table);  // ascending

// kSnapshotExpired when the id lies before the earliest, kNotFound when after the latest.
Result<Snapshot> ReadSnapshot(const Table& table, SnapshotId id);
Result<std::optional<Snapshot>> FindSnapshot(const Table& table, SnapshotId id);  // nothing: no such file
Result<std::optional<Snapshot>> ReadLatestSnapshot(const Table& table);

// Whether `failure`, met while files of `snapshot` were read that was the latest, is to be met by reading a newer one: files of a snapshot that
// is not the latest any more may go at any moment, those of the latest never.
Result<bool> WasOvertaken(const Table& table, const Snapshot& snapshot, const Status& failure);

// What may excuse a file that is not there although its snapshot is: an expiry deletes files first and snapshots last; only the latest snapshot's
// files never go. To be put behind the error; empty of the latest.
std::string MayBeEnding(const Table& table, SnapshotId snapshot);

// What an expired snapshot left behind for its changes' sake. The ids, ascending, and one of them; nothing: no such file.
Result<std::optional<SnapshotId>> FindLatestChangelogId(const Table& table);
Result<std::optional<SnapshotId>> FindEarliestChangelogId(const Table& table);
Result<std::vector<SnapshotId>> ListChangelogIds(const Table& table);
Result<std::optional<Snapshot>> FindChangelog(const Table& table, SnapshotId id);

// Where the changes of an id can still be read: its snapshot, else its long-lived changelog. Nothing: neither is there.
Result<std::optional<Snapshot>> FindSnapshotOrChangelog(const Table& table, SnapshotId id);

// The first id from which on all changes can be read: of the long-lived changelogs where they reach up to the snapshots.
Result<std::optional<SnapshotId>> FindEarliestChangeId(const Table& table);

// Tells later readers that `id` is the latest. A failure costs them a listing and nothing else.
Status WriteLatestSnapshotHint(const Table& table, SnapshotId id);

// The last steps of an expiry (commit/expiry.h), each of them harmless when it was done before.
Status WriteEarliestSnapshotHint(const Table& table, SnapshotId id);
Status EnsureEarliestSnapshotHint(const Table& table, SnapshotId id);  // unless there is one, right or wrong
Status DeleteSnapshot(const Table& table, SnapshotId id);
// Copies the snapshot's file, byte for byte, to changelog/. Nothing to do when it is gone.
Status WriteChangelog(const Table& table, SnapshotId id);
Status DeleteChangelog(const Table& table, SnapshotId id);
Status WriteLatestChangelogHint(const Table& table, SnapshotId id);
Status WriteEarliestChangelogHint(const Table& table, SnapshotId id);

// Paths of the files below, for messages and for those who write them.
std::string SnapshotPath(const Table& table, SnapshotId id);
std::string ManifestPath(const Table& table, const std::string& name);

// `bytes`: the size that the snapshot tells of the list; kCorruption when the file has another. Whoever builds upon a list or deletes by it
// gives it: a list cut off would read as a shorter one.
Result<std::vector<ManifestFileMeta>> ReadManifestList(const Table& table, const std::string& name,
                                                       std::optional<int64_t> bytes = std::nullopt);
Result<std::vector<ManifestEntry>> ReadManifest(const Table& table, const ManifestFileMeta& manifest);
Result<std::vector<IndexManifestEntry>> ReadIndexManifest(const Table& table, const std::string& name);

// Which entries a caller wants; used to skip manifests as well.
struct EntryFilter {
  std::optional<std::vector<BinaryRow>> partitions;
  std::optional<BucketId> bucket;
  EntryDetail detail = EntryDetail::kWhole;
};

// The live data files of a snapshot, in manifest order: the ADD entries of base and delta that no DELETE entry names.
// Each manifest is read once; beyond the result, memory holds the entries of manifests with deletions alone.
Result<std::vector<ManifestEntry>> LiveFiles(const Table& table, const Snapshot& snapshot,
                                             const EntryFilter& filter = {});
// The same one by one, for callers that put them elsewhere: a table of many files has its entries in memory only once.
Status VisitLiveFiles(const Table& table, const Snapshot& snapshot, const EntryFilter& filter,
                      const std::function<Status(ManifestEntry&& entry)>& visit);

// The entries that this snapshot alone added or deleted, in manifest order; and its changelog files.
Result<std::vector<ManifestEntry>> DeltaEntries(const Table& table, const Snapshot& snapshot,
                                                const EntryFilter& filter = {});
Result<std::vector<ManifestEntry>> ChangelogEntries(const Table& table, const Snapshot& snapshot);

}  // namespace headrace
