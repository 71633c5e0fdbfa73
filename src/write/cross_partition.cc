#include "write/cross_partition.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "read/scan.h"
#include "write/key_index.h"
#include "write/partition_buckets.h"
#include "write/reading_again.h"

namespace headrace {
namespace {

// A row as it is to be written: of the batch, but perhaps in another partition or as a delete.
struct Placed {
  int64_t row = 0;
  uint32_t partition = 0;
  BucketId bucket;
  int8_t kind = 0;
  bool elsewhere = false;  // not in the partition that the row itself names
};

Result<std::unique_ptr<BinaryRowEncoder>> KeysOf(const Table& table, const arrow::RecordBatch& rows) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const std::string& name : table.schema->primary_keys) {
    auto column = rows.GetColumnByName(name);
    if (column == nullptr) return Invalid("table ", table.name, ": the rows have no column ", name);
    columns.push_back(std::move(column));
  }
  return BinaryRowEncoder::Make(table.schema->TypesOf(table.schema->primary_keys), std::move(columns));
}

// The rows of one (partition, bucket), the partition's own values in the columns of those that came for another.
Result<Slice> MakeSlice(const Table& table, const BinaryRow& partition, const std::vector<Placed>& placed,
                        const arrow::RecordBatch& rows, arrow::MemoryPool* pool) {
  arrow::Int64Builder picks(pool);
  arrow::Int8Builder kinds(pool);
  bool elsewhere = false;
  for (const Placed& one : placed) {
    HEADRACE_RETURN_NOT_OK(picks.Append(one.row));
    HEADRACE_RETURN_NOT_OK(kinds.Append(one.kind));
    elsewhere |= one.elsewhere;
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto indices, picks.Finish());
  arrow::compute::ExecContext context(pool);
  const auto options = arrow::compute::TakeOptions::NoBoundsCheck();
  Slice slice{partition, placed.front().bucket, nullptr, nullptr};
  HEADRACE_ASSIGN_OR_RETURN(slice.kinds, kinds.Finish());
  arrow::ArrayVector columns;
  for (const auto& column : rows.columns()) {
    HEADRACE_ASSIGN_OR_RETURN(auto taken, arrow::compute::Take(*column, *indices, options, &context));
    columns.push_back(std::move(taken));
  }
  if (elsewhere) {
    const std::vector<std::string>& keys = table.schema->partition_keys;
    const std::vector<DataType> types = table.schema->TypesOf(keys);
    HEADRACE_ASSIGN_OR_RETURN(const auto values, DecodeBinaryRow(partition, types));
    for (size_t i = 0; i < keys.size(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(columns[static_cast<size_t>(table.schema->FieldIndex(keys[i]))],
                                ArrayOf(values[i], types[i], indices->length(), pool));
    }
  }
  slice.rows = arrow::RecordBatch::Make(rows.schema(), indices->length(), std::move(columns));
  return slice;
}

class CrossPartition final : public BucketAssigner {
 public:
  CrossPartition(const Table& table, Reservation memory, int64_t budget_bytes, arrow::MemoryPool* pool)
      : table_(table),
        memory_(std::move(memory)),
        most_bytes_(budget_bytes / 4 * 3),
        pool_(pool),
        buckets_(table.options.dynamic_bucket_target_rows) {}

  Result<std::vector<Slice>> Assign(const std::shared_ptr<arrow::RecordBatch>& rows,
                                    const std::shared_ptr<arrow::Array>& kinds) override {
    if (rows->num_rows() == 0) return std::vector<Slice>{};
    HEADRACE_RETURN_NOT_OK(Refresh());
    HEADRACE_ASSIGN_OR_RETURN(const PartitionedRows partitioned, PartitionsOf(table_, *rows));
    HEADRACE_ASSIGN_OR_RETURN(const auto keys, KeysOf(table_, *rows));
    HEADRACE_RETURN_NOT_OK(ReserveFor(keys.get(), rows->num_rows()));
    std::vector<uint32_t> numbers;
    for (const BinaryRow& partition : partitioned.partitions) numbers.push_back(buckets_.NumberOf(partition));
    const int8_t* kind =
        kinds == nullptr ? nullptr : static_cast<const arrow::Int8Array&>(*kinds).raw_values();
    used_ = true;
    std::vector<Placed> placed;
    placed.reserve(static_cast<size_t>(rows->num_rows()));
    for (int64_t row = 0; row < rows->num_rows(); ++row) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string_view key, keys->EncodeRow(row));
      const uint32_t partition = numbers[partitioned.of_row[static_cast<size_t>(row)]];
      HEADRACE_RETURN_NOT_OK(
          Place(key, {row, partition, BucketId(0), kind == nullptr ? int8_t{0} : kind[row], false}, &placed));
    }
    return Slices(placed, *rows);
  }

  // A commit that is never made would leave a key where the index has it no more, and the next one would have it twice.
  Status MayPrepare() const override {
    if (!pending_) return Status::OK();
    return Invalid(
        "preparing a commit to table ", table_.name,
        ": the one prepared before is not committed; where keys move between partitions each commit builds "
        "on the one before it: commit that one first, or close the writer and write the rows again");
  }

  Status Prepare(PreparedCommit* prepared) override {
    const bool adds = std::any_of(prepared->changes.begin(), prepared->changes.end(),
                                  [](const BucketChange& change) { return !change.change.append.empty(); });
    if (adds && base_.has_value()) {
      prepared->sole_writer_since = base_;
      pending_ = true;
    }
    used_ = false;
    return Status::OK();
  }

  void Committed(const std::vector<Snapshot>& made) override {
    pending_ = false;
    if (!made.empty() && made.front().commit_kind != CommitKind::kCompact) base_ = made.front().id;
  }

 private:
  std::string What() const {
    return "the index of all keys of table " + table_.name + " (" + std::to_string(index_.key_count()) +
           " so far; it is in memory whole, within --memory or EngineOptions::memory_bytes)";
  }

  // Appends what becomes of one row.
  Status Place(std::string_view key, Placed one, std::vector<Placed>* placed) {
    // A row that is dropped anyway gives its key no place: what is added later would have to follow it there.
    if (table_.options.ignore_delete && IsRetract(one.kind)) return Status::OK();
    const std::optional<KeyIndex::Place> old = index_.Find(key);
    if (!old.has_value()) return PlaceNew(key, one, placed);
    if (old->partition == one.partition) {
      one.bucket = BucketId(old->bucket);
      placed->push_back(one);
      return Status::OK();
    }
    // As the old place sees the row. Its kind stays: a delete that names another partition is none the less one.
    Placed there{one.row, old->partition, BucketId(old->bucket), one.kind, true};
    switch (table_.options.merge_engine) {
      case MergeEngine::kFirstRow: return Status::OK();
      case MergeEngine::kPartialUpdate:
      case MergeEngine::kAggregation: placed->push_back(there); return Status::OK();
      case MergeEngine::kDeduplicate: break;
    }
    there.kind = static_cast<int8_t>(RowKind::kDelete);
    placed->push_back(there);
    buckets_.Count(old->partition, BucketId(old->bucket), -1);
    return PlaceNew(key, one, placed);
  }

  Status PlaceNew(std::string_view key, Placed one, std::vector<Placed>* placed) {
    HEADRACE_ASSIGN_OR_RETURN(one.bucket, buckets_.Next(one.partition));
    index_.Put(key, {one.partition, one.bucket.value});
    placed->push_back(one);
    return Status::OK();
  }

  Result<std::vector<Slice>> Slices(const std::vector<Placed>& placed, const arrow::RecordBatch& rows) {
    std::vector<std::vector<Placed>> groups;
    std::unordered_map<uint64_t, size_t> group_of;
    for (const Placed& one : placed) {
      const uint64_t place =
          static_cast<uint64_t>(one.partition) << 32 | static_cast<uint32_t>(one.bucket.value);
      const auto [it, fresh] = group_of.try_emplace(place, groups.size());
      if (fresh) groups.emplace_back();
      groups[it->second].push_back(one);
    }
    std::vector<Slice> slices;
    for (const std::vector<Placed>& group : groups) {
      HEADRACE_ASSIGN_OR_RETURN(
          Slice slice, MakeSlice(table_, buckets_.partition(group.front().partition), group, rows, pool_));
      slices.push_back(std::move(slice));
    }
    return slices;
  }

  // Before the first row is placed, so that a batch is refused as a whole.
  Status ReserveFor(BinaryRowEncoder* keys, int64_t rows) {
    int64_t fresh = 0;
    int64_t bytes = 0;
    for (int64_t row = 0; row < rows; ++row) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string_view key, keys->EncodeRow(row));
      if (index_.Find(key).has_value()) continue;
      ++fresh;
      bytes += static_cast<int64_t>(key.size());
    }
    const int64_t needed = index_.BytesWith(fresh, bytes);
    if (needed > most_bytes_)
      return OverBudget(What(), " needs ", needed, " bytes of memory, at most ", most_bytes_,
                        " are allowed it, three quarters of the budget; give a larger memory budget");
    return memory_.Resize(std::max(memory_.bytes(), needed), What());
  }

  // The first row after a commit: others may have added rows since.
  Status Refresh() {
    if (used_ || pending_) return Status::OK();
    if (base_.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table_));
      HEADRACE_ASSIGN_OR_RETURN(const auto foreign, FindRowsOfOthers(table_, *base_, latest, /*user=*/""));
      if (!foreign.has_value()) {
        base_ = std::max(*base_, latest.value_or(SnapshotId(0)));
        return Status::OK();
      }
    }
    return Bootstrap();
  }

  Status Bootstrap() {
    for (int tries = 1;; ++tries) {
      index_ = KeyIndex();
      buckets_ = PartitionBuckets(table_.options.dynamic_bucket_target_rows);
      base_.reset();
      HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
      const Status read = latest.has_value() ? ReadKeys(*latest) : Status::OK();
      if (read.ok()) {
        base_ = latest.has_value() ? latest->id : SnapshotId(0);
        return Status::OK();
      }
      HEADRACE_ASSIGN_OR_RETURN(const bool again, MayReadAgain(table_, *latest, read, tries));
      if (!again) return WithContext("reading all keys of table " + table_.name, read);
    }
  }

  Status ReadKeys(const Snapshot& snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(const auto splits, PlanScan(table_, snapshot, ScanView::kEveryLevel));
    for (const Split& split : splits) {
      ScanOptions options;
      options.columns = table_.schema->primary_keys;
      options.pool = pool_;
      HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenSplit(table_, split, options));
      std::shared_ptr<arrow::RecordBatch> batch;
      while (true) {
        HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
        if (batch == nullptr) break;
        HEADRACE_RETURN_NOT_OK(TakeKeys(split, *batch));
      }
    }
    return Status::OK();
  }

  Status TakeKeys(const Split& split, const arrow::RecordBatch& batch) {
    HEADRACE_ASSIGN_OR_RETURN(const auto keys, KeysOf(table_, batch));
    HEADRACE_RETURN_NOT_OK(ReserveFor(keys.get(), batch.num_rows()));
    const uint32_t partition = buckets_.NumberOf(split.partition);
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string_view key, keys->EncodeRow(row));
      if (const auto other = index_.Find(key); other.has_value()) {
        return Corruption(
            "a key of ", table_.Describe(split.partition, split.bucket), " is also in ",
            table_.Describe(buckets_.partition(other->partition), BucketId(other->bucket)),
            ": two jobs have written at the same time; delete it in one of them by writing that "
            "partition's row as -D with another engine");
      }
      index_.Put(key, {partition, split.bucket.value});
    }
    buckets_.Count(partition, split.bucket, batch.num_rows());
    return Status::OK();
  }

  const Table& table_;
  Reservation memory_;
  const int64_t most_bytes_;  // the rest is for rows
  arrow::MemoryPool* const pool_;
  KeyIndex index_;
  PartitionBuckets buckets_;
  // The snapshot that the index is of, our own rows included; nothing: it is not read yet.
  std::optional<SnapshotId> base_;
  bool used_ = false;     // since the last commit was prepared
  bool pending_ = false;  // a prepared commit is not made yet
};

}  // namespace

Result<std::unique_ptr<BucketAssigner>> MakeCrossPartition(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(Reservation memory,
                            budget->Reserve(0, "the index of all keys of table " + table.name));
  return std::make_unique<CrossPartition>(table, std::move(memory), budget->limit(), pool);
}

}  // namespace headrace
