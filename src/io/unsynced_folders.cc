#include "io/unsynced_folders.h"

#include "io/posix_file.h"

namespace headrace {

void UnsyncedFolders::Add(const std::string& folder) {
  const MutexLock lock(mutex_);
  folders_.insert(folder);
}

Status UnsyncedFolders::SyncAll() {
  const MutexLock lock(mutex_);
  while (!folders_.empty()) {
    const Status status = SyncFolder(*folders_.begin());
    if (!status.ok() && !IsKind(status, ErrorKind::kNotFound)) return status;
    folders_.erase(folders_.begin());
  }
  return Status::OK();
}

}  // namespace headrace
