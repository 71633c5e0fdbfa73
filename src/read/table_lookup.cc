#include "read/table_lookup.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/lock.h"
#include "format/bucket_number.h"
#include "lsm/gather.h"
#include "read/key_bucket.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

// A bucket's files, opened when the first key is asked for.
struct LookedUpBucket {
  BinaryRow partition;
  BucketId bucket;
  int32_t total_buckets = 0;
  std::vector<TreeFilePtr> files;
  std::vector<IndexManifestEntry> deletions;  // where the vectors of `files` are

  mutable Mutex mutex;  // of opening
  mutable std::unique_ptr<KeyLookup> owned GUARDED_BY(mutex);
  mutable std::atomic<const KeyLookup*> opened{nullptr};
};

using Buckets = std::vector<const LookedUpBucket*>;

struct LookedUpPartition {
  std::map<BucketId, std::unique_ptr<LookedUpBucket>> buckets;
  // The bucket counts that files of this partition were written with; a rescaled one has several for a while.
  std::set<int32_t> totals;
};

class SnapshotLookup final : public TableLookup {
 public:
  SnapshotLookup(const Table& table, SnapshotId snapshot, std::vector<std::string> columns,
                 LookupCache* cache)
      : table_(table),
        snapshot_(snapshot),
        columns_(std::move(columns)),
        cache_(cache),
        policy_(MergePolicyOf(table.options, /*drop_deletes=*/true)) {}

