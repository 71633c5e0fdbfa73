// A Store that fails on purpose, and remembers what it was asked. It stands before another store.
//
// Operations are numbered from 0 in the order in which they begin; every step that touches the medium is one: each Write and the Close of
// a stream, each read of an opened file, besides the calls of Store. A FaultPlan names the number at which something happens, counted among
// the kinds of operation it looks at. A sweep runs a scenario with at = 0, 1, 2, … until fired() is false.
// Thread-safe; the fault happens once (kFail, kPublishUnknown…) or from then on (kStop, kTearAndStop, kDiskFull).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/store.h"

namespace headrace {

enum class StoreOperation {
  kList,
  kStat,
  kReadAll,
  kOpenForRead,
  kRead,  // from an opened file
  kOpenForWrite,
  kWrite,  // to an opened stream
  kClose,  // of an opened stream
  kReplace,
  kPublish,
  kDelete,
  kDeleteRecursively,
  kDeleteIfEmpty,
  kRename,
};

std::string_view NameOf(StoreOperation operation);
inline std::ostream& operator<<(std::ostream& out, StoreOperation operation) {
  return out << NameOf(operation);
}

// Whether the operation can change what is stored.
bool Changes(StoreOperation operation);

enum class FaultKind {
  kNone,
  kFail,  // this one operation is not done and answers kIo
  kStop,  // this and every later operation answer kIo and do nothing, as if the process had been killed before it
  kTearAndStop,  // as kStop, but a write puts half of its bytes first, and the half-written file stays under its name
  kDiskFull,            // from here on whatever needs space answers kIo; reading and deleting go on
  kPublishUnknown,      // a publish is done, and answers kCommitUnknown
  kPublishUnknownLost,  // a publish is not done, and answers kCommitUnknown
  kPublishLate,         // a publish answers kCommitUnknown, and is done only when the next one begins
  kPublishDoneAndStop,  // a publish is done, and its caller never hears of it: everything later answers kIo
};

std::string_view NameOf(FaultKind kind);

struct FaultPlan {
  FaultKind kind = FaultKind::kNone;
  int64_t at = 0;  // the number of the operation, counted among those that `counts` picks
  // Which operations are counted; all by default. The publish kinds always count publishes alone.
  std::function<bool(StoreOperation operation, const std::string& path)> counts = {};
};

struct LoggedOperation {
  StoreOperation operation;
  std::string path;
  int64_t bytes = 0;  // written, published or read; 0 for others
  bool done = false;  // the store below did it and said so
};

class FaultStore final : public Store {
 public:
  explicit FaultStore(std::shared_ptr<Store> below, FaultPlan plan = {});
  ~FaultStore() override;

  // A new plan; counting and fired() start again, the log goes on.
  void SetPlan(FaultPlan plan);
  bool fired() const;
  // The operations counted since the plan was set.
  int64_t counted() const;
  std::vector<LoggedOperation> log() const;
  // Called before an operation is passed on, outside of any lock; for tests that want something to happen in between.
  void SetHook(std::function<void(StoreOperation operation, const std::string& path)> hook);

  Result<std::vector<FileInfo>> List(const std::string& directory) override;
  Result<std::vector<std::string>> ListNames(const std::string& directory, std::string_view prefix) override;
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
  class File;
  std::shared_ptr<State> state_;
};

}  // namespace headrace
