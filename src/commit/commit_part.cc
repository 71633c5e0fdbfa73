#include "commit/commit_part.h"

#include <algorithm>
#include <set>

namespace headrace {
namespace {

constexpr std::string_view kHashIndex = "HASH";
constexpr std::string_view kDeletionVectors = "DELETION_VECTORS";

// What is deleted is identified by name, level and companions; its statistics are of no more use.
DataFileMeta WithoutValueStats(DataFileMeta file) {
  file.value_stats = SimpleStats{};
  file.value_stats_columns = std::vector<std::string>{};
  return file;
}

void AddIncrement(const Table& table, const BucketChange& change, const FileIncrement& increment,
                  CommitPart* part) {
  const auto entry_of = [&](EntryKind kind, DataFileMeta file) {
    return ManifestEntry{kind, change.partition, change.bucket, change.total_buckets, std::move(file)};
  };
  for (const DataFileMeta& file : increment.removed) {
    const bool drop_stats = table.options.manifest_drop_delete_stats;
    part->delta.push_back(entry_of(EntryKind::kDelete, drop_stats ? WithoutValueStats(file) : file));
  }
  for (const DataFileMeta& file : increment.added) part->delta.push_back(entry_of(EntryKind::kAdd, file));
  for (const DataFileMeta& file : increment.changelog)
    part->changelog.push_back(entry_of(EntryKind::kAdd, file));
  for (IndexManifestEntry entry : increment.index_removed) {
    entry.kind = EntryKind::kDelete;
    part->index_changes.push_back(std::move(entry));
  }
  for (IndexManifestEntry entry : increment.index_added) {
    entry.kind = EntryKind::kAdd;
    part->index_changes.push_back(std::move(entry));
  }
}

bool SameBucketAndType(const IndexManifestEntry& a, const IndexManifestEntry& b) {
  return a.partition == b.partition && a.bucket == b.bucket && a.index_type == b.index_type;
}

}  // namespace

std::vector<BinaryRow> CommitPart::Partitions() const {
  std::set<BinaryRow> partitions;
  for (const ManifestEntry& entry : delta) partitions.insert(entry.partition);
  for (const IndexManifestEntry& entry : index_changes) partitions.insert(entry.partition);
  return {partitions.begin(), partitions.end()};
}

CommitPart AppendPart(const Table& table, const std::vector<BucketChange>& changes) {
  CommitPart part;
  part.kind = CommitKind::kAppend;
  for (const BucketChange& change : changes) AddIncrement(table, change, change.change.append, &part);
  const bool removes = std::any_of(part.delta.begin(), part.delta.end(),
                                   [](const auto& entry) { return entry.kind == EntryKind::kDelete; });
  const bool hides = std::any_of(part.index_changes.begin(), part.index_changes.end(),
                                 [](const auto& entry) { return entry.index_type == kDeletionVectors; });
  if (removes || hides) part.kind = CommitKind::kOverwrite;
  return part;
}

CommitPart CompactPart(const Table& table, const std::vector<BucketChange>& changes) {
  CommitPart part;
  part.kind = CommitKind::kCompact;
  for (const BucketChange& change : changes) AddIncrement(table, change, change.change.compact, &part);
  return part;
}

Result<std::vector<IndexManifestEntry>> CombineIndex(const Table& table,
                                                     std::vector<IndexManifestEntry> current,
                                                     const std::vector<IndexManifestEntry>& changes) {
  // The vectors of a table without buckets are spread over files; everywhere else a bucket has one file of a type.
  const auto replaces = [&](const IndexManifestEntry& added, const IndexManifestEntry& old) {
    const bool one_a_bucket = added.index_type == kHashIndex ||
                              (added.index_type == kDeletionVectors && table.options.bucket != -1) ||
                              (added.index_type == kDeletionVectors && table.schema->has_primary_key());
    return one_a_bucket ? SameBucketAndType(added, old) : added.file_name == old.file_name;
  };
  for (const IndexManifestEntry& change : changes) {
    if (change.kind == EntryKind::kAdd) {
      std::erase_if(current, [&](const IndexManifestEntry& old) { return replaces(change, old); });
      current.push_back(change);
      continue;
    }
    const size_t erased = std::erase_if(
        current, [&](const IndexManifestEntry& old) { return old.file_name == change.file_name; });
    if (erased == 0)
      return CommitConflict("committing to table ", table.name, ": index file ", change.file_name, " (",
                            table.Describe(change.partition, change.bucket),
                            ") should be replaced, but another commit has removed it");
  }
  return current;
}

}  // namespace headrace
