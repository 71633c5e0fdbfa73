// A store: the only door to the outside world. Whole-file reads and writes, listing, deletion, and the one
// atomic act that commits are built on: publish a small file if no file of that name exists.
//
// Paths are absolute within the store, '/'-separated, without a trailing '/', '.' or '..'; other forms are kInvalid, as is a file where a folder
// is needed and the reverse. Parent folders are made as needed and an absent folder lists as empty. A missing file is
// ErrorKind::kNotFound; a failure of the medium is kIo.
// Thread-safe: all methods may be called at once from any thread. No method throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/io/type_fwd.h>

#include "base/error.h"

namespace headrace {

struct FileInfo {
  std::string path;         // the full path
  int64_t size_bytes = 0;   // 0 for a folder
  int64_t modified_ms = 0;  // wall clock, milliseconds since 1970 UTC
  bool is_directory = false;
  bool is_link = false;  // the name is a symbolic link; the rest is of what it leads to
};

enum class PublishResult {
  kPublished,  // our bytes are there now, durably
  kExists,     // somebody's file was there before; nothing changed
};

class Store {
 public:
  virtual ~Store() = default;

  // The direct children of a folder, in no order. An absent folder is an empty list.
  virtual Result<std::vector<FileInfo>> List(const std::string& directory) = 0;

  // The names of the direct children that begin with `prefix`, in no order: all that List tells of them, and cheaper in a large folder.
  virtual Result<std::vector<std::string>> ListNames(const std::string& directory, std::string_view prefix);

  // Nothing when no file or folder has that path.
  virtual Result<std::optional<FileInfo>> Stat(const std::string& path) = 0;

  virtual Result<std::string> ReadAll(const std::string& path) = 0;
  virtual Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenForRead(const std::string& path) = 0;

  // A new file; kAlreadyExists when one is there. Close() makes its bytes durable, the next PublishIfAbsent its name; a stream dropped or aborted before Close() leaves no file
  // under this name, unless the process dies: then a part of one may stay. After a failed Write, Close() fails too.
  virtual Result<std::shared_ptr<arrow::io::OutputStream>> OpenForWrite(const std::string& path) = 0;

  // Replaces a whole small file (hints, consumers). A reader sees the old or the new bytes, never a mixture.
  virtual Status Replace(const std::string& path, std::string_view bytes) = 0;

  // Makes `path` with these bytes, durably and with every file closed before, if and only if nothing has that name. Of concurrent callers one gets kPublished.
  // kCommitUnknown when the store did not answer whether it happened: the file may or may not be there.
  virtual Result<PublishResult> PublishIfAbsent(const std::string& path, std::string_view bytes) = 0;

  // Removing what is not there is not an error.
  virtual Status Delete(const std::string& path) = 0;
  virtual Status DeleteRecursively(const std::string& directory) = 0;

  // Whether the folder was there, empty, and is gone now. A folder with something in it stays; that is no error.
  virtual Result<bool> DeleteIfEmpty(const std::string& directory) = 0;

  // Moves a whole folder; kAlreadyExists when the target exists. Not atomic on object stores.
  virtual Status RenameDirectory(const std::string& from, const std::string& to) = 0;
};

}  // namespace headrace
