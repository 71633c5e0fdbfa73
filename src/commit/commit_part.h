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

// The complete new index: the HASH file of a bucket replaces the one it had, other entries go by file name. Entries of types not known here
// are carried along. kCommitConflict when an entry to remove is not there, or one of deletion vectors is added beside another of a bucket
// that has one file of them: its writer did not know of the other.
Result<std::vector<IndexManifestEntry>> CombineIndex(const Table& table,
                                                     std::vector<IndexManifestEntry> current,
                                                     const std::vector<IndexManifestEntry>& changes);

// Leaves out the vectors for data files that the delta removes: what an overwrite does with those it did not ask for.
void DropVectorsOfRemoved(const std::vector<ManifestEntry>& delta, std::vector<IndexManifestEntry>* index);

}  // namespace headrace