  Status Open(const Snapshot& snapshot) {
    const TableSchema& schema = *table_.schema;
    const std::vector<std::string>& key = schema.primary_keys;
    const auto positions_of = [&](const std::vector<std::string>& names) {
      std::vector<size_t> positions;
      for (const std::string& name : names) {
        const auto found = std::find(key.begin(), key.end(), name);
        if (found != key.end()) positions.push_back(static_cast<size_t>(found - key.begin()));
      }
      return positions;
    };
    key_types_ = schema.TypesOf(key);
    partition_ = positions_of(schema.partition_keys);
    partition_told_ = partition_.size() == schema.partition_keys.size();
    bucket_ = positions_of(schema.BucketKeys());
    bucket_told_ = bucket_.size() == schema.BucketKeys().size();
    bucket_types_ = schema.TypesOf(schema.BucketKeys());
    partition_types_ = schema.TypesOf(schema.partition_keys);
    trimmed_ = positions_of(schema.TrimmedPrimaryKeys());
    HEADRACE_ASSIGN_OR_RETURN(order_, KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
    schema_ = ToArrowSchema(schema.FieldsOf(columns_));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits, PlanScan(table_, snapshot));
    for (Split& split : splits) AddSplit(std::move(split));
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Find(const std::vector<Value>& key) const override {
    HEADRACE_RETURN_NOT_OK(CheckWholeKey(*table_.schema, table_.name, key));
    HEADRACE_ASSIGN_OR_RETURN(const Buckets buckets, BucketsOf(key));
    if (buckets.empty()) return nullptr;
    HEADRACE_ASSIGN_OR_RETURN(const EncodedKey encoded, order_.Encode(Picked(key, trimmed_)));
    const KeyColumn column = order_.ColumnOf(encoded);
    for (const LookedUpBucket* bucket : buckets) {
      HEADRACE_ASSIGN_OR_RETURN(KeyedRows found, FindIn(*bucket, column));
      if (found.row_of_key[0] >= 0) return std::move(found.rows);
    }
    return nullptr;
  }

  Result<KeyedRows> FindAll(const std::vector<std::shared_ptr<arrow::Array>>& keys) const override {
    std::map<const LookedUpBucket*, std::vector<uint32_t>> rows_of_bucket;
    const int64_t count = keys[0]->length();
    for (int64_t row = 0; row < count; ++row) {
      std::vector<Value> key;
      for (size_t i = 0; i < keys.size(); ++i) {
        HEADRACE_ASSIGN_OR_RETURN(Value value, ValueAt(*keys[i], row, key_types_[i]));
        key.push_back(std::move(value));
      }
      HEADRACE_RETURN_NOT_OK(CheckWholeKey(*table_.schema, table_.name, key));
      HEADRACE_ASSIGN_OR_RETURN(const Buckets buckets, BucketsOf(key));
      for (const LookedUpBucket* bucket : buckets)
        rows_of_bucket[bucket].push_back(static_cast<uint32_t>(row));
    }
    KeyedRows all;
    all.row_of_key.assign(static_cast<size_t>(count), -1);
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    int64_t found = 0;
    for (auto& [bucket, rows] : rows_of_bucket) {
      std::erase_if(rows, [&](uint32_t row) { return all.row_of_key[row] >= 0; });
      if (rows.empty()) continue;
      HEADRACE_ASSIGN_OR_RETURN(KeyedRows more, FindRowsIn(*bucket, keys, rows));
      for (size_t i = 0; i < rows.size(); ++i) {
        if (more.row_of_key[i] >= 0)
          all.row_of_key[rows[i]] = static_cast<int32_t>(found + more.row_of_key[i]);
      }
      found += more.rows->num_rows();
      if (more.rows->num_rows() > 0) batches.push_back(std::move(more.rows));
    }
    if (batches.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(all.rows, arrow::RecordBatch::MakeEmpty(schema_));
    } else if (batches.size() == 1) {
      all.rows = std::move(batches[0]);
    } else {
      HEADRACE_ASSIGN_OR_RETURN(all.rows, arrow::ConcatenateRecordBatches(batches));
    }
    return all;
  }

 private:
  void AddSplit(Split split) {
    LookedUpPartition& partition = partitions_[split.partition.bytes];
    partition.totals.insert(split.total_buckets);
    std::unique_ptr<LookedUpBucket>& bucket = partition.buckets[split.bucket];
    if (bucket == nullptr) {
      bucket = std::make_unique<LookedUpBucket>();
      bucket->partition = split.partition;
      bucket->bucket = split.bucket;
      bucket->total_buckets = split.total_buckets;
    }
    std::move(split.files.begin(), split.files.end(), std::back_inserter(bucket->files));
    std::move(split.deletions.begin(), split.deletions.end(), std::back_inserter(bucket->deletions));
  }

  static std::vector<Value> Picked(const std::vector<Value>& key, const std::vector<size_t>& positions) {
    std::vector<Value> values;
    values.reserve(positions.size());
    for (const size_t position : positions) values.push_back(key[position]);
    return values;
  }

  // The buckets that may hold the key: one, where its partition and its bucket follow from it.
  Result<Buckets> BucketsOf(const std::vector<Value>& key) const {
    Buckets buckets;
    if (!partition_told_) {
      for (const auto& [bytes, partition] : partitions_)
        HEADRACE_RETURN_NOT_OK(AddBuckets(partition, key, &buckets));
      return buckets;
    }
    std::string bytes;
    if (!partition_.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(BinaryRow row, EncodeBinaryRow(Picked(key, partition_), partition_types_));
      bytes = std::move(row.bytes);
    }
    auto partition = partition_.empty() ? partitions_.begin() : partitions_.find(bytes);
    if (partition != partitions_.end()) HEADRACE_RETURN_NOT_OK(AddBuckets(partition->second, key, &buckets));
    return buckets;
  }

  Status AddBuckets(const LookedUpPartition& partition, const std::vector<Value>& key,
                    Buckets* buckets) const {
    for (const int32_t total : partition.totals) {
      std::optional<BucketId> one;
      if (bucket_told_) {
        HEADRACE_ASSIGN_OR_RETURN(
            one, BucketOfValues(Picked(key, bucket_), bucket_types_, table_.options.bucket_function, total));
      }
      if (one.has_value()) {
        const auto found = partition.buckets.find(*one);
        if (found != partition.buckets.end() && found->second->total_buckets == total)
          buckets->push_back(found->second.get());
        continue;
      }
      for (const auto& [id, bucket] : partition.buckets) {
        if (bucket->total_buckets == total) buckets->push_back(bucket.get());
      }
    }
    return Status::OK();
  }

  Result<const KeyLookup*> Opened(const LookedUpBucket& bucket) const {
    if (const KeyLookup* opened = bucket.opened.load(std::memory_order_acquire)) return opened;
    MutexLock lock(bucket.mutex);
    if (bucket.owned == nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(BucketFiles files, FilesOf(table_, bucket.partition, bucket.bucket, nullptr));
      HEADRACE_ASSIGN_OR_RETURN(files.deletions,
                                ReadDeletions(table_, {bucket.partition, bucket.bucket}, bucket.deletions));
      HEADRACE_ASSIGN_OR_RETURN(bucket.owned,
                                KeyLookup::Open(std::move(files), bucket.files, policy_, columns_, cache_));
      bucket.opened.store(bucket.owned.get(), std::memory_order_release);
    }
    return bucket.owned.get();
  }

  Result<KeyedRows> FindIn(const LookedUpBucket& bucket, const KeyColumn& keys) const {
    const Result<const KeyLookup*> lookup = Opened(bucket);
    Result<KeyedRows> found = lookup.ok() ? (*lookup)->Find(keys) : lookup.status();
    if (found.ok()) return found;
    return WithContext("looking up a key in table " + table_.name,
                       ExplainMissing(table_, {snapshot_}, found.status()));
  }

  // `rows` of the keys asked, in any order: the answer to each.
  Result<KeyedRows> FindRowsIn(const LookedUpBucket& bucket,
                               const std::vector<std::shared_ptr<arrow::Array>>& keys,
                               const std::vector<uint32_t>& rows) const {
    HEADRACE_ASSIGN_OR_RETURN(const KeyColumn unsorted, Encoded(keys, rows));
    std::vector<uint32_t> by_key(rows.size());
    std::iota(by_key.begin(), by_key.end(), 0);
    std::sort(by_key.begin(), by_key.end(),
              [&](uint32_t a, uint32_t b) { return unsorted.Compare(a, unsorted, b) < 0; });
    std::vector<uint32_t> asked;                  // rows of the batch, each key once
    std::vector<uint32_t> place_of(rows.size());  // of each row among those asked
    for (size_t i = 0; i < by_key.size(); ++i) {
      if (i == 0 || unsorted.Compare(by_key[i - 1], unsorted, by_key[i]) != 0)
        asked.push_back(rows[by_key[i]]);
      place_of[by_key[i]] = static_cast<uint32_t>(asked.size() - 1);
    }
    HEADRACE_ASSIGN_OR_RETURN(const KeyColumn sorted, Encoded(keys, asked));
    HEADRACE_ASSIGN_OR_RETURN(KeyedRows found, FindIn(bucket, sorted));
    std::vector<int32_t> row_of_key;
    for (const uint32_t place : place_of) row_of_key.push_back(found.row_of_key[place]);
    found.row_of_key = std::move(row_of_key);
    return found;
  }

  Result<KeyColumn> Encoded(const std::vector<std::shared_ptr<arrow::Array>>& keys,
                            const std::vector<uint32_t>& rows) const {
    std::vector<RowRef> refs;
    for (const uint32_t row : rows) refs.push_back({0, row});
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const size_t position : trimmed_) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column,
                                GatherColumn(std::span(&keys[position], 1), refs, nullptr));
      columns.push_back(std::move(column));
    }
    return order_.Encode(columns);
  }

  const Table table_;
  const SnapshotId snapshot_;
  const std::vector<std::string> columns_;
  LookupCache* const cache_;
  const MergePolicy policy_;
  KeyOrder order_;
  std::vector<DataType> key_types_;
  std::vector<size_t> partition_;  // positions in the primary key
  std::vector<size_t> bucket_;
  std::vector<size_t> trimmed_;
  std::vector<DataType> partition_types_;
  std::vector<DataType> bucket_types_;
  bool partition_told_ = false;  // the key tells its partition
  bool bucket_told_ = false;     // … its bucket, where buckets are counted
  std::shared_ptr<arrow::Schema> schema_;
  std::unordered_map<std::string, LookedUpPartition> partitions_;  // by the bytes of the partition
};

}  // namespace

Result<std::unique_ptr<TableLookup>> TableLookup::Open(const Table& table, const Snapshot& snapshot,
                                                       const std::vector<std::string>& columns,
                                                       LookupCache* cache) {
  if (!table.schema->has_primary_key())
    return Invalid("looking up keys in table ", table.name, ": it has no primary key; use read");
  HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> names, ColumnsWanted(table, columns));
  auto lookup = std::make_unique<SnapshotLookup>(table, snapshot.id, std::move(names), cache);
  HEADRACE_RETURN_NOT_OK(lookup->Open(snapshot));
  return lookup;
}

}  // namespace headrace
