#include "commit/commit_part.h"

#include <algorithm>
#include <set>
#include <utility>

#include "format/deletion_vector.h"
#include "format/hash_index.h"

namespace headrace {
namespace {

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
    entry.partition = change.partition;
    entry.bucket = change.bucket;
    part->index_changes.push_back(std::move(entry));
  }
  for (IndexManifestEntry entry : increment.index_added) {
    entry.kind = EntryKind::kAdd;
    entry.partition = change.partition;
    entry.bucket = change.bucket;
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
                                 [](const auto& entry) { return entry.index_type == kDeletionVectorsIndex; });
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
  const bool one_file_of_vectors = table.options.bucket != -1 || table.schema->has_primary_key();
  const auto replaces = [&](const IndexManifestEntry& added, const IndexManifestEntry& old) {
    return added.index_type == kHashIndexType ? SameBucketAndType(added, old)
                                              : added.file_name == old.file_name;
  };
  for (const IndexManifestEntry& change : changes) {
    if (change.kind == EntryKind::kAdd) {
      std::erase_if(current, [&](const IndexManifestEntry& old) { return replaces(change, old); });
      const bool alone = change.index_type == kDeletionVectorsIndex && one_file_of_vectors;
      const auto other = std::find_if(current.begin(), current.end(), [&](const IndexManifestEntry& old) {
        return alone && SameBucketAndType(change, old);
      });
      if (other != current.end())
        return CommitConflict("committing to table ", table.name, ": index file ", change.file_name, " (",
                              table.Describe(change.partition, change.bucket), ") would take the place of ",
                              other->file_name, ", which another commit has added");
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

void DropVectorsOfRemoved(const std::vector<ManifestEntry>& delta, std::vector<IndexManifestEntry>* index) {
  std::set<std::pair<BucketPlace, std::string>> gone;
  for (const ManifestEntry& entry : delta)
    if (entry.kind == EntryKind::kDelete) gone.insert({{entry.partition, entry.bucket}, entry.file.name});
  for (const ManifestEntry& entry : delta)
    if (entry.kind == EntryKind::kAdd) gone.erase({{entry.partition, entry.bucket}, entry.file.name});
  if (gone.empty()) return;
  std::erase_if(*index, [&](IndexManifestEntry& entry) {
    if (entry.index_type != kDeletionVectorsIndex || !entry.deletion_vectors.has_value()) return false;
    const size_t dropped = std::erase_if(*entry.deletion_vectors, [&](const DeletionVectorRange& range) {
      return gone.contains({{entry.partition, entry.bucket}, range.data_file});
    });
    entry.row_count = static_cast<int64_t>(entry.deletion_vectors->size());
    return dropped > 0 && entry.deletion_vectors->empty();
  });
}

}  // namespace headrace
