#include "lsm/bucket_index.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "file/deletion_file.h"

namespace headrace {
namespace {

bool HoldsVectors(const IndexManifestEntry& entry) { return entry.index_type == kDeletionVectorsIndex; }

// Whether the bucket has one file of vectors, which is replaced whole.
bool HasOneFile(const BucketFiles& files) {
  return files.schema->has_primary_key() || files.options->bucket != -1;
}

DeletionFileSpec SpecOf(const BucketFiles& files) {
  return {files.store, files.index_directory, files.options->deletion_bitmap64};
}

std::set<std::string> NamesOf(const std::vector<DataFileMeta>& files) {
  std::set<std::string> names;
  for (const DataFileMeta& file : files) names.insert(file.name);
  return names;
}

}  // namespace

Status ReplaceDeletions(const BucketFiles& files, std::span<const IndexManifestEntry> index,
                        const DeletionVectors& now, FileIncrement* increment) {
  HEADRACE_ASSIGN_OR_RETURN(IndexManifestEntry made, WriteDeletionFile(SpecOf(files), now));
  std::copy_if(index.begin(), index.end(), std::back_inserter(increment->index_removed), HoldsVectors);
  increment->index_added.push_back(std::move(made));
  return Status::OK();
}

Status DropDeletions(const BucketFiles& files, std::span<const IndexManifestEntry> index,
                     FileIncrement* increment) {
  const std::set<std::string> gone = NamesOf(increment->removed);
  DeletionVectors kept;
  std::vector<IndexManifestEntry> replaced;
  for (const IndexManifestEntry& entry : index) {
    if (!HoldsVectors(entry) || !entry.deletion_vectors.has_value()) continue;
    const auto& ranges = *entry.deletion_vectors;
    const bool touched = std::any_of(ranges.begin(), ranges.end(),
                                     [&](const auto& range) { return gone.contains(range.data_file); });
    if (!touched) continue;
    replaced.push_back(entry);
    for (const DeletionVectorRange& range : ranges) {
      if (gone.contains(range.data_file)) continue;
      const auto vector = files.deletions->find(range.data_file);
      if (vector == files.deletions->end())
        return Invalid("index file ", entry.file_name, " has a vector for ", range.data_file,
                       ", which was not read");
      kept.insert(*vector);
    }
  }
  if (replaced.empty()) return Status::OK();
  if (HasOneFile(files)) return ReplaceDeletions(files, index, kept, increment);
  HEADRACE_ASSIGN_OR_RETURN(std::vector<IndexManifestEntry> made,
                            WriteDeletionFiles(SpecOf(files), kept, files.options->deletion_file_bytes));
  std::move(made.begin(), made.end(), std::back_inserter(increment->index_added));
  std::move(replaced.begin(), replaced.end(), std::back_inserter(increment->index_removed));
  return Status::OK();
}

std::vector<IndexManifestEntry> IndexAfter(std::vector<IndexManifestEntry> index,
                                           const FileIncrement& increment) {
  for (const IndexManifestEntry& gone : increment.index_removed) {
    std::erase_if(index, [&](const IndexManifestEntry& entry) { return entry.file_name == gone.file_name; });
  }
  index.insert(index.end(), increment.index_added.begin(), increment.index_added.end());
  return index;
}

DeletionVectors DeletionsWithout(const DeletionVectors& deletions, const std::vector<DataFileMeta>& removed) {
  DeletionVectors kept = deletions;
  for (const DataFileMeta& file : removed) kept.erase(file.name);
  return kept;
}

}  // namespace headrace
