// The folders of a local store that got new names since they were last flushed.
//
// A data file is worth nothing until a published file names it, so its name need not survive a power failure before that. Folders are
// remembered here as files are closed in them, and flushed once each, all together, before the next file is published: a commit of many files in
// a few folders waits for the medium a few times. Thread-safe; while one thread flushes, the others wait, so that none publishes before.
#pragma once

#include <set>
#include <string>

#include "base/error.h"
#include "base/lock.h"

namespace headrace {

class UnsyncedFolders {
 public:
  void Add(const std::string& folder);
  // On failure the folders stay remembered. A folder that is gone has no names to keep.
  Status SyncAll();

 private:
  Mutex mutex_;
  std::set<std::string> folders_ GUARDED_BY(mutex_);
};

}  // namespace headrace
