#include "ingest/line_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <glob.h>
#include <xxhash.h>
#include <zstd.h>

#include "ingest/input_file.h"

namespace headrace::ingest {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr size_t kPeek = 1 << 20;
constexpr int kIdleMs = 100;
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

Status ReadFailed(const std::string& path, int error) {
  return IoError("reading ", path, ": ", std::strerror(error));
}

std::string_view NameOfOtherPacking(std::string_view bytes) {
  if (bytes.starts_with("\x1F\x8B")) return "gzip";
  if (bytes.starts_with("BZh")) return "bzip2";
  if (bytes.starts_with("\xFD"
                        "7zXZ"))
    return "xz";
  if (bytes.starts_with("PK\x03\x04")) return "zip";
  return {};
}

}  // namespace

// Unpacked bytes of a descriptor.
class LineSource::Bytes {
 public:
  Bytes(std::string path, int fd, bool may_wait) : path_(std::move(path)), fd_(fd), may_wait_(may_wait) {}
  ~Bytes() {
    ZSTD_freeDStream(zstd_);
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }

  // Some bytes, at most `size`: 0 at the end, -1 when there is nothing yet.
  Result<int64_t> Read(char* out, size_t size) {
    if (!looked_) {
      HEADRACE_ASSIGN_OR_RETURN(const bool ready, LookAtStart());
      if (!ready) return -1;
    }
    return zstd_ == nullptr ? ReadPlain(out, size) : ReadPacked(out, size);
  }
  int64_t raw_bytes() const { return raw_bytes_; }

 private:
  Result<int64_t> ReadRaw(char* out, size_t size) {
    while (true) {
      if (may_wait_) {
        pollfd waiting{fd_, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, kIdleMs);
        if (ready == 0 || (ready < 0 && errno == EINTR)) return -1;
      }
      const ssize_t got = ::read(fd_, out, size);
      if (got >= 0) {
        raw_bytes_ += got;
        return got;
      }
      if (errno == EINTR || errno == EAGAIN) return -1;
      return ReadFailed(path_, errno);
    }
  }

  // The first four bytes tell whether the input is packed.
  Result<bool> LookAtStart() {
    while (packed_.size() < 8) {
      char bytes[8];
      HEADRACE_ASSIGN_OR_RETURN(const int64_t got, ReadRaw(bytes, 8 - packed_.size()));
      if (got < 0) return false;
      if (got == 0) break;
      packed_.append(bytes, got);
    }
    looked_ = true;
    const std::string_view other = NameOfOtherPacking(packed_);
    if (!other.empty()) {
      return Unsupported("reading ", path_, ": it is packed by ", other,
                         "; plain and zstd-packed inputs are read: unpack it into standard input, "
                         "as in `… | headrace ingest TABLE -`");
    }
    if (!std::string_view(packed_).starts_with(kZstdMagic)) return true;
    zstd_ = ZSTD_createDStream();
    if (zstd_ == nullptr) return OverBudget("reading ", path_, ": no memory to unpack zstd");
    // A frame may ask for a window of 2 GiB; the tool's own default is at most 128 MiB.
    ZSTD_DCtx_setParameter(zstd_, ZSTD_d_windowLogMax, 27);
    return true;
  }

  Result<int64_t> ReadPlain(char* out, size_t size) {
    if (packed_used_ < packed_.size()) {
      const size_t taken = std::min(size, packed_.size() - packed_used_);
      std::memcpy(out, packed_.data() + packed_used_, taken);
      packed_used_ += taken;
      return static_cast<int64_t>(taken);
    }
    return ReadRaw(out, size);
  }

  Result<int64_t> ReadPacked(char* out, size_t size) {
    ZSTD_outBuffer target{out, size, 0};
    while (target.pos == 0) {
      if (packed_used_ == packed_.size()) {
        packed_.resize(1 << 17);
        packed_used_ = 0;
        const Result<int64_t> got = ReadRaw(packed_.data(), packed_.size());
        packed_.resize(got.ok() && *got > 0 ? *got : 0);
        HEADRACE_RETURN_NOT_OK(got.status());
        if (*got < 0) return -1;
        if (*got == 0) {
          if (inside_frame_)
            return Corruption("reading ", path_, ": the zstd data ends in the middle of a frame");
          return 0;
        }
      }
      ZSTD_inBuffer source{packed_.data(), packed_.size(), packed_used_};
      const size_t left = ZSTD_decompressStream(zstd_, &target, &source);
      if (ZSTD_isError(left))
        return Corruption("reading ", path_, ": unpacking zstd: ", ZSTD_getErrorName(left));
      inside_frame_ = left != 0;
      packed_used_ = source.pos;
    }
    return static_cast<int64_t>(target.pos);
  }

