// Batches to (partition, bucket) slices: the same key always goes to the same bucket, bit-equal to Java's hash.
//
// Rows of one slice keep their order, so changes of one key stay in order. Pure functions of schema, options and rows.
// Source: FixedBucketRowKeyExtractor, DefaultBucketFunction, ModBucketFunction, BinaryRow.hashCode.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/ids.h"
#include "catalog/table.h"
#include "format/binary_row.h"

namespace headrace {

// Each row's partition as a small number, and the partitions by that number, in order of first appearance.
struct PartitionedRows {
  std::vector<BinaryRow> partitions;
  std::vector<uint32_t> of_row;
};

Result<PartitionedRows> PartitionsOf(const Table& table, const arrow::RecordBatch& rows);

// Java's hash of the columns `keys` of each row.
Result<std::vector<int32_t>> HashKeys(const Table& table, const arrow::RecordBatch& rows,
                                      const std::vector<std::string>& keys);

// The bucket of each row, of `total_buckets`; all 0 when the table has no buckets (-1).
Result<std::vector<BucketId>> AssignBuckets(const Table& table, const arrow::RecordBatch& rows,
                                            int32_t total_buckets);

struct Slice {
  BinaryRow partition;
  BucketId bucket;
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<arrow::Array> kinds;  // null: all inserts
};

// Rows to slices by what is known of each row. In order of first appearance; each slice has memory of its own, unless it is the whole batch.
Result<std::vector<Slice>> SliceRows(PartitionedRows partitioned, const std::vector<BucketId>& buckets,
                                     const std::shared_ptr<arrow::RecordBatch>& rows,
                                     const std::shared_ptr<arrow::Array>& kinds, arrow::MemoryPool* pool);

// The same for a table whose buckets follow from the rows alone. Each slice has memory of its own, unless it is the whole batch.
Result<std::vector<Slice>> SplitByBucket(const Table& table, const std::shared_ptr<arrow::RecordBatch>& rows,
                                         const std::shared_ptr<arrow::Array>& kinds, arrow::MemoryPool* pool);

}  // namespace headrace
