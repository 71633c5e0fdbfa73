// The local store: whole files by temporary file and link or rename, streams under their own name.
#include "io/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/uuid.h"
#include "io/local_file.h"
#include "io/posix_file.h"
#include "io/store_path.h"

namespace headrace {
namespace {

// Files that are read whole are metadata of kilobytes; a limit keeps a wrong path from taking all memory.
constexpr int64_t kMostReadWhole = int64_t{1} << 31;

// Deleting a folder into which others still write is tried so often.
constexpr int kMostDeletions = 10;

// Other engines name theirs `.<name>.<uuid>.tmp`.
constexpr std::string_view kTemporaryPrefix = ".headrace.";
constexpr std::string_view kTemporarySuffix = ".tmp";

int64_t ModifiedMs(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1000000;
}

FileInfo ToFileInfo(std::string path, const struct stat& info) {
  const bool is_directory = S_ISDIR(info.st_mode);
  return {.path = std::move(path),
          .size_bytes = is_directory ? 0 : static_cast<int64_t>(info.st_size),
          .modified_ms = ModifiedMs(info),
          .is_directory = is_directory,
          .is_link = false};
}

// Of `name` in the open folder `folder`, or of a whole path; a link is followed and said to be one. False: errno.
bool StatNamed(int folder, const char* name, const std::string& path, FileInfo* found) {
  struct stat info {};
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const bool is_link = S_ISLNK(info.st_mode);
  if (is_link && fstatat(folder, name, &info, 0) != 0) return false;
  *found = ToFileInfo(path, info);
  found->is_link = is_link;
  return true;
}

// Whether rename or link failed because the file system does not know the operation, not because of these files.
bool IsMissingOperation(int number) {
  return number == EPERM || number == EOPNOTSUPP || number == ENOSYS || number == EINVAL || number == EMLINK;
}

int RenameWithoutReplacing(const std::string& from, const std::string& to) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
}

// Where the outcome of giving a file its name stands.
enum class Naming { kDone, kTaken, kNothingDone, kUnknown };

struct NamingResult {
  Naming naming;
  int number;  // errno of a failure
};

NamingResult NameByRename(const std::string& temporary, const std::string& path) {
  if (RenameWithoutReplacing(temporary, path) == 0) return {Naming::kDone, 0};
  if (errno == EEXIST) return {Naming::kTaken, 0};
  const bool may_have_happened = errno == EIO || errno == ETIMEDOUT || errno == ESTALE;
  return {may_have_happened ? Naming::kUnknown : Naming::kNothingDone, errno};
}

// Gives the finished temporary file its final name unless something has it. `fd` is the open temporary file.
NamingResult NameIfFree(int fd, const std::string& temporary, const std::string& path) {
  if (link(temporary.c_str(), path.c_str()) == 0) return {Naming::kDone, 0};
  const int failure = errno;
  if (IsMissingOperation(failure)) return NameByRename(temporary, path);

  // Over a network an answer can get lost and the repeated request then finds our own link: the count of links tells.
  struct stat info {};
  const bool counted = fstat(fd, &info) == 0;
  if (counted && info.st_nlink >= 2) return {Naming::kDone, 0};
  if (failure == EEXIST) return {Naming::kTaken, 0};
  const bool may_have_happened = failure == EIO || failure == ETIMEDOUT || failure == ESTALE;
  return {may_have_happened ? Naming::kUnknown : Naming::kNothingDone, failure};
}

// A durable file with these bytes under a temporary name in the folder of `path`.
struct TemporaryFile {
  std::string path;
  FileDescriptor file;

