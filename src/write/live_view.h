// The live files of some partitions at one snapshot and their index files, for a writer that opens their buckets one after the other.
//
// Partitions are read together, so that manifests are read once for many buckets; a bucket's files are handed out once and forgotten, so
// that the view does not keep what the trees hold. One thread. Source: FileSystemWriteRestore.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "catalog/index_files.h"
#include "catalog/table.h"
#include "format/binary_row.h"
#include "format/data_file_meta.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

class LiveView {
 public:
  // The table outlives the view.
  explicit LiveView(const Table& table) : table_(table) {}

  // Makes Take answer for these buckets as of the newest snapshot. kInvalid when a partition was written with another number of buckets
  // than the table has now, or has files of a newer schema with other columns, which a compaction by this one would drop.
  Status Load(const std::vector<BucketPlace>& buckets);

  // The snapshot of the last Load; 0 before the first one.
  SnapshotId snapshot() const { return snapshot_; }
  // Once per Load.
  std::vector<DataFileMeta> Take(const BucketPlace& bucket);
  // Of the same snapshot.
  const std::vector<IndexManifestEntry>& IndexOf(const BucketPlace& bucket) const {
    return index_.Of(bucket);
  }
  // The rows of the bucket's files that are deleted; null: none.
  std::shared_ptr<const DeletionVectors> DeletionsOf(const BucketPlace& bucket) const;
  // All buckets of the table that have files in the newest snapshot.
  Result<std::vector<BucketPlace>> AllBuckets() const { return BucketsWith(Level(0), Level(INT32_MAX)); }
  // Those that have files on levels from `least` to `most`.
  Result<std::vector<BucketPlace>> BucketsWith(Level least, Level most) const;

 private:
  Status CheckTotalBuckets(const ManifestEntry& entry) const;
  Status CheckColumns(const ManifestEntry& entry) const;
  Status Keep(std::vector<ManifestEntry> entries);
  Status LoadFrom(const std::optional<Snapshot>& latest, const std::vector<BucketPlace>& buckets);

  const Table& table_;
  SnapshotId snapshot_{0};
  std::set<BinaryRow> loaded_;  // partitions
  std::set<BucketPlace> taken_;
  std::map<BucketPlace, std::vector<DataFileMeta>> files_;
  IndexFiles index_;
  std::map<BucketPlace, std::shared_ptr<const DeletionVectors>> deletions_;  // of the buckets asked for
};

}  // namespace headrace