  const std::string path_;
  const int fd_;
  const bool may_wait_;
  bool looked_ = false;
  std::string packed_;
  size_t packed_used_ = 0;
  ZSTD_DStream* zstd_ = nullptr;
  bool inside_frame_ = false;
  int64_t raw_bytes_ = 0;
};

struct LineSource::Hash {
  XXH3_state_t* state = XXH3_createState();
  Hash() { XXH3_64bits_reset(state); }
  ~Hash() { XXH3_freeState(state); }
  void Add(std::string_view bytes) { XXH3_64bits_update(state, bytes.data(), bytes.size()); }
};

LineSource::LineSource(std::string path, LineSourceOptions options, std::unique_ptr<Bytes> bytes)
    : path_(std::move(path)),
      options_(options),
      bytes_source_(std::move(bytes)),
      hash_(std::make_unique<Hash>()) {}

LineSource::~LineSource() = default;

Result<std::unique_ptr<LineSource>> LineSource::Open(const std::string& path,
                                                     const LineSourceOptions& options) {
  int fd = STDIN_FILENO;
  if (path != "-") {
    HEADRACE_RETURN_NOT_OK(CheckInputFile(path));
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return IoError("opening the input ", path, ": ", std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int failure = errno;
    if (path != "-") ::close(fd);
    return IoError("opening the input ", path, ": ", std::strerror(failure));
  }
  auto bytes = std::make_unique<Bytes>(path == "-" ? "standard input" : path, fd, !S_ISREG(info.st_mode));
  return std::unique_ptr<LineSource>(new LineSource(path, options, std::move(bytes)));
}

Result<LineSource::Filled> LineSource::Fill() {
  if (at_end_) return Filled::kEnd;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
    line_ = {};
  }
  if (static_cast<int64_t>(end_) > options_.max_line_bytes) {
    return Invalid("reading ", path_ == "-" ? "standard input" : path_, ": line ", lines_ + 1,
                   " is longer than ", options_.max_line_bytes,
                   " bytes, the most that a line may have; is it a file of lines?");
  }
  if (buffer_.size() - end_ < kChunk / 2) buffer_.resize(std::max(kChunk, buffer_.size() * 2));
  HEADRACE_ASSIGN_OR_RETURN(const int64_t got,
                            bytes_source_->Read(buffer_.data() + end_, buffer_.size() - end_));
  if (got < 0) return Filled::kIdle;
  if (got == 0) {
    at_end_ = true;
    return Filled::kEnd;
  }
  end_ += got;
  return Filled::kMore;
}

size_t LineSource::FindLineEnd() {
  if (options_.test_decoding) {
    const size_t end = record_end_.Find(std::string_view(buffer_).substr(begin_, end_ - begin_));
    return end == std::string_view::npos ? std::string::npos : begin_ + end;
  }
  if (!options_.csv) {
    const void* found =
        searched_ < end_ ? std::memchr(buffer_.data() + searched_, '\n', end_ - searched_) : nullptr;
    searched_ = found == nullptr ? end_ : static_cast<const char*>(found) - buffer_.data();
    return found == nullptr ? std::string::npos : searched_;
  }
  // A quote opens only at the start of a field; inside, two quotes are one, so the first of them seems to close.
  for (; searched_ < end_; ++searched_) {
    const char c = buffer_[searched_];
    if (csv_state_ == CsvState::kQuoted) {
      if (c == '"') csv_state_ = CsvState::kAfterQuote;
    } else if (c == '\n') {
      return searched_;
    } else if (c == '"' && csv_state_ != CsvState::kPlain) {
      csv_state_ = CsvState::kQuoted;
    } else {
      csv_state_ = c == options_.csv_delimiter ? CsvState::kFieldStart : CsvState::kPlain;
    }
  }
  return std::string::npos;
}

void LineSource::Consume(size_t line_bytes, bool ended) {
  line_ = std::string_view(buffer_).substr(begin_, line_bytes);
  const size_t taken = line_bytes + (ended ? 1 : 0);
  unhashed_ = std::string_view(buffer_).substr(begin_, taken);
  bytes_ += static_cast<int64_t>(taken);
  begin_ += taken;
  searched_ = begin_;
  csv_state_ = CsvState::kFieldStart;
  record_end_.Reset();
  open_end_ = !ended;
  ++lines_;
}

void LineSource::HashLastLine() const {
  if (!unhashed_.empty()) hash_->Add(unhashed_);
  unhashed_ = {};
}

void LineSource::Unread() {
  begin_ -= unhashed_.size();
  bytes_ -= static_cast<int64_t>(unhashed_.size());
  searched_ = begin_;
  record_end_.Reset();
  unhashed_ = {};
  open_end_ = false;
  --lines_;
}

