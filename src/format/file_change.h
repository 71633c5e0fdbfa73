// What one bucket's work changed in its set of files: the unit that a commit is made of.
//
// Plain values. `append` is what new rows brought, `compact` what reorganising brought: they become two snapshots, so that a
// follower of changes never takes a compaction for new rows. Source: CommitMessageImpl, DataIncrement, CompactIncrement.
#pragma once

#include <vector>

#include "format/data_file_meta.h"
#include "format/manifest.h"

namespace headrace {

struct FileIncrement {
  std::vector<DataFileMeta> added;
  std::vector<DataFileMeta> removed;    // exactly as they are listed, level included
  std::vector<DataFileMeta> changelog;  // added to the changelog, never part of the data
  std::vector<IndexManifestEntry> index_added;
  std::vector<IndexManifestEntry> index_removed;

  bool empty() const {
    return added.empty() && removed.empty() && changelog.empty() && index_added.empty() &&
           index_removed.empty();
  }
};

struct FileChange {
  FileIncrement append;
  FileIncrement compact;

  bool empty() const { return append.empty() && compact.empty(); }
};

}  // namespace headrace
