// pread and write, with a buffer before the small writes.
#include "io/local_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "io/posix_file.h"
#include "io/store_path.h"

namespace headrace {
namespace {

class LocalOutputStream final : public arrow::io::OutputStream {
 public:
  LocalOutputStream(std::string path, FileDescriptor file, std::shared_ptr<UnsyncedFolders> unsynced)
      : path_(std::move(path)), file_(std::move(file)), unsynced_(std::move(unsynced)) {}

  ~LocalOutputStream() override { Discard(); }

  Status Write(const void* data, int64_t bytes) override {
    HEADRACE_RETURN_NOT_OK(CheckUsable());
    if (bytes < 0) return Invalid("writing ", path_, ": ", bytes, " bytes");
    position_ += bytes;
    const std::string_view more(static_cast<const char*>(data), static_cast<size_t>(bytes));
    if (buffer_.size() + more.size() < kBufferBytes) {
      buffer_ += more;
      return Status::OK();
    }
    HEADRACE_RETURN_NOT_OK(Flush());
    return Put(more);
  }
  using Writable::Write;

  Status Flush() override {
    HEADRACE_RETURN_NOT_OK(CheckUsable());
    return Put(std::exchange(buffer_, {}));
  }

  Status Close() override {
    if (!file_.valid()) return Status::OK();
    const Status status = Finish();
    if (!status.ok()) Discard();
    return status;
  }

  Status Abort() override {
    Discard();
    return Status::OK();
  }

  bool closed() const override { return !file_.valid(); }
  Result<int64_t> Tell() const override { return position_; }

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;

  Status CheckUsable() const {
    if (!file_.valid()) return IoError("writing ", path_, ": the stream is closed");
    return failure_;
  }

  // After a failed write the file has a gap: nothing more is taken, and Close() repeats the failure.
  Status Put(std::string_view bytes) {
    failure_ = WriteFully(file_.get(), bytes, path_);
    return failure_;
  }

  Status Finish() {
    HEADRACE_RETURN_NOT_OK(Flush());
    if (unsynced_ != nullptr) {
      HEADRACE_RETURN_NOT_OK(SyncFile(file_.get(), path_));
      unsynced_->Add(ParentOf(path_));
    }
    const Status closed = file_.Close(path_);
    if (!closed.ok()) unlink(path_.c_str());
    return closed;
  }

  // An unfinished file is nobody's: nothing refers to it yet.
  void Discard() {
    if (!file_.valid()) return;
    unlink(path_.c_str());
    file_ = FileDescriptor();
  }

  const std::string path_;
  FileDescriptor file_;
  const std::shared_ptr<UnsyncedFolders> unsynced_;  // null: nothing is flushed
  std::string buffer_;
  int64_t position_ = 0;
  Status failure_;
};

// A plain file read by position. Own code rather than Arrow's ReadableFile, so that errors name the file, and a length taken from damaged
// bytes never allocates more than the file holds.
class LocalInputFile final : public arrow::io::RandomAccessFile {
 public:
  LocalInputFile(std::string path, FileDescriptor file, int64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    if (!file_.valid()) return IoError("reading ", path_, ": the file is closed");
    if (position < 0 || bytes < 0) return Invalid("reading ", path_, ": ", bytes, " bytes at ", position);
    int64_t filled = 0;
    while (filled < bytes) {
      const ssize_t got = pread(file_.get(), static_cast<char*>(out) + filled,
                                static_cast<size_t>(bytes - filled), position + filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoError(errno, "reading", path_);
      if (got == 0) break;
      filled += got;
    }
    return filled;
  }

  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override {
    const int64_t there =
        std::clamp<int64_t>(size_ - std::max<int64_t>(position, 0), 0, std::max<int64_t>(bytes, 0));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ResizableBuffer> buffer,
                              arrow::AllocateResizableBuffer(there));
    HEADRACE_ASSIGN_OR_RETURN(const int64_t got,
                              ReadAt(position, bytes < 0 ? bytes : there, buffer->mutable_data()));
    HEADRACE_RETURN_NOT_OK(buffer->Resize(got));
    return buffer;
  }

  Result<int64_t> Read(int64_t bytes, void* out) override {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t got, ReadAt(position_, bytes, out));
    position_ += got;
    return got;
  }

  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, bytes));
    position_ += buffer->size();
    return buffer;
  }

  Status Seek(int64_t position) override {
    if (position < 0) return Invalid("reading ", path_, ": a position of ", position);
    position_ = position;
    return Status::OK();
  }

  Result<int64_t> GetSize() override { return size_; }
  Result<int64_t> Tell() const override { return position_; }
  Status Close() override { return file_.Close(path_); }
  bool closed() const override { return !file_.valid(); }

 private:
  const std::string path_;
  FileDescriptor file_;
  const int64_t size_;
  int64_t position_ = 0;  // of Read alone; ReadAt may be called from any thread
};

}  // namespace

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalInput(const std::string& path) {
  HEADRACE_ASSIGN_OR_RETURN(FileDescriptor file, OpenToRead(path));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoError(errno, "opening", path);
  return std::make_shared<LocalInputFile>(path, std::move(file), info.st_size);
}

Result<std::shared_ptr<arrow::io::OutputStream>> CreateLocalOutput(
    const std::string& path, std::shared_ptr<UnsyncedFolders> unsynced) {
  HEADRACE_ASSIGN_OR_RETURN(FileDescriptor file, CreateNew(path, unsynced != nullptr));
  return std::make_shared<LocalOutputStream>(path, std::move(file), std::move(unsynced));
}

}  // namespace headrace
