// A stream over a file descriptor that counts its own position: a pipe has none to ask for.
#include "cli/output_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <arrow/io/interfaces.h>

namespace headrace::cli {
namespace {

Status Failed(const std::string& name, const char* doing) {
  return Status::IOError(doing, " ", name, ": ", std::strerror(errno));
}

class DescriptorStream final : public arrow::io::OutputStream {
 public:
  // `temporary` takes the name `name` at Close(); empty: the descriptor is the output itself.
  DescriptorStream(int descriptor, std::string name, std::string temporary)
      : descriptor_(descriptor), name_(std::move(name)), temporary_(std::move(temporary)) {
    set_mode(arrow::io::FileMode::WRITE);
  }
  ~DescriptorStream() override {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status Write(const void* data, int64_t bytes) override {
    const char* at = static_cast<const char*>(data);
    for (int64_t left = bytes; left > 0;) {
      const ssize_t written = ::write(descriptor_, at, static_cast<size_t>(left));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed(name_, "writing to");
      at += written;
      left -= written;
      position_ += written;
    }
    return Status::OK();
  }

  Status Flush() override {
    // Pipes and terminals have nothing to make durable.
    if (::fdatasync(descriptor_) == 0 || errno == EINVAL || errno == EROFS) return Status::OK();
    return Failed(name_, "making durable");
  }

  Status Close() override {
    if (descriptor_ < 0) return Status::OK();
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) return Failed(name_, "closing");
    if (temporary_.empty()) return Status::OK();
    if (std::rename(temporary_.c_str(), name_.c_str()) != 0) return Failed(name_, "giving its name to");
    temporary_.clear();
    return Status::OK();
  }

  bool closed() const override { return descriptor_ < 0; }
  Result<int64_t> Tell() const override { return position_; }

 private:
  int descriptor_;
  std::string name_;
  std::string temporary_;
  int64_t position_ = 0;
};

// The bytes up to the end of the last whole line.
Result<int64_t> WholeLines(int descriptor, const std::string& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return Failed(path, "reading");
  int64_t end = info.st_size;
  char chunk[4096];
  while (end > 0) {
    const int64_t begin = std::max<int64_t>(0, end - static_cast<int64_t>(sizeof(chunk)));
    const ssize_t got = ::pread(descriptor, chunk, end - begin, begin);
    if (got != end - begin) return Failed(path, "reading");
    const void* line_end = ::memrchr(chunk, '\n', got);
    if (line_end != nullptr) return begin + (static_cast<const char*>(line_end) - chunk) + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<arrow::io::OutputStream>> OpenForMoreLines(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return OpenOutputFile(path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return Failed(path, "opening");
  auto stream = std::make_shared<DescriptorStream>(descriptor, path, "");
  ARROW_ASSIGN_OR_RAISE(const int64_t end, WholeLines(descriptor, path));
  if (::ftruncate(descriptor, end) != 0 || ::lseek(descriptor, end, SEEK_SET) < 0)
    return Failed(path, "going on with");
  return stream;
}

Result<std::shared_ptr<arrow::io::OutputStream>> OpenStandardOutput() {
  const int copy = ::dup(STDOUT_FILENO);
  if (copy < 0) return Failed("standard output", "opening");
  return std::make_shared<DescriptorStream>(copy, "standard output", "");
}

Result<std::shared_ptr<arrow::io::OutputStream>> OpenOutputFile(const std::string& path) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  const bool in_place = exists && !S_ISREG(info.st_mode);
  const std::string temporary = in_place ? "" : path + "." + std::to_string(::getpid()) + ".tmp";
  const std::string& opened = in_place ? path : temporary;
  const int flags = in_place ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
  const int descriptor = ::open(opened.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) return Failed(path, "opening");
  return std::make_shared<DescriptorStream>(descriptor, path, temporary);
}

}  // namespace headrace::cli
