// A Store on a POSIX file system. Paths are absolute paths of the machine.
//
// Publishing writes a temporary file `.headrace.<name>.<uuid>.tmp` in the same folder, makes it durable and then links it to its name, which
// fails where the name is taken: no reader ever sees half of it, and no existing file is ever replaced. Where the file system has no
// hard links, renameat2 with RENAME_NOREPLACE does the same; where that is missing too, publishing is refused (kUnsupported).
// A crash may leave such temporary files behind: List shows them, readers of folders go by the names they know, no later call meets them
// again, and IsLocalTemporary tells them from other engines' files.
// With `sync` what was published survives a power failure, and so do all files that this store closed before: their bytes are flushed when
// they are closed, their folders before the next file is published.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/store.h"
#include "io/unsynced_folders.h"

namespace headrace {

struct LocalStoreOptions {
  // Off, a power failure may lose what was acknowledged, a crash of the process alone may not. For tests and benchmarks.
  bool sync = true;
};

// `path` made absolute against the current folder, without `.`, `..`, doubled or trailing slashes. Does not look at the disk.
Result<std::string> AbsoluteLocalPath(std::string_view path);

// Whether a name is one that publishing and replacing give to their temporary files.
bool IsLocalTemporary(std::string_view name);

class LocalStore final : public Store {
 public:
  explicit LocalStore(LocalStoreOptions options = {}) : options_(options) {}

  Result<std::vector<FileInfo>> List(const std::string& directory) override;
  Result<std::vector<std::string>> ListNames(const std::string& directory, std::string_view prefix) override;
  Result<std::optional<FileInfo>> Stat(const std::string& path) override;
  Result<std::string> ReadAll(const std::string& path) override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenForRead(const std::string& path) override;
  // The file has its name from the start and grows under it. A stream dropped before Close() takes the file with it.
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenForWrite(const std::string& path) override;
  Status Replace(const std::string& path, std::string_view bytes) override;
  Result<PublishResult> PublishIfAbsent(const std::string& path, std::string_view bytes) override;
  Status Delete(const std::string& path) override;
  Status DeleteRecursively(const std::string& directory) override;
  Result<bool> DeleteIfEmpty(const std::string& directory) override;
  Status RenameDirectory(const std::string& from, const std::string& to) override;

 private:
  const LocalStoreOptions options_;
  const std::shared_ptr<UnsyncedFolders> unsynced_ = std::make_shared<UnsyncedFolders>();
};

}  // namespace headrace
