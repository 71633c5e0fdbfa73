#include "write/live_view.h"

#include <algorithm>

#include "catalog/snapshots.h"
#include "write/reading_again.h"

namespace headrace {
Status LiveView::CheckTotalBuckets(const ManifestEntry& entry) const {
  const int32_t option = table_.options.bucket;
  const bool counted = entry.total_buckets > 0 || option > 0;
  if (!counted || option == -2 || entry.bucket.value < 0 || entry.total_buckets == option ||
      entry.total_buckets == 0)
    return Status::OK();
  return Invalid("writing to table ", table_.name, ": ", table_.Describe(entry.partition, entry.bucket),
                 " has files for ", entry.total_buckets, " buckets, the option bucket says ", option,
                 "; 'headrace rescale TABLE --buckets ", option, "' writes it anew, or set bucket back");
}

// A compaction writes what its schema knows. Write-only writers compact nothing.
Status LiveView::CheckColumns(const ManifestEntry& entry) const {
  if (table_.options.write_only || entry.file.schema_id <= table_.schema->id) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto newer, table_.schema_by_id(entry.file.schema_id));
  if (newer->fields == table_.schema->fields) return Status::OK();
  return Invalid(
      "writing to table ", table_.name, ": ", table_.Describe(entry.partition, entry.bucket),
      " has files of schema ", entry.file.schema_id, ", which has other columns than schema ",
      table_.schema->id,
      " that this writer was opened with: compacting them would drop what it does not know; open the "
      "table again");
}

Status LiveView::Keep(std::vector<ManifestEntry> entries) {
  for (ManifestEntry& entry : entries) {
    HEADRACE_RETURN_NOT_OK(CheckTotalBuckets(entry));
    HEADRACE_RETURN_NOT_OK(CheckColumns(entry));
    files_[{std::move(entry.partition), entry.bucket}].push_back(std::move(entry.file));
  }
  return Status::OK();
}

Status LiveView::Load(const std::vector<BucketPlace>& buckets) {
  for (int tries = 1;; ++tries) {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
    const Status loaded = LoadFrom(latest, buckets);
    if (loaded.ok() || !latest.has_value()) return loaded;
    HEADRACE_ASSIGN_OR_RETURN(const bool again, MayReadAgain(table_, *latest, loaded, tries));
    if (!again) return loaded;
  }
}

Status LiveView::LoadFrom(const std::optional<Snapshot>& latest, const std::vector<BucketPlace>& buckets) {
  const SnapshotId id = latest.has_value() ? latest->id : SnapshotId(0);
  const bool again = std::any_of(buckets.begin(), buckets.end(),
                                 [&](const BucketPlace& key) { return taken_.contains(key); });
  if (id != snapshot_ || again) {
    IndexFiles index;
    if (latest.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(index, IndexFiles::Read(table_, *latest));
    }
    index_ = std::move(index);
    deletions_.clear();
    loaded_.clear();
    taken_.clear();
    files_.clear();
  }
  snapshot_ = id;
  if (!latest.has_value()) return Status::OK();
  for (const BucketPlace& key : buckets) {
    if (index_.Of(key).empty() || deletions_.contains(key)) continue;
    HEADRACE_ASSIGN_OR_RETURN(deletions_[key], ReadDeletions(table_, key, index_.Of(key)));
  }

  std::set<BinaryRow> missing;
  for (const BucketPlace& key : buckets)
    if (!loaded_.contains(key.first)) missing.insert(key.first);
  if (missing.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(
      auto entries,
      LiveFiles(table_, *latest,
                {.partitions = std::vector<BinaryRow>(missing.begin(), missing.end()), .bucket = {}}));
  HEADRACE_RETURN_NOT_OK(Keep(std::move(entries)));
  loaded_.insert(missing.begin(), missing.end());
  return Status::OK();
}

std::vector<DataFileMeta> LiveView::Take(const BucketPlace& bucket) {
  taken_.insert(bucket);
  auto node = files_.extract(bucket);
  return node.empty() ? std::vector<DataFileMeta>{} : std::move(node.mapped());
}

std::shared_ptr<const DeletionVectors> LiveView::DeletionsOf(const BucketPlace& bucket) const {
  const auto found = deletions_.find(bucket);
  return found == deletions_.end() ? nullptr : found->second;
}

Result<std::vector<BucketPlace>> LiveView::BucketsWith(Level least, Level most) const {
  for (int tries = 1;; ++tries) {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
    if (!latest.has_value()) return std::vector<BucketPlace>{};
    const auto entries = LiveFiles(
        table_, *latest, {.partitions = {}, .bucket = {}, .detail = EntryDetail::kWithoutStatistics});
    if (!entries.ok()) {
      HEADRACE_ASSIGN_OR_RETURN(const bool again, MayReadAgain(table_, *latest, entries.status(), tries));
      if (again) continue;
      return entries.status();
    }
    std::set<BucketPlace> distinct;
    for (const ManifestEntry& entry : *entries)
      if (entry.file.level >= least && entry.file.level <= most)
        distinct.insert({entry.partition, entry.bucket});
    return std::vector<BucketPlace>(distinct.begin(), distinct.end());
  }
}

}  // namespace headrace
