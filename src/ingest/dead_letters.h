// The file of bad records: each one's exact bytes, where it stood and what was wrong, as a JSON line.
//
//   {"job":"…","input":"/data/a.jsonl","line":4,"field":"after.name","reason":"…","record":"the line without its end"}
// Bytes that are not UTF-8 are under "recordBase64" instead of "record". Lines are held back until Sync, which makes them durable before
// the commit that counts them; bytes() is then part of the position, and opening at a position cuts off what came after it.
// One writer; the file is the job's own: another's is not appended to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace::ingest {

struct DeadLetter {
  std::string_view input;
  std::string_view unit = "line";  // the field's name that has the number: a record of Kafka has an "offset"
  int64_t number = 0;
  std::string_view field;
  std::string_view reason;
  std::string_view record;
};

class DeadLetters {
 public:
  // `bytes` of the file are the job's, by its position; 0 for a job that begins. Fewer bytes, or a file that another job or program wrote, are
  // kInvalid: nothing of it is touched.
  static Result<std::unique_ptr<DeadLetters>> Open(const std::string& path, const std::string& job,
                                                   int64_t bytes);
  ~DeadLetters();

  void Add(const DeadLetter& letter);
  int64_t bytes() const { return bytes_ + static_cast<int64_t>(held_back_.size()); }
  Status Sync();
  // Forgets what was added since the last Sync.
  void Forget() { held_back_.clear(); }
  const std::string& path() const { return path_; }

 private:
  DeadLetters(std::string path, std::string job, int fd, int64_t bytes)
      : path_(std::move(path)), job_(std::move(job)), fd_(fd), bytes_(bytes) {}

  const std::string path_;
  const std::string job_;
  const int fd_;
  int64_t bytes_;  // in the file
  std::string held_back_;
};

}  // namespace headrace::ingest
