// What a tree has changed since somebody last took it: flushed files, and the net effect of its compactions.
//
// A file that a compaction made and a later one consumed is never listed: it is deleted here, unless it is an older file under a
// new level. Plain state without a lock. Source: MergeTreeWriter.updateCompactResult.
#pragma once

#include <vector>

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"

namespace headrace {

// Deletes the files that an increment made: those added under a name that was not removed too (an upgrade keeps its file), and index files.
Status DeleteMade(const FileIncrement& increment, const BucketFiles& files);

class TreeChanges {
 public:
  void AddFlushed(FileIncrement flushed);
  // Deletes what came and went.
  Status AddCompacted(const FileIncrement& compacted, const BucketFiles& files);

  FileChange Take();
  // Deletes every file that is new in here.
  Status Discard(const BucketFiles& files);

 private:
  Status AddIndex(const FileIncrement& compacted, const BucketFiles& files);

  FileChange change_;
};

}  // namespace headrace
