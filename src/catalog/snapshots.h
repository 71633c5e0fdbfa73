// Finding and reading a table's snapshots and the files they name.
//
// Hints are advice only: a LATEST hint counts when no later snapshot file exists, an EARLIEST hint when its file exists; else the
// folder is listed. Only names `snapshot-<digits>` are versions. Functions of the store, no state. Source: SnapshotManager,
// HintFileUtils, AbstractFileStoreScan.
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

Result<std::vector<ManifestFileMeta>> ReadManifestList(const Table& table, const std::string& name);
Result<std::vector<ManifestEntry>> ReadManifest(const Table& table, const ManifestFileMeta& manifest);
Result<std::vector<IndexManifestEntry>> ReadIndexManifest(const Table& table, const std::string& name);

// Which entries a caller wants; used to skip manifests as well.
struct EntryFilter {
  std::optional<std::vector<BinaryRow>> partitions;
  std::optional<BucketId> bucket;
};

// The live data files of a snapshot: the ADD entries of base and delta that no DELETE entry names.
Result<std::vector<ManifestEntry>> LiveFiles(const Table& table, const Snapshot& snapshot, const EntryFilter& filter = {});

// The entries that this snapshot alone added or deleted, in manifest order; and its changelog files.
Result<std::vector<ManifestEntry>> DeltaEntries(const Table& table, const Snapshot& snapshot);
Result<std::vector<ManifestEntry>> ChangelogEntries(const Table& table, const Snapshot& snapshot);

}  // namespace headrace