  ~TemporaryFile() {
    if (!path.empty()) unlink(path.c_str());
  }
};

Status WriteTemporary(const std::string& path, std::string_view bytes, bool sync, TemporaryFile* temporary) {
  // A name of 255 bytes is legal; shortened, the temporary name stays legal too.
  const std::string name(NameIn(path).substr(0, 128));
  const std::string temporary_path = JoinPath(
      ParentOf(path), std::string(kTemporaryPrefix) + name + "." + NewUuid() + std::string(kTemporarySuffix));
  HEADRACE_ASSIGN_OR_RETURN(temporary->file, CreateNew(temporary_path, sync));
  temporary->path = temporary_path;
  HEADRACE_RETURN_NOT_OK(WriteFully(temporary->file.get(), bytes, temporary_path));
  return sync ? SyncFile(temporary->file.get(), temporary_path) : Status::OK();
}

}  // namespace

Result<std::string> AbsoluteLocalPath(std::string_view path) {
  if (path.empty() || path.find('\0') != path.npos) return Invalid("'", path, "' is not a path");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(std::filesystem::path(path), error);
  if (error) return IoError("finding the current folder for the path ", path, ": ", error.message());
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

bool IsLocalTemporary(std::string_view name) {
  return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

Result<std::vector<std::string>> LocalStore::ListNames(const std::string& directory,
                                                       std::string_view prefix) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  DIR* const stream = opendir(directory.c_str());
  if (stream == nullptr && errno == ENOENT) return std::vector<std::string>();
  if (stream == nullptr) return ErrnoError(errno, "listing", directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, closedir);

  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(stream);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoError(errno, "listing", directory);
  return names;
}

Result<std::vector<FileInfo>> LocalStore::List(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  DIR* const stream = opendir(directory.c_str());
  if (stream == nullptr && errno == ENOENT) return std::vector<FileInfo>();
  if (stream == nullptr) return ErrnoError(errno, "listing", directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, closedir);

  std::vector<FileInfo> found;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(stream);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    FileInfo info;
    if (!StatNamed(dirfd(stream), entry->d_name, JoinPath(directory, name), &info)) {
      if (errno == ENOENT || errno == ELOOP) continue;  // deleted meanwhile, or a link to nothing
      return ErrnoError(errno, "listing", JoinPath(directory, name));
    }
    found.push_back(std::move(info));
  }
  if (errno != 0) return ErrnoError(errno, "listing", directory);
  return found;
}

Result<std::optional<FileInfo>> LocalStore::Stat(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  FileInfo info;
  if (StatNamed(AT_FDCWD, path.c_str(), path, &info)) return std::optional<FileInfo>(std::move(info));
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileInfo>();
  return ErrnoError(errno, "looking for", path);
}

Result<std::string> LocalStore::ReadAll(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  HEADRACE_ASSIGN_OR_RETURN(FileDescriptor file, OpenToRead(path));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoError(errno, "reading", path);

  std::string bytes;
  size_t filled = 0;
  int64_t expected = info.st_size;
  while (true) {
    // One byte more than expected, so that the end shows itself; a file that grows meanwhile is read on.
    if (expected >= kMostReadWhole) {
      return OverBudget("reading ", path, " whole: ", expected, " bytes, at most ", kMostReadWhole,
                        " are read at once");
    }
    bytes.resize(static_cast<size_t>(expected) + 1);
    const ssize_t got = read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, "reading", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled == bytes.size()) expected = static_cast<int64_t>(filled) * 2;
  }
  bytes.resize(filled);
  return bytes;
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> LocalStore::OpenForRead(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  return OpenLocalInput(path);
}

Result<std::shared_ptr<arrow::io::OutputStream>> LocalStore::OpenForWrite(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  return CreateLocalOutput(path, options_.sync ? unsynced_ : nullptr);
}

Status LocalStore::Replace(const std::string& path, std::string_view bytes) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  TemporaryFile temporary;
  HEADRACE_RETURN_NOT_OK(WriteTemporary(path, bytes, options_.sync, &temporary));
  if (rename(temporary.path.c_str(), path.c_str()) != 0) return ErrnoError(errno, "replacing", path);
  temporary.path.clear();  // it has its final name now
  return options_.sync ? SyncFolder(ParentOf(path)) : Status::OK();
}

