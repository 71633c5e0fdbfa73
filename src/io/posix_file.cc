// System calls and the words for their failures.
#include "io/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/store_path.h"

namespace headrace {
namespace {

ErrorKind KindOfErrno(int number) {
  switch (number) {
    case ENOENT: return ErrorKind::kNotFound;
    case EEXIST:
    case ENOTEMPTY: return ErrorKind::kAlreadyExists;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG: return ErrorKind::kInvalid;
    default: return ErrorKind::kIo;
  }
}

std::string_view AdviceFor(int number) {
  switch (number) {
    case ENOSPC: return "; free some space on that disk and try again";
    case EDQUOT: return "; the quota of this user is used up: free some space and try again";
    case EFBIG: return "; the file would be larger than the system allows (ulimit -f)";
    case EACCES:
    case EPERM: return "; check the permissions of the file and of its folders for this user";
    case EROFS: return "; the file system is mounted read-only";
    case EMFILE: return "; this process has too many files open: raise the limit (ulimit -n)";
    case ENFILE: return "; the system has too many files open";
    default: return "";
  }
}

std::string TextOfErrno(int number) {
  char buffer[256];
  // The GNU form of strerror_r: the text is where it says, not always in the buffer.
  return strerror_r(number, buffer, sizeof(buffer));
}

template <typename Call>
auto Retrying(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (valid()) close(fd_);
}

Status FileDescriptor::Close(const std::string& path) {
  const int fd = Release();
  // Not repeated on EINTR: the descriptor is closed even then, and its number may be another file's by now.
  if (fd >= 0 && close(fd) != 0 && errno != EINTR) return ErrnoError(errno, "closing", path);
  return Status::OK();
}

Status ErrnoError(int number, std::string_view doing, const std::string& path) {
  std::string message(doing);
  message.append(" ").append(path).append(": ").append(TextOfErrno(number)).append(AdviceFor(number));
  return MakeError(KindOfErrno(number), std::move(message));
}

Status SyncFolder(const std::string& directory) {
  FileDescriptor folder(
      Retrying([&] { return open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.valid()) return ErrnoError(errno, "opening the folder", directory);
  // Some network and user-space file systems cannot flush a folder and say so; they have no such step to miss.
  if (Retrying([&] { return fsync(folder.get()); }) != 0 && errno != EINVAL && errno != EROFS) {
    return ErrnoError(errno, "flushing the folder", directory);
  }
  return Status::OK();
}

Status MakeFolders(const std::string& directory, bool sync) {
  if (mkdir(directory.c_str(), 0777) == 0) return sync ? SyncFolder(ParentOf(directory)) : Status::OK();
  if (errno == EEXIST) {
    struct stat info {};
    if (stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return Status::OK();
    return ErrnoError(ENOTDIR, "making the folder", directory);
  }
  if (errno != ENOENT || directory == "/") return ErrnoError(errno, "making the folder", directory);
  HEADRACE_RETURN_NOT_OK(MakeFolders(ParentOf(directory), sync));
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    return ErrnoError(errno, "making the folder", directory);
  return sync ? SyncFolder(ParentOf(directory)) : Status::OK();
}

Result<FileDescriptor> CreateNew(const std::string& path, bool sync) {
  const auto create = [&] {
    return Retrying([&] { return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  };
  FileDescriptor file(create());
  // Another process may remove an empty folder between our making it and our using it: try a few times.
  for (int attempt = 0; !file.valid() && errno == ENOENT && attempt < 3; ++attempt) {
    HEADRACE_RETURN_NOT_OK(MakeFolders(ParentOf(path), sync));
    file = FileDescriptor(create());
  }
  if (!file.valid()) return ErrnoError(errno, "creating", path);
  return file;
}

Result<FileDescriptor> OpenToRead(const std::string& path) {
  // A named pipe without a writer would be waited for without end; of files the flag means nothing.
  FileDescriptor file(
      Retrying([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (!file.valid()) return ErrnoError(errno == ENOTDIR ? ENOENT : errno, "opening", path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoError(errno, "opening", path);
  if (S_ISDIR(info.st_mode)) return ErrnoError(EISDIR, "opening", path);
  if (!S_ISREG(info.st_mode))
    return Invalid("opening ", path, ": it is a pipe or a device; only files are read by their name");
  return file;
}

Status WriteFully(int fd, std::string_view bytes, const std::string& path) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // the system takes at most 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t wrote =
        Retrying([&] { return write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce)); });
    if (wrote < 0) return ErrnoError(errno, "writing", path);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return Status::OK();
}

Status SyncFile(int fd, const std::string& path) {
  if (Retrying([&] { return fsync(fd); }) != 0) return ErrnoError(errno, "flushing", path);
  return Status::OK();
}

}  // namespace headrace