Result<LineSource::Event> LineSource::Next() {
  HashLastLine();
  while (true) {
    const size_t end = FindLineEnd();
    if (end != std::string::npos) {
      Consume(end - begin_, true);
      return Event::kLine;
    }
    HEADRACE_ASSIGN_OR_RETURN(const Filled filled, Fill());
    if (filled == Filled::kIdle) return Event::kIdle;
    if (filled == Filled::kMore) continue;
    if (begin_ == end_) return Event::kEnd;
    Consume(end_ - begin_, false);
    return Event::kLine;
  }
}

Result<std::vector<std::string_view>> LineSource::Peek(const std::atomic<bool>* cancel) {
  // Wait for a first whole line, then take what comes without waiting.
  while (true) {
    const bool has_line =
        end_ > begin_ && std::memchr(buffer_.data() + begin_, '\n', end_ - begin_) != nullptr;
    if (has_line && end_ - begin_ >= kPeek) break;
    HEADRACE_ASSIGN_OR_RETURN(const Filled filled, Fill());
    if (filled == Filled::kEnd ||
        (filled == Filled::kIdle && (has_line || (cancel != nullptr && cancel->load()))))
      break;
  }
  std::vector<std::string_view> lines;
  std::string_view rest = std::string_view(buffer_).substr(begin_, end_ - begin_);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos && !at_end_) break;
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return lines;
}

Status LineSource::SkipTo(const InputPosition& position, std::string* header) {
  const std::string name = path_ == "-" ? "standard input" : path_;
  if (position.bytes > 0 && header != nullptr && options_.csv) {
    Event event = Event::kIdle;
    while (event == Event::kIdle) {
      HEADRACE_ASSIGN_OR_RETURN(event, Next());
    }
    if (event == Event::kLine) *header = line_;
  }
  HashLastLine();
  while (bytes_ < position.bytes) {
    if (begin_ == end_) {
      HEADRACE_ASSIGN_OR_RETURN(const Filled filled, Fill());
      if (filled == Filled::kEnd) {
        return Invalid("resuming ", name, ": ", position.bytes, " bytes of it are ingested, but it has only ",
                       bytes_, "; it is not the same input. Give another --job to ingest it from its start");
      }
      if (filled == Filled::kIdle) continue;
    }
    const size_t taken = std::min<int64_t>(static_cast<int64_t>(end_ - begin_), position.bytes - bytes_);
    hash_->Add(std::string_view(buffer_).substr(begin_, taken));
    begin_ += taken;
    bytes_ += static_cast<int64_t>(taken);
  }
  searched_ = begin_;
  csv_state_ = CsvState::kFieldStart;
  record_end_.Reset();
  if (bytes_ != position.bytes || hash() != position.hash) {
    return Invalid("resuming ", name, ": its first ", position.bytes,
                   " bytes are not the ones that were ingested (hash ", hash(), ", was ", position.hash,
                   "); it is not the same input. Give another --job to ingest it from its start");
  }
  lines_ = position.lines;
  open_end_ = position.open_end;
  if (!position.open_end) return Status::OK();

  // The last line had no line end. If the input grew meanwhile, it must have grown by a line end first.
  while (begin_ == end_) {
    HEADRACE_ASSIGN_OR_RETURN(const Filled filled, Fill());
    if (filled == Filled::kEnd) return Status::OK();
  }
  if (buffer_[begin_] != '\n') {
    return Invalid("resuming ", name, ": line ", lines_,
                   " was ingested without its end and has grown since; ingest whole lines only");
  }
  hash_->Add("\n");
  ++begin_;
  ++bytes_;
  searched_ = begin_;
  record_end_.Reset();
  open_end_ = false;
  return Status::OK();
}

std::string LineSource::hash() const {
  HashLastLine();
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_digest(hash_->state)));
  return text;
}

int64_t LineSource::file_bytes() const { return bytes_source_->raw_bytes(); }

Result<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  for (const std::string& input : inputs) {
    if (input == "-") {
      paths.push_back(input);
      continue;
    }
    std::error_code error;
    const bool exists = std::filesystem::exists(input, error);
    if (exists) {
      paths.push_back(std::filesystem::absolute(input, error).lexically_normal().string());
      continue;
    }
    if (input.find_first_of("*?[") == std::string::npos)
      return NotFound("opening the input ", input, ": there is no such file");
    glob_t found{};
    const int failed = ::glob(input.c_str(), GLOB_ERR, nullptr, &found);
    for (size_t i = 0; failed == 0 && i < found.gl_pathc; ++i) {
      paths.push_back(std::filesystem::absolute(found.gl_pathv[i], error).lexically_normal().string());
    }
    ::globfree(&found);
    if (failed == GLOB_NOMATCH) return NotFound("opening the inputs ", input, ": no file has such a name");
    if (failed != 0) return IoError("listing the inputs ", input, ": a folder of the pattern cannot be read");
  }
  return paths;
}

}  // namespace headrace::ingest