Result<PublishResult> LocalStore::PublishIfAbsent(const std::string& path, std::string_view bytes) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  TemporaryFile temporary;
  HEADRACE_RETURN_NOT_OK(WriteTemporary(path, bytes, options_.sync, &temporary));
  if (options_.sync) HEADRACE_RETURN_NOT_OK(unsynced_->SyncAll());

  const NamingResult result = NameIfFree(temporary.file.get(), temporary.path, path);
  switch (result.naming) {
    case Naming::kTaken: return PublishResult::kExists;
    case Naming::kUnknown:
      return MakeError(ErrorKind::kCommitUnknown,
                       "whether the file was published is not known: " +
                           ErrnoError(result.number, "publishing", path).message());
    case Naming::kNothingDone:
      if (!IsMissingOperation(result.number)) return ErrnoError(result.number, "publishing", path);
      return Unsupported("publishing ", path,
                         ": its file system has neither hard links nor a rename that does not replace (",
                         ErrnoError(result.number, "link", path).message(),
                         "), so two writers could overwrite each other; use another file system");
    case Naming::kDone: break;
  }
  if (!options_.sync) return PublishResult::kPublished;
  const Status durable = SyncFolder(ParentOf(path));
  if (durable.ok()) return PublishResult::kPublished;
  return CommitUnknown("the file ", path,
                       " was published, but may not survive a power failure: ", durable.message());
}

Status LocalStore::Delete(const std::string& path) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(path));
  if (unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return Status::OK();
  return ErrnoError(errno, "deleting", path);
}

Status LocalStore::DeleteRecursively(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  if (directory == "/") return Invalid("deleting /: refused");
  std::error_code error;
  // A writer that has not noticed yet may put a file into a folder that has just been emptied.
  for (int attempt = 0; attempt < kMostDeletions; ++attempt) {
    error.clear();
    std::filesystem::remove_all(directory, error);
    if (error.value() != ENOTEMPTY && error.value() != EEXIST) break;
  }
  if (!error || error.value() == ENOENT || error.value() == ENOTDIR) return Status::OK();
  return ErrnoError(error.value(), "deleting the folder", directory);
}

Result<bool> LocalStore::DeleteIfEmpty(const std::string& directory) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(directory));
  if (directory == "/") return Invalid("deleting /: refused");
  if (rmdir(directory.c_str()) == 0) return true;
  if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return false;
  return ErrnoError(errno, "deleting the folder", directory);
}

Status LocalStore::RenameDirectory(const std::string& from, const std::string& to) {
  HEADRACE_RETURN_NOT_OK(CheckStorePath(from));
  HEADRACE_RETURN_NOT_OK(CheckStorePath(to));
  HEADRACE_RETURN_NOT_OK(CheckFolderMove(from, to));
  struct stat info {};
  if (stat(from.c_str(), &info) != 0) return ErrnoError(errno == ENOTDIR ? ENOENT : errno, "moving", from);
  if (!S_ISDIR(info.st_mode)) return ErrnoError(ENOTDIR, "moving", from);
  HEADRACE_RETURN_NOT_OK(MakeFolders(ParentOf(to), options_.sync));

  if (RenameWithoutReplacing(from, to) != 0) {
    if (!IsMissingOperation(errno)) return ErrnoError(errno, "moving " + from + " to", to);
    // A plain rename would replace an empty folder; nobody but us makes folders of that name at this moment.
    if (stat(to.c_str(), &info) == 0) return ErrnoError(EEXIST, "moving " + from + " to", to);
    if (rename(from.c_str(), to.c_str()) != 0) return ErrnoError(errno, "moving " + from + " to", to);
  }
  if (!options_.sync) return Status::OK();
  HEADRACE_RETURN_NOT_OK(SyncFolder(ParentOf(to)));
  return SyncFolder(ParentOf(from));
}

}  // namespace headrace
