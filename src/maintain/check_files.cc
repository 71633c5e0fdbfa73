// One data or changelog file: what its manifest says of it, and that it is there with that size.
#include <algorithm>
#include <functional>
#include <utility>

#include "format/column_stats.h"
#include "lsm/key_order.h"
#include "maintain/check_states.h"
#include "read/key_bucket.h"

namespace headrace {
namespace {

// Whatever a check of the file depends on: an entry that says the same is checked once.
size_t HashOf(const ManifestEntry& entry, FileRole role) {
  const DataFileMeta& file = entry.file;
  const std::string facts =
      Told(IdentityOf(entry), '\n', static_cast<int>(role), '\n', entry.total_buckets, '\n', file.size_bytes,
           '\n', file.row_count, '\n', file.min_sequence, '\n', file.max_sequence, '\n', file.schema_id, '\n',
           file.delete_row_count.value_or(-1), '\n', file.min_key.bytes, file.max_key.bytes,
           file.value_stats.min_values.bytes, file.value_stats.max_values.bytes,
           file.key_stats.min_values.bytes, file.key_stats.max_values.bytes);
  size_t hash = std::hash<std::string>()(facts);
  for (const auto& count : file.value_stats.null_counts)
    hash = hash * 31 + static_cast<size_t>(count.value_or(-1));
  return hash;
}

bool AnyTooMany(const SimpleStats& stats, int64_t rows) {
  return std::any_of(stats.null_counts.begin(), stats.null_counts.end(),
                     [&](const std::optional<int64_t>& count) {
                       return count.has_value() && (*count < 0 || *count > rows);
                     });
}

// What cannot be said of any file, beyond what the decoder refuses; empty when nothing is wrong.
std::string Impossible(const TableSchema& schema, const ManifestEntry& entry) {
  const DataFileMeta& file = entry.file;
  if (file.delete_row_count.value_or(0) > file.row_count)
    return Told(*file.delete_row_count, " deletes among ", file.row_count, " rows");
  if (file.min_sequence > file.max_sequence && file.row_count > 0)
    return Told("sequence numbers from ", file.min_sequence, " to ", file.max_sequence);
  if (AnyTooMany(file.value_stats, file.row_count) || AnyTooMany(file.key_stats, file.row_count))
    return Told("more nulls in a column than its ", file.row_count, " rows");
  if (!schema.has_primary_key() && file.level.value > 0)
    return Told("level ", file.level, " in a table without a primary key");
  return {};
}

}  // namespace

std::optional<std::string> FileChecker::PathOf(const ManifestEntry& entry) {
  Result<std::string> path = root_->table.PathOf(entry);
  if (!path.ok()) {
    if (IsKind(path.status(), ErrorKind::kUnsupported)) {
      run_->Add(FindingKind::kDataNotRead, entry.file.name, path.status().message(),
                "files in the table's folder");
    } else {
      run_->Add(FindingKind::kPartitionUndecodable, entry.file.name, path.status().message(),
                "values of the partition columns");
    }
    return std::nullopt;
  }
  if (entry.file.external_path.has_value() && !path->starts_with('/')) {
    run_->Add(FindingKind::kDataNotRead, *path,
              "the file lies outside the table, in a store that is not at hand",
              "files in the table's folder");
    return std::nullopt;
  }
  return *std::move(path);
}

bool FileChecker::CheckFacts(const ManifestEntry& entry, const std::string& path) {
  const std::string impossible = Impossible(*root_->table.schema, entry);
  if (!impossible.empty()) {
    run_->Add(FindingKind::kFileFactsImpossible, path, impossible, "facts that a file can have");
    return false;
  }
  const int32_t bucket = entry.bucket.value;
  const bool postponed = bucket == kPostponeBucket && entry.total_buckets == kPostponeBucket;
  if (!postponed && (bucket < 0 || (entry.total_buckets > 0 && bucket >= entry.total_buckets))) {
    run_->Add(FindingKind::kBucketOutOfRange, path, Told("bucket ", bucket),
              entry.total_buckets > 0 ? Told("0 to ", entry.total_buckets - 1) : std::string("0 or above"));
    return false;
  }
  return true;
}

// The smallest and the largest key tell by themselves where the file belongs, without a look into it.
void FileChecker::CheckKeyBucket(const ManifestEntry& entry, const std::string& path,
                                 const SchemaVersion& version, const BinaryRow& key) {
  if (!version.bucket_function_known) return;
  const TableSchema& schema = *version.schema;
  const std::vector<std::string> names = schema.TrimmedPrimaryKeys();
  const Result<std::vector<Value>> values = DecodeBinaryRow(key, schema.TypesOf(names));
  if (!values.ok()) return;
  NamedValues named;
  for (size_t i = 0; i < names.size(); ++i) named[names[i]] = (*values)[i];
  const Result<std::optional<BucketId>> bucket =
      BucketOfKey(schema, version.placement.bucket_function, named, entry.total_buckets);
  if (!bucket.ok() || !bucket->has_value() || **bucket == entry.bucket) return;
  run_->Add(FindingKind::kKeyInWrongBucket, path,
            Told("a smallest or largest key that belongs to bucket ", **bucket, " of ", entry.total_buckets),
            Told("keys of bucket ", entry.bucket));
}

void FileChecker::CheckKeys(const ManifestEntry& entry, const std::string& path) {
  const SchemaVersion& version = root_->schemas.at(entry.file.schema_id.value);
  if (!version.schema->has_primary_key() || entry.file.row_count == 0) return;
  const Result<KeyOrder> order =
      KeyOrder::OfKey(version.schema->TypesOf(version.schema->TrimmedPrimaryKeys()));
  if (!order.ok()) return;
  const Result<EncodedKey> smallest = order->Encode(entry.file.min_key);
  const Result<EncodedKey> largest = order->Encode(entry.file.max_key);
  for (const Result<EncodedKey>* key : {&smallest, &largest}) {
    if (key->ok()) continue;
    run_->Add(FindingKind::kKeyUndecodable, path, key->status().message(), "a row of the key columns");
    return;
  }
  if (entry.bucket.value == kPostponeBucket) return;  // rows wait there as they came
  if (*smallest > *largest) {
    run_->Add(FindingKind::kKeyRangeInverted, path, "a smallest key above the largest",
              "the first and the last key of the file");
    return;
  }
  CheckKeyBucket(entry, path, version, entry.file.min_key);
  CheckKeyBucket(entry, path, version, entry.file.max_key);
}

void FileChecker::CheckStats(const ManifestEntry& entry, const std::string& path) {
  const TableSchema& schema = *root_->schemas.at(entry.file.schema_id.value).schema;
  const auto columns =
      entry.file.value_stats_columns.has_value() ? entry.file.value_stats_columns : entry.file.write_columns;
  const auto stats = ReadStats(entry.file.value_stats, columns, schema.fields);
  if (!stats.ok())
    run_->Add(FindingKind::kStatsUndecodable, path, stats.status().message(),
              "statistics of the file's columns");
}

bool FileChecker::CheckSize(const ManifestEntry& entry, FileRole role, const std::string& path) {
  const auto info = run_->store->Stat(path);
  if (!info.ok() || !info->has_value() || (*info)->is_directory) {
    const FindingKind kind =
        role == FileRole::kData ? FindingKind::kDataFileMissing : FindingKind::kChangelogFileMissing;
    run_->Add(kind, path, info.ok() ? std::string("no such file") : info.status().message(),
              Told("a file of ", entry.file.size_bytes, " bytes"));
    return false;
  }
  if ((*info)->size_bytes == entry.file.size_bytes) return true;
  run_->Add(FindingKind::kDataFileSizeWrong, path, Told((*info)->size_bytes, " bytes"),
            Told(entry.file.size_bytes, " bytes, as its manifest says"));
  return true;
}

void FileChecker::CheckExtraFiles(const ManifestEntry& entry, const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  for (const std::string& extra : entry.file.extra_files) {
    const auto info = run_->store->Stat(directory + extra);
    if (info.ok() && info->has_value()) continue;
    run_->Add(FindingKind::kExtraFileMissing, directory + extra,
              info.ok() ? std::string("no such file") : info.status().message(),
              "data file " + entry.file.name + " names it");
  }
}

void FileChecker::Check(const ManifestEntry& entry, FileRole role) {
  if (!checked_.insert(HashOf(entry, role)).second) return;
  const std::optional<std::string> path = PathOf(entry);
  if (!path.has_value()) return;
  ++run_->looked_at.files;
  run_->Progressed();
  const bool possible = CheckFacts(entry, *path);
  const bool has_schema = RequireSchema(run_, *root_, entry.file.schema_id, *path, "its manifest entry");
  if (has_schema) {
    CheckKeys(entry, *path);
    CheckStats(entry, *path);
  }
  CheckExtraFiles(entry, *path);
  if (!CheckSize(entry, role, *path)) return;
  if (run_->options.data && has_schema && possible) CheckRows(run_, *root_, entry, role, *path);
}

}  // namespace headrace
