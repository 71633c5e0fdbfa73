#include "write/dynamic_buckets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "format/hash_index.h"
#include "write/partition_index.h"
#include "write/reading_again.h"

namespace headrace {
namespace {

struct Loaded {
  PartitionIndex index;
  // The index as it will be once everything prepared is committed.
  std::map<BucketId, std::string> files = {};
  std::set<BucketId> extended = {};  // have hashes that no file holds
  bool used = false;                 // since the last commit was prepared
  bool pending = false;              // some of `files` are in a commit that is not made yet
};

std::string IndexPath(const Table& table, const IndexManifestEntry& entry) {
  return table.path + "/index/" + entry.file_name;
}

// The HASH files of a snapshot.
Result<std::vector<IndexManifestEntry>> HashFiles(const Table& table, const Snapshot& snapshot) {
  std::vector<IndexManifestEntry> files;
  if (!snapshot.index_manifest.has_value()) return files;
  HEADRACE_ASSIGN_OR_RETURN(files, ReadIndexManifest(table, *snapshot.index_manifest));
  std::erase_if(files, [](const IndexManifestEntry& entry) { return entry.index_type != kHashIndexType; });
  return files;
}

class DynamicBuckets final : public BucketAssigner {
 public:
  DynamicBuckets(const Table& table, Reservation memory, arrow::MemoryPool* pool)
      : table_(table), keys_(table.schema->TrimmedPrimaryKeys()), memory_(std::move(memory)), pool_(pool) {}

  Result<std::vector<Slice>> Assign(const std::shared_ptr<arrow::RecordBatch>& rows,
                                    const std::shared_ptr<arrow::Array>& kinds) override {
    if (rows->num_rows() == 0) return std::vector<Slice>{};
    HEADRACE_ASSIGN_OR_RETURN(PartitionedRows partitioned, PartitionsOf(table_, *rows));
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<int32_t> hashes, HashKeys(table_, *rows, keys_));
    HEADRACE_RETURN_NOT_OK(Refresh(partitioned.partitions));
    std::vector<Loaded*> indexes;
    for (const BinaryRow& partition : partitioned.partitions) {
      HEADRACE_ASSIGN_OR_RETURN(Loaded * loaded, Load(partition));
      loaded->used = true;
      indexes.push_back(loaded);
    }
    HEADRACE_RETURN_NOT_OK(ReserveFor(indexes, partitioned.of_row, hashes));
    std::vector<BucketId> buckets(hashes.size());
    for (size_t row = 0; row < hashes.size(); ++row) {
      Loaded& loaded = *indexes[partitioned.of_row[row]];
      const int64_t before = loaded.index.hash_count();
      const Result<BucketId> bucket = loaded.index.Assign(hashes[row]);
      if (!bucket.ok())
        return WithContext("writing to " + Named(partitioned.partitions[partitioned.of_row[row]]),
                           bucket.status());
      buckets[row] = *bucket;
      if (loaded.index.hash_count() > before) loaded.extended.insert(*bucket);
    }
    return SliceRows(std::move(partitioned), buckets, rows, kinds, pool_);
  }

  Status Prepare(PreparedCommit* prepared) override {
    std::map<BinaryRow, std::vector<BucketChange*>> changed;
    for (BucketChange& change : prepared->changes)
      if (!change.change.append.empty()) changed[change.partition].push_back(&change);
    for (auto& [partition, changes] : changed) {
      const auto it = partitions_.find(partition);
      if (it == partitions_.end()) continue;
      prepared->expected_hash_index[partition] = it->second.files;
      HEADRACE_RETURN_NOT_OK(WriteExtended(&it->second, changes));
    }
    std::erase_if(partitions_, [](const auto& partition) {
      return !partition.second.used && partition.second.extended.empty();
    });
    for (auto& [partition, loaded] : partitions_) loaded.used = false;
    return memory_.Resize(MemoryBytes(), What());
  }

  void Committed(const std::vector<Snapshot>&) override {
    for (auto& [partition, loaded] : partitions_) loaded.pending = false;
  }

 private:
  std::string Named(const BinaryRow& partition) const {
    const std::string text = table_.DescribePartition(partition);
    return (text.empty() ? "" : text + " of ") + "table " + table_.name;
  }

  std::string What() const { return "the key index of table " + table_.name; }

  int64_t MemoryBytes() const {
    int64_t bytes = 0;
    for (const auto& [partition, loaded] : partitions_) bytes += loaded.index.memory_bytes();
    return bytes;
  }

  // Before the first row is assigned, so that a batch is refused as a whole.
  Status ReserveFor(const std::vector<Loaded*>& indexes, const std::vector<uint32_t>& index_of_row,
                    const std::vector<int32_t>& hashes) {
    std::vector<int64_t> fresh(indexes.size());
    const auto bytes = [&] {
      int64_t sum = MemoryBytes();
      for (size_t i = 0; i < indexes.size(); ++i)
        sum += indexes[i]->index.BytesWith(fresh[i]) - indexes[i]->index.memory_bytes();
      return sum;
    };
    for (const uint32_t index : index_of_row) ++fresh[index];
    if (bytes() <= memory_.bytes()) return Status::OK();
    // Known keys take nothing.
    std::fill(fresh.begin(), fresh.end(), 0);
    for (size_t row = 0; row < hashes.size(); ++row)
      fresh[index_of_row[row]] += !indexes[index_of_row[row]]->index.Find(hashes[row]).has_value();
    return memory_.Resize(std::max(bytes(), memory_.bytes()), What());
  }

