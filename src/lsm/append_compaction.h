// Compaction of append tables: small files become larger ones, rows unchanged.
//
// With fixed buckets rows have an order, so only files that follow each other in sequence are joined. Without buckets any
// small files are packed. Picking is pure. Source: BucketedAppendCompactManager, AppendCompactCoordinator.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"

namespace headrace {

// In the order their rows are read: by smallest sequence number, as listed among equals (sort stably).
inline bool ComesBefore(const DataFileMeta& a, const DataFileMeta& b) {
  return a.min_sequence < b.min_sequence;
}
std::vector<DataFileMeta> InSequenceOrder(std::vector<DataFileMeta> files);

// The files to join, in order, or nothing. `full`: as an explicit full compaction asks. `deletions` (null: none): a file of a table without
// buckets of which so many rows are deleted (`compaction.delete-ratio-threshold`) is rewritten whatever its size, and alone if need be; a full
// compaction takes every file with a deleted row.
std::optional<std::vector<DataFileMeta>> PickAppendCompaction(std::vector<DataFileMeta> files,
                                                              const TableOptions& options, bool full,
                                                              const DeletionVectors* deletions = nullptr);

// One rewrite of `inputs`, in order, without their deleted rows. On failure no new file is left.
Result<FileIncrement> CompactAppend(const std::vector<DataFileMeta>& inputs, const BucketFiles& files,
                                    FileNames* names);

}  // namespace headrace
