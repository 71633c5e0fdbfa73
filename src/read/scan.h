// Batch reads of one snapshot: plan into splits, open a split, read rows by the merge engine.
//
// Every file that is read is in exactly one split, and files whose key ranges overlap are never parted. Rows that deletion vectors mark
// are left out. Readers are independent of each other, one thread each. Rows have the shape of `table.schema`; a snapshot of the past in
// the shape it had then: pass TableAsOf(table, snapshot).
//
// Level 0 is passed over where the table's options say so (TableOptions::scans_skip_level_zero), except for files that were written
// before deletion vectors were switched on: their rows have been seen already. Source: MergeTreeSplitGenerator,
// AppendOnlySplitGenerator, MergeFileSplitRead, RawFileSplitRead, CoreOptions.batchScanSkipLevel0, ReadOptimizedTable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/index_files.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "format/value.h"
#include "lsm/levels.h"
#include "read/pruning.h"

namespace headrace {

struct Split {
  BinaryRow partition;
  BucketId bucket;
  int32_t total_buckets = 0;
  std::vector<TreeFilePtr> files;  // key ranges are empty for a table without a primary key
  // Rows are read as they are: no key is in two of the files, but for rows that deletion vectors mark, and none holds deletes.
  bool raw = false;
  std::vector<IndexManifestEntry> deletions = {};  // where the vectors of `files` are
};

enum class ScanView {
  kCurrent,  // what the table's options say
  kReadOptimized,  // of a table with a primary key only the files of the deepest level: nothing to merge, and behind
  kEveryLevel,  // all files given, level 0 included
};

// The splits of a whole snapshot, without the files that hold no row that meets the conditions. Those who give conditions filter the rows of
// the splits by them: a row that meets them is right, others may be missing or stale.
Result<std::vector<Split>> PlanScan(const Table& table, const Snapshot& snapshot,
                                    ScanView view = ScanView::kCurrent,
                                    std::vector<RowCondition> conditions = {});
// In (partition bytes, bucket) order, splits of a bucket in the order of its rows. kCorruption when files contradict each other.
Result<std::vector<Split>> PlanSplits(const Table& table, std::vector<ManifestEntry> live,
                                      const IndexFiles& index = {}, ScanView view = ScanView::kCurrent);

// Whether a current view reads a file. `without_vectors` comes from LastSchemaWithoutDeletionVectors.
inline bool IsScanned(const TableOptions& options, const DataFileMeta& file, SchemaId without_vectors) {
  return !options.scans_skip_level_zero() || file.level > Level(0) || file.schema_id <= without_vectors;
}

struct ScanOptions {
  std::vector<std::string> columns = {};  // empty: all, in schema order
  bool key_ordered = false;               // rows of one bucket in key order; costs more than any order
  bool read_optimized = false;            // ScanView::kReadOptimized, for OpenScan
  int64_t batch_rows = 32768;
  arrow::MemoryPool* pool = nullptr;
  std::vector<RowCondition> conditions = {};  // rows that do not meet them may be left out
};

// Rows of a split: the table's columns as asked, deletes gone.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplit(const Table& table, const Split& split,
                                                            const ScanOptions& options);

// The whole snapshot, split after split.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenScan(const Table& table, const Snapshot& snapshot,
                                                           const ScanOptions& options);

// The current row of a primary key (values in primary-key order), or nothing. One row with `options.columns`.
Result<std::shared_ptr<arrow::RecordBatch>> FindByKey(const Table& table, const Snapshot& snapshot,
                                                      const std::vector<Value>& primary_key,
                                                      const ScanOptions& options);

// The table with the schema and options it had at a snapshot; what time travel reads with.
Result<Table> TableAsOf(const Table& table, const Snapshot& snapshot);

}  // namespace headrace
