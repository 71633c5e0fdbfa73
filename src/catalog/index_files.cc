#include "catalog/index_files.h"

#include <algorithm>
#include <utility>

#include "catalog/snapshots.h"
#include "file/deletion_file.h"

namespace headrace {

Result<IndexFiles> IndexFiles::Read(const Table& table, const Snapshot& snapshot) {
  IndexFiles files;
  if (!snapshot.index_manifest.has_value()) return files;
  HEADRACE_ASSIGN_OR_RETURN(std::vector<IndexManifestEntry> entries,
                            ReadIndexManifest(table, *snapshot.index_manifest));
  for (IndexManifestEntry& entry : entries) {
    if (entry.kind != EntryKind::kAdd)
      return Corruption("reading ", ManifestPath(table, *snapshot.index_manifest), ": an entry deletes ",
                        entry.file_name, "; an index manifest lists the files that are there");
    files.files_[{entry.partition, entry.bucket}].push_back(std::move(entry));
  }
  return files;
}

const std::vector<IndexManifestEntry>& IndexFiles::Of(const BucketPlace& bucket) const {
  static const auto* const kNone = new std::vector<IndexManifestEntry>();
  const auto found = files_.find(bucket);
  return found == files_.end() ? *kNone : found->second;
}

std::vector<IndexManifestEntry> IndexFiles::DeletionsOf(const BucketPlace& bucket,
                                                        std::span<const std::string> data_files) const {
  std::vector<IndexManifestEntry> wanted;
  for (const IndexManifestEntry& entry : Of(bucket)) {
    if (entry.index_type != kDeletionVectorsIndex || !entry.deletion_vectors.has_value()) continue;
    std::vector<DeletionVectorRange> ranges;
    for (const DeletionVectorRange& range : *entry.deletion_vectors) {
      if (std::find(data_files.begin(), data_files.end(), range.data_file) != data_files.end())
        ranges.push_back(range);
    }
    if (ranges.empty()) continue;
    IndexManifestEntry& part = wanted.emplace_back(entry);
    part.deletion_vectors = std::move(ranges);
  }
  return wanted;
}

Result<std::shared_ptr<const DeletionVectors>> ReadDeletions(const Table& table, const BucketPlace& bucket,
                                                             std::span<const IndexManifestEntry> entries) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string directory, table.IndexDirectory(bucket.first, bucket.second));
  HEADRACE_ASSIGN_OR_RETURN(DeletionVectors vectors,
                            ReadDeletionFiles(table.store.get(), directory, entries));
  if (vectors.empty()) return nullptr;
  return std::make_shared<const DeletionVectors>(std::move(vectors));
}

Result<SchemaId> LastSchemaWithoutDeletionVectors(const Table& table, SchemaId oldest) {
  return LastSchemaWithoutDeletionVectors(*table.schema, table.schema_by_id, oldest);
}

}  // namespace headrace
