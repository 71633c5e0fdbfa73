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

// The files to join, in order, or nothing. `full`: as an explicit full compaction asks.
std::optional<std::vector<DataFileMeta>> PickAppendCompaction(std::vector<DataFileMeta> files,
                                                              const TableOptions& options, bool full);

// One rewrite of `inputs`, in order. On failure no new file is left.
Result<FileIncrement> CompactAppend(const std::vector<DataFileMeta>& inputs, const BucketFiles& files,
                                    FileNames* names);

}  // namespace headrace
