// One snapshot's worth of a commit: the append part or the compact part of its changes, as manifest entries.
//
// Plain values and pure functions. New rows and reorganised ones become two snapshots, so that a follower of changes never takes a
// compaction for new rows. Source: ManifestEntryChanges.
#pragma once

#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/commit.h"
#include "format/data_file_meta.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

struct CommitPart {
  CommitKind kind = CommitKind::kAppend;
  std::vector<ManifestEntry> delta;
  std::vector<ManifestEntry> changelog;
  std::vector<IndexManifestEntry> index_changes;  // removed first, then added

  bool empty() const { return delta.empty() && changelog.empty() && index_changes.empty(); }
  bool touches_index() const { return !index_changes.empty(); }
  // Distinct partitions of the delta and of index changes.
  std::vector<BinaryRow> Partitions() const;
};

// APPEND, or OVERWRITE when it takes files away or brings deletion vectors.
CommitPart AppendPart(const Table& table, const std::vector<BucketChange>& changes);
CommitPart CompactPart(const Table& table, const std::vector<BucketChange>& changes);

// The complete new index: HASH and deletion vectors of a bucket replace what that bucket had, other entries go by file name. Entries
// of types not known here are carried along. kCommitConflict when an entry to remove is not there.
Result<std::vector<IndexManifestEntry>> CombineIndex(const Table& table,
                                                     std::vector<IndexManifestEntry> current,
                                                     const std::vector<IndexManifestEntry>& changes);

}  // namespace headrace
