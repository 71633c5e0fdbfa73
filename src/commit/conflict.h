// Whether a change still fits the table it is about to join. Decided on metadata alone, pure.
//
// The change is `delta`; `live` are the live files of its partitions in the newest snapshot. A conflict (kCommitConflict) is final: what the
// change was planned on is gone. Level-0 files never conflict: writers may append to one bucket at the same time.
// Source: ConflictDetection, PrimaryKeyConflictDetection.
#pragma once

#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/data_file_meta.h"
#include "format/snapshot.h"

namespace headrace {

// No file added twice, none added and deleted, and one number of buckets a partition.
Status CheckDelta(const Table& table, const std::vector<ManifestEntry>& delta, CommitKind kind);

// In order: the number of buckets of a partition stays (or an overwrite leaves none of the old files); no live file is added again; every file to
// delete is live; a compaction has dropped no delete that hides rows of a file it did not know; the files of one level ≥ 1 of a bucket do
// not overlap.
Status CheckConflicts(const Table& table, const std::vector<ManifestEntry>& live,
                      const std::vector<ManifestEntry>& delta, CommitKind kind);

// Every deletion vector of `index`, the complete new one, that the change touches is for a file that is live after it: those of
// `added_index`, and those for files that it removes. A vector left alone would hide rows of nothing, and a removed file may have been rewritten
// without what another commit deleted in it meanwhile.
Status CheckDeletionVectors(const Table& table, const std::vector<ManifestEntry>& live,
                            const std::vector<ManifestEntry>& delta,
                            const std::vector<IndexManifestEntry>& index,
                            const std::vector<IndexManifestEntry>& added_index);

// Files of `others` in a bucket where level-0 files that `delta` adds have sequence numbers no larger than theirs.
// They came from a writer that started from the same base.
std::vector<ManifestEntry> SharedSequences(const std::vector<ManifestEntry>& others,
                                           const std::vector<ManifestEntry>& delta);

}  // namespace headrace
