#include "lsm/tree_changes.h"

#include <algorithm>
#include <utility>

#include "file/deletion_file.h"

namespace headrace {
namespace {

bool HasName(const std::vector<DataFileMeta>& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(), [&](const DataFileMeta& file) { return file.name == name; });
}

}  // namespace

Status DeleteMade(const FileIncrement& increment, const BucketFiles& files) {
  std::vector<DataFileMeta> made = increment.changelog;
  for (const DataFileMeta& file : increment.added) {
    if (!HasName(increment.removed, file.name)) made.push_back(file);
  }
  const Status data = files.Delete(made);
  const Status index = DeleteIndexFiles(files.store, files.index_directory, increment.index_added);
  return data.ok() ? index : data;
}

void TreeChanges::AddFlushed(FileIncrement flushed) {
  const auto append = [](std::vector<DataFileMeta> from, std::vector<DataFileMeta>* to) {
    to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(std::move(flushed.added), &change_.append.added);
  append(std::move(flushed.changelog), &change_.append.changelog);
}

Status TreeChanges::AddCompacted(const FileIncrement& compacted, const BucketFiles& files) {
  FileIncrement& net = change_.compact;
  std::vector<DataFileMeta> intermediate;
  for (const DataFileMeta& file : compacted.removed) {
    const auto made_here = std::find(net.added.begin(), net.added.end(), file);
    if (made_here == net.added.end()) {
      net.removed.push_back(file);
      continue;
    }
    net.added.erase(made_here);
    // A file under a new level is on disk for the snapshots that list it under the old one.
    if (!HasName(net.removed, file.name) && !HasName(compacted.added, file.name))
      intermediate.push_back(file);
  }
  net.added.insert(net.added.end(), compacted.added.begin(), compacted.added.end());
  net.changelog.insert(net.changelog.end(), compacted.changelog.begin(), compacted.changelog.end());
  const Status index = AddIndex(compacted, files);
  const Status data = files.Delete(intermediate);
  return data.ok() ? index : data;
}

// An index file that was made here and is replaced already is listed nowhere.
Status TreeChanges::AddIndex(const FileIncrement& compacted, const BucketFiles& files) {
  FileIncrement& net = change_.compact;
  std::vector<IndexManifestEntry> intermediate;
  for (const IndexManifestEntry& gone : compacted.index_removed) {
    const auto made_here =
        std::find_if(net.index_added.begin(), net.index_added.end(),
                     [&](const IndexManifestEntry& made) { return made.file_name == gone.file_name; });
    if (made_here == net.index_added.end()) {
      net.index_removed.push_back(gone);
      continue;
    }
    intermediate.push_back(std::move(*made_here));
    net.index_added.erase(made_here);
  }
  net.index_added.insert(net.index_added.end(), compacted.index_added.begin(), compacted.index_added.end());
  return DeleteIndexFiles(files.store, files.index_directory, intermediate);
}

FileChange TreeChanges::Take() { return std::exchange(change_, {}); }

Status TreeChanges::Discard(const BucketFiles& files) {
  const FileChange change = Take();
  const Status compacted = DeleteMade(change.compact, files);
  const Status appended = DeleteMade(change.append, files);
  return compacted.ok() ? appended : compacted;
}

}  // namespace headrace