  // Of the partitions that are used for the first time since a commit, those whose index another writer has changed are forgotten.
  Status Refresh(const std::vector<BinaryRow>& partitions) {
    std::vector<BinaryRow> idle;
    for (const BinaryRow& partition : partitions) {
      const auto it = partitions_.find(partition);
      if (it != partitions_.end() && !it->second.used && !it->second.pending) idle.push_back(partition);
    }
    if (idle.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
    std::map<BinaryRow, std::map<BucketId, std::string>> files;
    if (latest.has_value()) {
      const auto entries = HashFiles(table_, *latest);
      if (!entries.ok()) {
        // Ended at this moment: what cannot be compared is read again.
        HEADRACE_ASSIGN_OR_RETURN(const bool overtaken, WasOvertaken(table_, *latest, entries.status()));
        if (!overtaken) return entries.status();
      } else {
        for (const IndexManifestEntry& entry : *entries)
          files[entry.partition][entry.bucket] = entry.file_name;
      }
    }
    for (const BinaryRow& partition : idle) {
      const auto it = partitions_.find(partition);
      if (it->second.files != files[partition]) partitions_.erase(it);
    }
    return Status::OK();
  }

  Result<Loaded*> Load(const BinaryRow& partition) {
    if (const auto it = partitions_.find(partition); it != partitions_.end()) return &it->second;
    for (int tries = 1;; ++tries) {
      HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
      Result<Loaded> loaded = LoadFrom(latest, partition);
      if (loaded.ok()) return &partitions_.emplace(partition, *std::move(loaded)).first->second;
      bool again = latest.has_value();
      if (again) {
        HEADRACE_ASSIGN_OR_RETURN(again, MayReadAgain(table_, *latest, loaded.status(), tries));
      }
      if (!again) return WithContext("reading the hash index of " + Named(partition), loaded.status());
    }
  }

  Result<Loaded> LoadFrom(const std::optional<Snapshot>& latest, const BinaryRow& partition) {
    const TableOptions& options = table_.options;
    Loaded loaded{PartitionIndex(options.dynamic_bucket_target_rows, options.dynamic_bucket_max)};
    if (!latest.has_value()) return loaded;
    HEADRACE_ASSIGN_OR_RETURN(const auto files, HashFiles(table_, *latest));
    int64_t hashes = 0;
    for (const IndexManifestEntry& entry : files)
      if (entry.partition == partition) hashes += entry.row_count;
    HEADRACE_RETURN_NOT_OK(memory_.Resize(MemoryBytes() + loaded.index.BytesWith(hashes), What()));
    for (const IndexManifestEntry& entry : files) {
      if (entry.partition != partition) continue;
      const std::string path = IndexPath(table_, entry);
      HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, table_.store->ReadAll(path));
      HEADRACE_ASSIGN_OR_RETURN(const auto read, DecodeHashIndex(bytes, path));
      if (static_cast<int64_t>(read.size()) != entry.row_count)
        return Corruption(path, ": ", read.size(), " hashes, its manifest says ", entry.row_count);
      const Status taken = loaded.index.Load(entry.bucket, read);
      if (!taken.ok()) return WithContext(path, taken);
      loaded.files[entry.bucket] = entry.file_name;
    }
    return loaded;
  }

  // Complete new index files for the buckets that have new hashes. They take the place of the old ones.
  Status WriteExtended(Loaded* loaded, const std::vector<BucketChange*>& changes) {
    std::vector<BucketId> buckets;
    for (const BucketChange* change : changes)
      if (loaded->extended.contains(change->bucket)) buckets.push_back(change->bucket);
    if (buckets.empty()) return Status::OK();
    const auto hashes = loaded->index.HashesOf(buckets);
    for (BucketChange* change : changes) {
      const auto it = hashes.find(change->bucket);
      if (it == hashes.end()) continue;
      HEADRACE_ASSIGN_OR_RETURN(IndexManifestEntry entry, WriteFile(*change, it->second));
      loaded->files[change->bucket] = entry.file_name;
      loaded->pending = true;
      loaded->extended.erase(change->bucket);
      change->change.append.index_added.push_back(std::move(entry));
    }
    return Status::OK();
  }

  Result<IndexManifestEntry> WriteFile(const BucketChange& change, const std::vector<int32_t>& hashes) {
    IndexManifestEntry entry;
    entry.partition = change.partition;
    entry.bucket = change.bucket;
    entry.index_type = std::string(kHashIndexType);
    entry.file_name = "index-" + uuid_ + "-" + std::to_string(files_written_++);
    entry.row_count = static_cast<int64_t>(hashes.size());
    const std::string bytes = EncodeHashIndex(hashes);
    entry.file_size_bytes = static_cast<int64_t>(bytes.size());
    HEADRACE_ASSIGN_OR_RETURN(const auto out, table_.store->OpenForWrite(IndexPath(table_, entry)));
    HEADRACE_RETURN_NOT_OK(out->Write(bytes.data(), entry.file_size_bytes));
    HEADRACE_RETURN_NOT_OK(out->Close());
    return entry;
  }

  const Table& table_;
  const std::vector<std::string> keys_;
  Reservation memory_;
  arrow::MemoryPool* const pool_;
  const std::string uuid_ = NewUuid();
  int64_t files_written_ = 0;
  std::map<BinaryRow, Loaded> partitions_;
};

}  // namespace

Result<std::unique_ptr<BucketAssigner>> MakeDynamicBuckets(const Table& table, MemoryBudget* budget,
                                                           arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(Reservation memory, budget->Reserve(0, "the key index of table " + table.name));
  return std::make_unique<DynamicBuckets>(table, std::move(memory), pool);
}

}  // namespace headrace
