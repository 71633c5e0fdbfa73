// The few system calls that the local store is made of, with errors that name the file and say what to do.
//
// Nothing here retries or hides a failure except EINTR. Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace headrace {

// An open file descriptor that is closed at the end of its life.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  // Tells what close(2) tells; the descriptor is gone either way.
  Status Close(const std::string& path);

 private:
  int fd_ = -1;
};

// `doing` is a verb with -ing: "writing". The kind follows from the number: ENOENT kNotFound, EEXIST kAlreadyExists, a file where a
// folder should be or the reverse kInvalid, all else kIo.
Status ErrnoError(int number, std::string_view doing, const std::string& path);

// mkdir -p. With `sync`, the folders that were made survive a power failure.
Status MakeFolders(const std::string& directory, bool sync);

// Makes the names in a folder durable: those made, and those gone.
Status SyncFolder(const std::string& directory);

// Creates a file that must not exist yet, and its folders.
Result<FileDescriptor> CreateNew(const std::string& path, bool sync);

Result<FileDescriptor> OpenToRead(const std::string& path);

Status WriteFully(int fd, std::string_view bytes, const std::string& path);
Status SyncFile(int fd, const std::string& path);

}  // namespace headrace
