#include "commit/manifest_writer.h"

#include <algorithm>
#include <limits>

#include <arrow/io/interfaces.h>

#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "format/value.h"

namespace headrace {
namespace {

// Minimum, maximum and nulls of each partition column over the entries; exact, as they decide which manifests are skipped.
class PartitionStats {
 public:
  explicit PartitionStats(const Table& table)
      : types_(table.schema->TypesOf(table.schema->partition_keys)),
        low_(types_.size()),
        high_(types_.size()),
        nulls_(types_.size(), 0) {}

  Status Add(const BinaryRow& partition) {
    if (types_.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, DecodeBinaryRow(partition, types_));
    for (size_t i = 0; i < values.size(); ++i) {
      if (IsNull(values[i])) {
        ++nulls_[i];
        continue;
      }
      if (IsNull(low_[i]) || CompareValues(values[i], low_[i]) < 0) low_[i] = values[i];
      if (IsNull(high_[i]) || CompareValues(values[i], high_[i]) > 0) high_[i] = values[i];
    }
    return Status::OK();
  }

  Result<SimpleStats> Finish() const {
    SimpleStats stats;
    HEADRACE_ASSIGN_OR_RETURN(stats.min_values, EncodeBinaryRow(low_, types_));
    HEADRACE_ASSIGN_OR_RETURN(stats.max_values, EncodeBinaryRow(high_, types_));
    stats.null_counts.assign(nulls_.begin(), nulls_.end());
    return stats;
  }

 private:
  std::vector<DataType> types_;
  std::vector<Value> low_;
  std::vector<Value> high_;
  std::vector<int64_t> nulls_;
};

void Widen(int32_t value, std::optional<int32_t>* low, std::optional<int32_t>* high) {
  *low = std::min(low->value_or(value), value);
  *high = std::max(high->value_or(value), value);
}

}  // namespace

Result<ManifestFileMeta> DescribeManifest(const Table& table, const std::vector<ManifestEntry>& entries) {
  ManifestFileMeta meta;
  PartitionStats partitions(table);
  meta.schema_id = entries.empty() ? table.schema->id : SchemaId(std::numeric_limits<int64_t>::min());
  for (const ManifestEntry& entry : entries) {
    (entry.kind == EntryKind::kAdd ? meta.added_files : meta.deleted_files) += 1;
    meta.schema_id = std::max(meta.schema_id, entry.file.schema_id);
    Widen(entry.bucket.value, &meta.min_bucket, &meta.max_bucket);
    Widen(entry.file.level.value, &meta.min_level, &meta.max_level);
    HEADRACE_RETURN_NOT_OK(partitions.Add(entry.partition));
  }
  HEADRACE_ASSIGN_OR_RETURN(meta.partition_stats, partitions.Finish());
  return meta;
}

ManifestWriter::ManifestWriter(const Table& table) : table_(table), uuid_(NewUuid()) {}

Result<WrittenFile> ManifestWriter::WriteFile(std::string name, const std::string& bytes) {
  const std::string path = ManifestPath(table_, name);
  // Remembered before it is written: half of a file is to be deleted too.
  written_.push_back(path);
  HEADRACE_ASSIGN_OR_RETURN(const auto stream, table_.store->OpenForWrite(path));
  HEADRACE_RETURN_NOT_OK(stream->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
  HEADRACE_RETURN_NOT_OK(stream->Close());
  return WrittenFile{std::move(name), static_cast<int64_t>(bytes.size())};
}

Result<WrittenFile> ManifestWriter::WriteList(const std::vector<ManifestFileMeta>& manifests) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            EncodeManifestList(manifests, table_.options.manifest_encoding));
  return WriteFile("manifest-list-" + uuid_ + "-" + std::to_string(next_list_++), bytes);
}

Result<std::vector<ManifestFileMeta>> ManifestWriter::WriteManifests(
    const std::vector<ManifestEntry>& entries) {
  RollingManifests rolling(this);
  for (const ManifestEntry& entry : entries) HEADRACE_RETURN_NOT_OK(rolling.Add(entry));
  return rolling.Finish();
}

Result<WrittenFile> ManifestWriter::WriteIndexManifest(const std::vector<IndexManifestEntry>& entries) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            EncodeIndexManifest(entries, table_.options.manifest_encoding));
  return WriteFile("index-manifest-" + uuid_ + "-" + std::to_string(next_index_++), bytes);
}

void ManifestWriter::DeleteWritten() {
  for (const std::string& path : written_) (void)table_.store->Delete(path);
  written_.clear();
}

Status RollingManifests::Add(ManifestEntry entry) {
  pending_.push_back(std::move(entry));
  if (pending_.size() < check_at_) return Status::OK();
  const Table& table = writer_->table_;
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            EncodeManifest(pending_, table.options.manifest_encoding));
  if (static_cast<int64_t>(bytes.size()) >= table.options.manifest_target_bytes) return WritePending(bytes);
  // A little past the estimate, so that one more encoding is usually enough.
  const double per_entry = static_cast<double>(bytes.size()) / static_cast<double>(pending_.size());
  const auto estimate =
      static_cast<size_t>(static_cast<double>(table.options.manifest_target_bytes) / per_entry * 1.02);
  check_at_ = std::clamp(estimate, pending_.size() + kFirstCheck, pending_.size() * 64);
  return Status::OK();
}

Status RollingManifests::WritePending(const std::string& bytes) {
  HEADRACE_ASSIGN_OR_RETURN(ManifestFileMeta meta, DescribeManifest(writer_->table_, pending_));
  HEADRACE_ASSIGN_OR_RETURN(
      WrittenFile file,
      writer_->WriteFile("manifest-" + writer_->uuid_ + "-" + std::to_string(writer_->next_manifest_++),
                         bytes));
  meta.name = std::move(file.name);
  meta.size_bytes = file.size_bytes;
  done_.push_back(std::move(meta));
  pending_.clear();
  return Status::OK();
}

Result<std::vector<ManifestFileMeta>> RollingManifests::Finish() {
  if (!pending_.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string bytes,
                              EncodeManifest(pending_, writer_->table_.options.manifest_encoding));
    HEADRACE_RETURN_NOT_OK(WritePending(bytes));
  }
  return std::move(done_);
}

}  // namespace headrace
