#include "write/bucket_assigner.h"

#include <arrow/record_batch.h>

#include "write/cross_partition.h"
#include "write/dynamic_buckets.h"

namespace headrace {
namespace {

// Buckets that follow from the row alone.
class FixedBuckets final : public BucketAssigner {
 public:
  FixedBuckets(const Table& table, arrow::MemoryPool* pool) : table_(table), pool_(pool) {}

  Result<std::vector<Slice>> Assign(const std::shared_ptr<arrow::RecordBatch>& rows,
                                    const std::shared_ptr<arrow::Array>& kinds) override {
    return SplitByBucket(table_, rows, kinds, pool_);
  }
  Status Prepare(PreparedCommit*) override { return Status::OK(); }
  void Committed(const std::vector<Snapshot>&) override {}

 private:
  const Table& table_;
  arrow::MemoryPool* const pool_;
};

// Rows that wait for a bucket: by partition alone.
class PostponedBuckets final : public BucketAssigner {
 public:
  PostponedBuckets(const Table& table, arrow::MemoryPool* pool) : table_(table), pool_(pool) {}

  Result<std::vector<Slice>> Assign(const std::shared_ptr<arrow::RecordBatch>& rows,
                                    const std::shared_ptr<arrow::Array>& kinds) override {
    HEADRACE_ASSIGN_OR_RETURN(PartitionedRows partitioned, PartitionsOf(table_, *rows));
    const std::vector<BucketId> buckets(static_cast<size_t>(rows->num_rows()), BucketId(-2));
    return SliceRows(std::move(partitioned), buckets, rows, kinds, pool_);
  }
  Status Prepare(PreparedCommit*) override { return Status::OK(); }
  void Committed(const std::vector<Snapshot>&) override {}

 private:
  const Table& table_;
  arrow::MemoryPool* const pool_;
};

}  // namespace

Result<std::unique_ptr<BucketAssigner>> MakeBucketAssigner(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool) {
  switch (BucketModeOf(*table.schema, table.options)) {
    case BucketMode::kFixed:
    case BucketMode::kUnaware: return std::make_unique<FixedBuckets>(table, pool);
    case BucketMode::kDynamic: return MakeDynamicBuckets(table, budget, pool);
    case BucketMode::kCrossPartition: return MakeCrossPartition(table, budget, pool);
    case BucketMode::kPostponed: return std::make_unique<PostponedBuckets>(table, pool);
  }
  return Unsupported("writing to table ", table.name, ": the table option 'bucket' = ", table.options.bucket,
                     " is not supported for it");
}

}  // namespace headrace
