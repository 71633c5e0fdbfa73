// Batch reads of one snapshot: plan into splits, open a split, read rows by the merge engine.
//
// Planning is pure: every live file is in exactly one split, and files whose key ranges overlap are never parted. Readers are
// independent of each other, one thread each. Rows have the shape of `table.schema`; a snapshot of the past in the shape it had then:
// pass TableAsOf(table, snapshot). Source: MergeTreeSplitGenerator, AppendOnlySplitGenerator, MergeFileSplitRead, RawFileSplitRead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "format/value.h"
#include "lsm/levels.h"

namespace headrace {

struct Split {
  BinaryRow partition;
  BucketId bucket;
  int32_t total_buckets = 0;
  std::vector<TreeFilePtr> files;  // key ranges are empty for a table without a primary key
  bool raw = false;  // rows are read as they are: no file overlaps another and none holds deletes
};

// The splits of a whole snapshot. kUnsupported when deletion vectors are in force.
Result<std::vector<Split>> PlanScan(const Table& table, const Snapshot& snapshot);
// In (partition bytes, bucket) order, splits of a bucket in the order of its rows. kCorruption when files contradict each other.
Result<std::vector<Split>> PlanSplits(const Table& table, std::vector<ManifestEntry> live);

struct ScanOptions {
  std::vector<std::string> columns = {};  // empty: all, in schema order
  bool key_ordered = false;               // rows of one bucket in key order; costs more than any order
  int64_t batch_rows = 32768;
  arrow::MemoryPool* pool = nullptr;
};

// Rows of a split: the table's columns as asked, deletes gone.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplit(const Table& table, const Split& split,
                                                            const ScanOptions& options);

// The whole snapshot, split after split. kUnsupported when deletion vectors are in force.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenScan(const Table& table, const Snapshot& snapshot,
                                                           const ScanOptions& options);

// The current row of a primary key (values in primary-key order), or nothing. One row with `options.columns`.
Result<std::shared_ptr<arrow::RecordBatch>> FindByKey(const Table& table, const Snapshot& snapshot,
                                                      const std::vector<Value>& primary_key,
                                                      const ScanOptions& options);

// The table with the schema and options it had at a snapshot; what time travel reads with.
Result<Table> TableAsOf(const Table& table, const Snapshot& snapshot);

}  // namespace headrace
