// One row by its primary key.
#include <algorithm>
#include <map>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "format/bucket_number.h"
#include "lsm/levels.h"
#include "lsm/point_get.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

// The key's values under their columns' names.
class NamedKey {
 public:
  static Result<NamedKey> Make(const Table& table, const std::vector<Value>& primary_key) {
    const std::vector<std::string>& names = table.schema->primary_keys;
    if (names.empty()) return Invalid("table ", table.name, " has no primary key to look up by");
    if (names.size() != primary_key.size()) {
      return Invalid("looking up a key in table ", table.name, ": ", primary_key.size(), " values for the ",
                     names.size(), " columns of its primary key");
    }
    NamedKey key(*table.schema);
    for (size_t i = 0; i < names.size(); ++i) {
      if (IsNull(primary_key[i])) {
        return Invalid("looking up a key in table ", table.name, ": primary-key column ", names[i],
                       " cannot be null");
      }
      key.values_[names[i]] = primary_key[i];
    }
    return key;
  }

  bool Has(const std::vector<std::string>& names) const {
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return values_.contains(name); });
  }
  // Precondition: Has(names).
  std::vector<Value> Of(const std::vector<std::string>& names) const {
    std::vector<Value> values;
    for (const std::string& name : names) values.push_back(values_.at(name));
    return values;
  }
  Result<BinaryRow> RowOf(const std::vector<std::string>& names) const {
    return EncodeBinaryRow(Of(names), schema_->TypesOf(names));
  }

 private:
  explicit NamedKey(const TableSchema& schema) : schema_(&schema) {}

  const TableSchema* schema_;
  std::map<std::string, Value> values_;
};

// The bucket of a key among `total`; nothing where buckets do not follow from the key: then all of them are searched.
Result<std::optional<BucketId>> BucketOf(const Table& table, const NamedKey& key, int32_t total) {
  const std::vector<std::string> names = table.schema->BucketKeys();
  if (total <= 0 || names.empty() || !key.Has(names)) return std::nullopt;
  if (table.options.bucket_function == BucketFunction::kMod) {
    const Value value = key.Of(names)[0];
    if (const auto* narrow = std::get_if<int32_t>(&value)) return BucketOfNumber(*narrow, total);
    if (const auto* wide = std::get_if<int64_t>(&value)) return BucketOfNumber(*wide, total);
    return std::nullopt;
  }
  HEADRACE_ASSIGN_OR_RETURN(const BinaryRow row, key.RowOf(names));
  return BucketOfHash(HashBinaryRow(row.bytes), total);
}

// Files by (partition, bucket).
using FilesByBucket = std::map<std::pair<BinaryRow, BucketId>, std::vector<TreeFilePtr>>;

// The files that may hold the key. A bucket that it does not hash to is left out, and other partitions where the key tells its own.
Result<FilesByBucket> FilesThatMayHold(const Table& table, const Snapshot& snapshot, const NamedKey& key,
                                       const KeyOrder& order) {
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  if (key.Has(table.schema->partition_keys)) {
    HEADRACE_ASSIGN_OR_RETURN(BinaryRow partition, key.RowOf(table.schema->partition_keys));
    filter.partitions = std::vector<BinaryRow>{std::move(partition)};
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ManifestEntry> live, LiveFiles(table, snapshot, filter));
  FilesByBucket files;
  for (const ManifestEntry& entry : live) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<BucketId> bucket,
                              BucketOf(table, key, entry.total_buckets));
    if (bucket.has_value() && *bucket != entry.bucket) continue;
    HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order, entry.file));
    files[{entry.partition, entry.bucket}].push_back(std::move(file));
  }
  return files;
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> FindByKey(const Table& table, const Snapshot& snapshot,
                                                      const std::vector<Value>& primary_key,
                                                      const ScanOptions& options) {
  const TableSchema& schema = *table.schema;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> columns, ColumnsWanted(table, options.columns));
  HEADRACE_ASSIGN_OR_RETURN(const NamedKey key, NamedKey::Make(table, primary_key));
  HEADRACE_RETURN_NOT_OK(CheckNoDeletionVectors(table, snapshot));
  const std::vector<std::string> trimmed = schema.TrimmedPrimaryKeys();
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order, KeyOrder::OfKey(schema.TypesOf(trimmed)));
  HEADRACE_ASSIGN_OR_RETURN(const EncodedKey encoded, order.Encode(key.Of(trimmed)));
  HEADRACE_ASSIGN_OR_RETURN(const FilesByBucket buckets, FilesThatMayHold(table, snapshot, key, order));
  const MergePolicy policy = MergePolicyOf(table.options, /*drop_deletes=*/true);
  for (const auto& [place, among] : buckets) {
    HEADRACE_ASSIGN_OR_RETURN(const BucketFiles files,
                              FilesOf(table, place.first, place.second, options.pool));
    Result<std::optional<FoundRow>> found = FindNewest(files, among, order, encoded, policy, columns);
    if (!found.ok()) return WithContext("looking up a key in table " + table.name, found.status());
    if (found->has_value() && !IsRetract((*found)->kind)) return (*found)->row;
  }
  return nullptr;
}

}  // namespace headrace
