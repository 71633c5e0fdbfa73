// A map from paths to immutable buffers, under one lock.
#include "io/memory_store.h"

#include <map>
#include <set>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>

#include "base/lock.h"
#include "io/store_path.h"

namespace headrace {

struct MemoryStore::State {
  struct File {
    std::shared_ptr<arrow::Buffer> bytes;
    int64_t modified_ms = 0;
  };

  explicit State(std::shared_ptr<Clock> the_clock) : clock(std::move(the_clock)) {}

  const std::shared_ptr<Clock> clock;
  Mutex mutex;
  std::map<std::string, File> files GUARDED_BY(mutex);
  std::map<std::string, int64_t> folders GUARDED_BY(mutex);  // when each was made
  std::set<std::string> opened GUARDED_BY(mutex);            // names taken by streams that are not closed yet

  bool Exists(const std::string& path) REQUIRES(mutex) {
    return path == "/" || files.contains(path) || folders.contains(path) || opened.contains(path);
  }

  // Makes `directory` and what is above it.
  Status MakeFolders(std::string directory) REQUIRES(mutex) {
    while (directory != "/") {
      if (files.contains(directory) || opened.contains(directory)) {
        return Invalid("making the folder ", directory, ": a file has that name");
      }
      folders.emplace(directory, clock->NowMs());
      directory = ParentOf(directory);
    }
    return Status::OK();
  }

  Status MakeParents(const std::string& path) REQUIRES(mutex) { return MakeFolders(ParentOf(path)); }

  void Put(const std::string& path, std::shared_ptr<arrow::Buffer> bytes) REQUIRES(mutex) {
    files[path] = {std::move(bytes), clock->NowMs()};
  }

  Result<std::shared_ptr<arrow::Buffer>> Bytes(const std::string& path) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    const auto file = files.find(path);
    if (file != files.end()) return file->second.bytes;
    if (path == "/" || folders.contains(path)) return Invalid("opening ", path, ": it is a folder");
    return NotFound("opening ", path, ": no such file in memory");
  }
};

// Collects the bytes of one file; Close() gives them to the store.
class MemoryStore::Stream final : public arrow::io::OutputStream {
 public:
  Stream(std::shared_ptr<State> state, std::string path) : state_(std::move(state)), path_(std::move(path)) {}
  ~Stream() override { GiveUp(); }

  Status Write(const void* data, int64_t bytes) override {
    if (closed_) return IoError("writing ", path_, ": the stream is closed");
    if (bytes < 0) return Invalid("writing ", path_, ": ", bytes, " bytes");
    bytes_.append(static_cast<const char*>(data), static_cast<size_t>(bytes));
    return Status::OK();
  }
  using Writable::Write;

  Status Close() override {
    if (closed_) return Status::OK();
    closed_ = true;
    MutexLock lock(state_->mutex);
    state_->opened.erase(path_);
    state_->Put(path_, arrow::Buffer::FromString(std::move(bytes_)));
    return Status::OK();
  }

  Status Abort() override {
    GiveUp();
    return Status::OK();
  }

  bool closed() const override { return closed_; }
  Result<int64_t> Tell() const override { return static_cast<int64_t>(bytes_.size()); }

 private:
  void GiveUp() {
    if (closed_) return;
    closed_ = true;
    MutexLock lock(state_->mutex);
    state_->opened.erase(path_);
  }

  const std::shared_ptr<State> state_;
  const std::string path_;
  std::string bytes_;
  bool closed_ = false;
};

MemoryStore::MemoryStore() : MemoryStore(std::make_shared<SystemClock>()) {}
MemoryStore::MemoryStore(std::shared_ptr<Clock> clock) : state_(std::make_shared<State>(std::move(clock))) {}

Result<std::vector<FileInfo>> MemoryStore::List(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  const std::string prefix = JoinPath(directory, "");
  const auto is_child = [&](const std::string& path) {
    return path.starts_with(prefix) && path.find('/', prefix.size()) == std::string::npos;
  };
  MutexLock lock(state_->mutex);
  if (state_->files.contains(directory))
    return Invalid("listing ", directory, ": it is a file, not a folder");
  std::vector<FileInfo> found;
  for (auto file = state_->files.lower_bound(prefix);
       file != state_->files.end() && file->first.starts_with(prefix); ++file) {
    if (is_child(file->first))
      found.push_back({file->first, file->second.bytes->size(), file->second.modified_ms, false});
  }
  for (auto folder = state_->folders.lower_bound(prefix);
       folder != state_->folders.end() && folder->first.starts_with(prefix); ++folder) {
    if (is_child(folder->first)) found.push_back({folder->first, 0, folder->second, true});
  }
  return found;
}

