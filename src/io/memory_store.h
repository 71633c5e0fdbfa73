// A Store in memory, with the semantics of the local one; for tests and for tables that need not outlive the process.
//
// A file opened for writing is invisible until Close(), but its name is taken from the start. A file opened for reading stays readable
// after it was deleted or replaced. Folders exist once something was put into them, until DeleteRecursively.
// Thread-safe. Streams and opened files may outlive the store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "io/store.h"

namespace headrace {

class MemoryStore final : public Store {
 public:
  MemoryStore();
  explicit MemoryStore(std::shared_ptr<Clock> clock);  // the clock of modified_ms

  Result<std::vector<FileInfo>> List(const std::string& directory) override;
  Result<std::optional<FileInfo>> Stat(const std::string& path) override;
  Result<std::string> ReadAll(const std::string& path) override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenForRead(const std::string& path) override;
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenForWrite(const std::string& path) override;
  Status Replace(const std::string& path, std::string_view bytes) override;
  Result<PublishResult> PublishIfAbsent(const std::string& path, std::string_view bytes) override;
  Status Delete(const std::string& path) override;
  Status DeleteRecursively(const std::string& directory) override;
  Result<bool> DeleteIfEmpty(const std::string& directory) override;
  Status RenameDirectory(const std::string& from, const std::string& to) override;

 private:
  struct State;
  class Stream;
  std::shared_ptr<State> state_;
};

}  // namespace headrace
