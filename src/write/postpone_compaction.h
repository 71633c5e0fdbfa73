// Rows that wait in postponed buckets get their buckets: the compaction of a table with bucket = -2.
//
// A partition keeps the number of buckets it has; a new one gets `postpone.default-bucket-num`, else as many as its waiting rows or bytes ask
// for. One COMPACT snapshot brings the rows into normal buckets as level-0 files and takes the files in which they waited away, so that no
// row is seen twice or lost; kCommitConflict when another compaction was first. Rows of one writer keep their order.
// Source: PostponeBucketCompactSplitSource, RewritePostponeBucketCommittableOperator, PostponeUtils.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/commit.h"
#include "format/snapshot.h"
#include "write/session.h"

namespace headrace {

struct MovedRows {
  std::vector<Snapshot> snapshots;  // none: nothing waited
  int64_t files = 0;                // that waited
  int64_t rows = 0;
  int64_t bytes_written = 0;
};

// `options` of the sessions that write the buckets, their commit user included; they run one after the other.
Result<MovedRows> MovePostponedRows(const Table& table, const SessionOptions& options);

// How many buckets each partition has that has any, as of the newest snapshot.
Result<std::map<BinaryRow, int32_t>> BucketCounts(const Table& table);

// How many buckets a partition gets for the rows that wait. Pure.
int32_t BucketsFor(const TableOptions& options, const std::vector<DataFileMeta>& waiting);

}  // namespace headrace
