// A stream over a file descriptor that counts its own position: a pipe has none to ask for.
#include "cli/output_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

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
