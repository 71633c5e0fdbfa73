#include "ingest/dead_letters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arrow/util/utf8.h>

#include "ingest/encoded_bytes.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

Status Failed(const std::string& doing, const std::string& path) {
  return IoError(doing, " the dead-letter file ", path, ": ", std::strerror(errno));
}

std::string OpeningOf(const std::string& job) {
  std::string opening = "{\"job\":";
  AppendJsonString(job, &opening);
  return opening + ",";
}

// A file with bytes that no position tells of is left from a run that was killed before its first commit, or it is not ours.
Result<bool> BeginsAsOurs(int fd, const std::string& opening, const std::string& path) {
  std::string start(opening.size(), '\0');
  const ssize_t got = ::pread(fd, start.data(), start.size(), 0);
  if (got < 0) return Failed("reading", path);
  start.resize(got);
  return start == opening || opening.starts_with(start);
}

}  // namespace

Result<std::unique_ptr<DeadLetters>> DeadLetters::Open(const std::string& path, const std::string& job,
                                                       int64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Failed("opening", path);
  std::unique_ptr<DeadLetters> letters(new DeadLetters(path, job, fd, bytes));
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Failed("looking at", path);
  if (!S_ISREG(info.st_mode))
    return Invalid("opening the dead-letter file ", path, ": it is not a regular file");
  if (info.st_size < bytes) {
    return Invalid("opening the dead-letter file ", path, ": the job '", job, "' has written ", bytes,
                   " bytes to it, but it has ", info.st_size, "; put it back, or give the job another name");
  }
  if (info.st_size > 0) {
    HEADRACE_ASSIGN_OR_RETURN(const bool ours, BeginsAsOurs(fd, OpeningOf(job), path));
    if (!ours) {
      return Invalid("opening the dead-letter file ", path, ": it holds what the job '", job,
                     "' did not write; give a file that is not there yet");
    }
  }
  if (info.st_size > bytes && ::ftruncate(fd, bytes) != 0) return Failed("cutting back", path);
  return letters;
}

DeadLetters::~DeadLetters() { ::close(fd_); }

void DeadLetters::Add(const DeadLetter& letter) {
  held_back_ += OpeningOf(job_);
  held_back_ += "\"input\":";
  AppendJsonString(letter.input, &held_back_);
  held_back_ += ",\"" + std::string(letter.unit) + "\":" + std::to_string(letter.number) + ",\"field\":";
  AppendJsonString(letter.field, &held_back_);
  held_back_ += ",\"reason\":";
  AppendJsonString(letter.reason, &held_back_);
  arrow::util::InitializeUTF8();
  if (arrow::util::ValidateUTF8(letter.record)) {
    held_back_ += ",\"record\":";
    AppendJsonString(letter.record, &held_back_);
  } else {
    held_back_ += ",\"recordBase64\":\"" + EncodeBase64(letter.record) + "\"";
  }
  held_back_ += "}\n";
}

Status DeadLetters::Sync() {
  std::string_view rest = held_back_;
  while (!rest.empty()) {
    const ssize_t wrote = ::pwrite(fd_, rest.data(), rest.size(),
                                   bytes_ + static_cast<int64_t>(held_back_.size() - rest.size()));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failed("writing", path_);
    rest.remove_prefix(wrote);
  }
  if (!held_back_.empty() && ::fsync(fd_) != 0) return Failed("making durable", path_);
  bytes_ += static_cast<int64_t>(held_back_.size());
  held_back_.clear();
  return Status::OK();
}

}  // namespace headrace::ingest