Result<std::optional<FileInfo>> MemoryStore::Stat(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  MutexLock lock(state_->mutex);
  if (const auto file = state_->files.find(path); file != state_->files.end()) {
    return std::optional<FileInfo>({path, file->second.bytes->size(), file->second.modified_ms, false});
  }
  if (const auto folder = state_->folders.find(path); folder != state_->folders.end()) {
    return std::optional<FileInfo>({path, 0, folder->second, true});
  }
  if (path == "/") return std::optional<FileInfo>({path, 0, 0, true});
  return std::optional<FileInfo>();
}

Result<std::string> MemoryStore::ReadAll(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> bytes, state_->Bytes(path));
  return bytes->ToString();
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> MemoryStore::OpenForRead(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes, state_->Bytes(path));
  return std::make_shared<arrow::io::BufferReader>(std::move(bytes));
}

Result<std::shared_ptr<arrow::io::OutputStream>> MemoryStore::OpenForWrite(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  MutexLock lock(state_->mutex);
  if (state_->Exists(path))
    return AlreadyExists("creating ", path, ": something of that name exists in memory");
  HEADRACE_RETURN_NOT_OK(state_->MakeParents(path));
  state_->opened.insert(path);
  return std::make_shared<Stream>(state_, path);
}

Status MemoryStore::Replace(const std::string& path, std::string_view bytes) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  MutexLock lock(state_->mutex);
  if (path == "/" || state_->folders.contains(path)) return Invalid("replacing ", path, ": it is a folder");
  HEADRACE_RETURN_NOT_OK(state_->MakeParents(path));
  state_->Put(path, arrow::Buffer::FromString(std::string(bytes)));
  return Status::OK();
}

Result<PublishResult> MemoryStore::PublishIfAbsent(const std::string& path, std::string_view bytes) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  MutexLock lock(state_->mutex);
  if (state_->Exists(path)) return PublishResult::kExists;
  HEADRACE_RETURN_NOT_OK(state_->MakeParents(path));
  state_->Put(path, arrow::Buffer::FromString(std::string(bytes)));
  return PublishResult::kPublished;
}

Status MemoryStore::Delete(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  MutexLock lock(state_->mutex);
  if (path == "/" || state_->folders.contains(path)) return Invalid("deleting ", path, ": it is a folder");
  state_->files.erase(path);
  return Status::OK();
}

Status MemoryStore::DeleteRecursively(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  if (directory == "/") return Invalid("deleting /: refused");
  const auto concerned = [&](const auto& entry) {
    return entry.first == directory || IsBelow(entry.first, directory);
  };
  MutexLock lock(state_->mutex);
  std::erase_if(state_->files, concerned);
  std::erase_if(state_->folders, concerned);
  return Status::OK();
}

Result<bool> MemoryStore::DeleteIfEmpty(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  if (directory == "/") return Invalid("deleting /: refused");
  const auto inside = [&](const auto& entry) { return IsBelow(entry.first, directory); };
  MutexLock lock(state_->mutex);
  if (!state_->folders.contains(directory) ||
      std::any_of(state_->files.begin(), state_->files.end(), inside) ||
      std::any_of(state_->folders.begin(), state_->folders.end(), inside))
    return false;
  state_->folders.erase(directory);
  return true;
}

Status MemoryStore::RenameDirectory(const std::string& from, const std::string& to) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(from));
  HEADRACE_RETURN_NOT_OK(CheckStorePath(to));
  HEADRACE_RETURN_NOT_OK(CheckFolderMove(from, to));
  MutexLock lock(state_->mutex);
  if (state_->files.contains(from)) return Invalid("moving ", from, ": it is a file, not a folder");
  if (!state_->folders.contains(from)) return NotFound("moving ", from, ": no such folder in memory");
  if (state_->Exists(to))
    return AlreadyExists("moving ", from, " to ", to, ": something of that name exists in memory");
  HEADRACE_RETURN_NOT_OK(state_->MakeParents(to));

  const auto move = [&](auto& map) {
    std::vector<std::string> concerned;
    for (const auto& [path, value] : map) {
      if (path == from || IsBelow(path, from)) concerned.push_back(path);
    }
    for (const std::string& path : concerned) {
      auto node = map.extract(path);
      node.key() = to + path.substr(from.size());
      map.insert(std::move(node));
    }
  };
  move(state_->files);
  move(state_->folders);
  return Status::OK();
}

}  // namespace headrace
