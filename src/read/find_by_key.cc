// One row by its primary key.
#include <algorithm>
#include <map>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "lsm/key_lookup.h"
#include "lsm/levels.h"
#include "read/key_bucket.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

// The key's values under their columns' names.
Result<NamedValues> NamedKey(const Table& table, const std::vector<Value>& primary_key) {
  const std::vector<std::string>& names = table.schema->primary_keys;
  if (names.empty()) return Invalid("table ", table.name, " has no primary key to look up by");
  HEADRACE_RETURN_NOT_OK(CheckWholeKey(*table.schema, table.name, primary_key));
  NamedValues key;
  for (size_t i = 0; i < names.size(); ++i) key[names[i]] = primary_key[i];
  return key;
}

// Files by (partition, bucket).
using FilesByBucket = std::map<BucketPlace, std::vector<TreeFilePtr>>;

// Of what a scan would read; the others are left out.
Status KeepScanned(const Table& table, FilesByBucket* buckets) {
  if (!table.options.scans_skip_level_zero()) return Status::OK();
  SchemaId oldest = table.schema->id;
  for (const auto& [place, files] : *buckets)
    for (const TreeFilePtr& file : files) oldest = std::min(oldest, file->meta.schema_id);
  SchemaId without_vectors(-1);
  if (table.options.deletion_vectors) {
    HEADRACE_ASSIGN_OR_RETURN(without_vectors, LastSchemaWithoutDeletionVectors(table, oldest));
  }
  for (auto& [place, files] : *buckets)
    std::erase_if(files, [&](const TreeFilePtr& file) {
      return !IsScanned(table.options, file->meta, without_vectors);
    });
  return Status::OK();
}

// The files that may hold the key. A bucket that it does not hash to is left out, and other partitions where the key tells its own.
Result<FilesByBucket> FilesThatMayHold(const Table& table, const Snapshot& snapshot, const NamedValues& key,
                                       const KeyOrder& order) {
  const TableSchema& schema = *table.schema;
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  if (const auto& names = schema.partition_keys; HasAll(key, names)) {
    HEADRACE_ASSIGN_OR_RETURN(BinaryRow partition,
                              EncodeBinaryRow(ValuesOf(key, names), schema.TypesOf(names)));
    filter.partitions = std::vector<BinaryRow>{std::move(partition)};
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ManifestEntry> live, LiveFiles(table, snapshot, filter));
  FilesByBucket files;
  for (const ManifestEntry& entry : live) {
    if (entry.bucket.value < 0) continue;  // rows that wait for a bucket are not in the table yet
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<BucketId> bucket,
                              BucketOfKey(schema, table.options.bucket_function, key, entry.total_buckets));
    if (bucket.has_value() && *bucket != entry.bucket) continue;
    HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order, entry.file));
    files[{entry.partition, entry.bucket}].push_back(std::move(file));
  }
  return files;
}

// The key's row in one bucket, or null. Only files whose range holds it are asked, and only their vectors are read.
Result<std::shared_ptr<arrow::RecordBatch>> FindIn(const Table& table, const BucketPlace& place,
                                                   const IndexFiles& index, std::vector<TreeFilePtr> among,
                                                   const KeyOrder& order, const EncodedKey& key,
                                                   const MergePolicy& policy,
                                                   const std::vector<std::string>& columns,
                                                   arrow::MemoryPool* pool) {
  std::erase_if(among, [&](const TreeFilePtr& file) { return key < file->min_key || file->max_key < key; });
  if (among.empty()) return nullptr;
  std::vector<std::string> names;
  for (const TreeFilePtr& file : among) names.push_back(file->meta.name);
  HEADRACE_ASSIGN_OR_RETURN(BucketFiles files, FilesOf(table, place.first, place.second, pool));
  HEADRACE_ASSIGN_OR_RETURN(files.deletions, ReadDeletions(table, place, index.DeletionsOf(place, names)));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<KeyLookup> lookup,
                            KeyLookup::Open(std::move(files), among, policy, columns, /*cache=*/nullptr));
  HEADRACE_ASSIGN_OR_RETURN(KeyedRows found, lookup->Find(order.ColumnOf(key)));
  if (found.row_of_key[0] < 0) return nullptr;
  return std::move(found.rows);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> FindByKey(const Table& table, const Snapshot& snapshot,
                                                      const std::vector<Value>& primary_key,
                                                      const ScanOptions& options) {
  const TableSchema& schema = *table.schema;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> columns, ColumnsWanted(table, options.columns));
  HEADRACE_ASSIGN_OR_RETURN(const NamedValues key, NamedKey(table, primary_key));
  HEADRACE_ASSIGN_OR_RETURN(const IndexFiles index, IndexFiles::Read(table, snapshot));
  const std::vector<std::string> trimmed = schema.TrimmedPrimaryKeys();
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order, KeyOrder::OfKey(schema.TypesOf(trimmed)));
  HEADRACE_ASSIGN_OR_RETURN(const EncodedKey encoded, order.Encode(ValuesOf(key, trimmed)));
  HEADRACE_ASSIGN_OR_RETURN(FilesByBucket buckets, FilesThatMayHold(table, snapshot, key, order));
  HEADRACE_RETURN_NOT_OK(KeepScanned(table, &buckets));
  const MergePolicy policy = MergePolicyOf(table.options, /*drop_deletes=*/true);
  for (const auto& [place, among] : buckets) {
    Result<std::shared_ptr<arrow::RecordBatch>> row =
        FindIn(table, place, index, among, order, encoded, policy, columns, options.pool);
    if (!row.ok())
      return WithContext("looking up a key in table " + table.name,
                         ExplainMissing(table, {snapshot.id}, row.status()));
    if (*row != nullptr) return row;
  }
  return nullptr;
}

}  // namespace headrace
