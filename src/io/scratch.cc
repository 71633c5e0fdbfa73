#include "io/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <arrow/buffer.h>
#include <xxhash.h>

namespace headrace {
namespace {

// An open file without a name: born without one where the file system can do that, else robbed of it at once.
FileDescriptor OpenUnnamed(const std::string& directory, int* error) {
  FileDescriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  *error = errno;
  if (file.valid() || (*error != EOPNOTSUPP && *error != EISDIR && *error != EINVAL)) return file;
  std::string path = directory + "/headrace-XXXXXX";
  file = FileDescriptor(mkostemp(path.data(), O_CLOEXEC));
  *error = errno;
  if (file.valid()) unlink(path.c_str());
  return file;
}

template <typename Move>
int MoveFully(int64_t bytes, const Move& move) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t moved = move(done, static_cast<size_t>(bytes - done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EIO;
    done += moved;
  }
  return 0;
}

}  // namespace

Status LocalScratch::Open() {
  if (file_.valid()) return Status::OK();
  int error = 0;
  FileDescriptor file = OpenUnnamed(directory_, &error);
  if (!file.valid()) return ErrnoError(error, "making a file for rows put aside in", directory_);
  file_ = std::move(file);
  return Status::OK();
}

Result<ScratchExtent> LocalScratch::Write(std::span<const uint8_t> bytes) {
  ScratchExtent extent;
  extent.bytes = static_cast<int64_t>(bytes.size());
  extent.hash = XXH3_64bits(bytes.data(), bytes.size());
  {
    const std::lock_guard lock(mutex_);
    HEADRACE_RETURN_NOT_OK(Open());
    extent.offset = end_;
    end_ += extent.bytes;
    in_use_ += extent.bytes;
  }
  const int error = MoveFully(extent.bytes, [&](int64_t done, size_t left) {
    return pwrite(file_.get(), bytes.data() + done, left, extent.offset + done);
  });
  if (error == 0) return extent;
  Free(extent);
  return ErrnoError(error, "putting " + std::to_string(extent.bytes) + " bytes of rows aside in", directory_);
}

Result<std::shared_ptr<arrow::Buffer>> LocalScratch::Read(const ScratchExtent& extent,
                                                          arrow::MemoryPool* pool) const {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(extent.bytes, pool));
  const int error = MoveFully(extent.bytes, [&](int64_t done, size_t left) {
    return pread(file_.get(), buffer->mutable_data() + done, left, extent.offset + done);
  });
  if (error != 0) return ErrnoError(error, "reading rows put aside in", directory_);
  if (XXH3_64bits(buffer->data(), static_cast<size_t>(extent.bytes)) != extent.hash) {
    return Corruption("reading rows put aside in ", directory_, ": ", extent.bytes, " bytes at ",
                      extent.offset, " are not those that were written; check that disk");
  }
  return buffer;
}

void LocalScratch::Free(const ScratchExtent& extent) {
  const std::lock_guard lock(mutex_);
  in_use_ -= extent.bytes;
  if (in_use_ == 0) {
    if (ftruncate(file_.get(), 0) == 0) end_ = 0;
    return;
  }
  // Where holes are not known the space comes back when all is free.
  (void)fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, extent.offset, extent.bytes);
}

int64_t LocalScratch::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::string TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

}  // namespace headrace
