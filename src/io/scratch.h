// Bytes that this process puts aside on local disk because its memory is short. They never outlive it.
//
// LocalScratch is one file without a name: whatever ends the process, a crash or kill -9 too, frees the space and leaves nothing to
// clean up. It is made with the first write. Nothing is flushed to the medium: nobody reads it after a crash. Room is given back
// with Free, where the file system can punch holes at once, else when nothing is put aside any more.
// A full disk is kIo naming the folder, and changes nothing. What is read back is checked against a hash of what was written.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "io/posix_file.h"

namespace headrace {

struct ScratchExtent {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t hash = 0;
};

class Scratch {
 public:
  virtual ~Scratch() = default;
  virtual Result<ScratchExtent> Write(std::span<const uint8_t> bytes) = 0;
  virtual Result<std::shared_ptr<arrow::Buffer>> Read(const ScratchExtent& extent,
                                                      arrow::MemoryPool* pool) const = 0;
  virtual void Free(const ScratchExtent& extent) = 0;
};

class LocalScratch final : public Scratch {
 public:
  // The folder must exist when something is written.
  explicit LocalScratch(std::string directory) : directory_(std::move(directory)) {}

  Result<ScratchExtent> Write(std::span<const uint8_t> bytes) override;
  Result<std::shared_ptr<arrow::Buffer>> Read(const ScratchExtent& extent,
                                              arrow::MemoryPool* pool) const override;
  void Free(const ScratchExtent& extent) override;

  int64_t bytes_in_use() const;

 private:
  Status Open();

  const std::string directory_;
  mutable std::mutex mutex_;  // of what follows; not held while bytes are moved
  FileDescriptor file_;
  int64_t end_ = 0;
  int64_t in_use_ = 0;
};

// The folder for temporary files as the environment names it (TMPDIR), else /tmp.
std::string TemporaryFolder();

}  // namespace headrace
