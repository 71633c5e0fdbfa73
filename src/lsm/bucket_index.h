// The index entries of a bucket as its tree changes them: deletion vectors that come, go and move with the data files they are for.
//
// New index files are written beside the old ones and go into an increment with the entries they replace; a failure leaves no new one.
// Functions of values and the store. Source: BucketedDvMaintainer, AppendDeleteFileMaintainer.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"

namespace headrace {

// `now` is all that is deleted in the bucket from here on: one new file takes the place of the entries that held vectors.
Status ReplaceDeletions(const BucketFiles& files, std::span<const IndexManifestEntry> index,
                        const DeletionVectors& now, FileIncrement* increment);

// The increment's removed files are gone, and their deleted rows with them: entries that have vectors for them are replaced by new ones
// for what else they name. Nothing happens when none has. `files.deletions` are the bucket's vectors.
Status DropDeletions(const BucketFiles& files, std::span<const IndexManifestEntry> index,
                     FileIncrement* increment);

// What the bucket has after an increment.
std::vector<IndexManifestEntry> IndexAfter(std::vector<IndexManifestEntry> index,
                                           const FileIncrement& increment);
DeletionVectors DeletionsWithout(const DeletionVectors& deletions, const std::vector<DataFileMeta>& removed);

}  // namespace headrace
