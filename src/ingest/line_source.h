// One input, line by line: a file, a zstd-packed file, or standard input, with a running hash of what was consumed.
//
// Lines come without their '\n' and are valid until the next call; the last one may lack it and counts all the same. As CSV a record runs on
// over line ends inside quotes, and as test_decoding over those inside values. A line longer than the bound is an error, never an allocation without end. Reading waits at most a moment:
// kIdle says that standard input has nothing yet. Invariant: bytes(), lines() and hash() tell of the lines handed out so far, so
// they are a position to come back to: SkipTo reads the same bytes again and refuses others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ingest/position.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {

struct LineSourceOptions {
  int64_t max_line_bytes = 64LL << 20;
  bool csv = false;
  char csv_delimiter = ',';
  bool test_decoding = false;
};

class LineSource {
 public:
  // "-" is standard input. kNotFound, kIo; kUnsupported for a packing that is not unpacked here.
  static Result<std::unique_ptr<LineSource>> Open(const std::string& path, const LineSourceOptions& options);
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  enum class Event { kLine, kIdle, kEnd };
  Result<Event> Next();
  // Gives the last line back: the next Next() hands it out again. Once after each kLine.
  void Unread();

  // The form has come to be known after the source was opened, and before its first Next().
  void ReadTestDecoding() { options_.test_decoding = true; }

  std::string_view line() const { return line_; }
  int64_t lines() const { return lines_; }  // handed out; the number of line()
  int64_t bytes() const { return bytes_; }  // consumed, of the unpacked content
  int64_t file_bytes() const;               // of the file consumed, to show progress by
  bool open_end() const { return open_end_; }
  std::string hash() const;
  const std::string& path() const { return path_; }

  // Whole lines at the present place without consuming them: at least one if there is one, and what else lies in about a megabyte. Waits for
  // the first one, unless `cancel` is set meanwhile.
  Result<std::vector<std::string_view>> Peek(const std::atomic<bool>* cancel = nullptr);

  // Consumes what `position` consumed. kInvalid when the bytes are not the same ones, or fewer. `header` gets the first record.
  Status SkipTo(const InputPosition& position, std::string* header);

 private:
  class Bytes;
  LineSource(std::string path, LineSourceOptions options, std::unique_ptr<Bytes> bytes);

  enum class Filled { kMore, kIdle, kEnd };
  Result<Filled> Fill();
  // The end of the line at begin_ (of its '\n'), or npos when it is not in the buffer yet.
  size_t FindLineEnd();
  void Consume(size_t line_bytes, bool ended);
  void HashLastLine() const;

  const std::string path_;
  LineSourceOptions options_;
  std::unique_ptr<Bytes> bytes_source_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is not consumed
  size_t end_ = 0;       // of what is read
  size_t searched_ = 0;  // no line end between begin_ and here
  enum class CsvState { kFieldStart, kPlain, kQuoted, kAfterQuote };
  CsvState csv_state_ = CsvState::kFieldStart;  // at searched_
  TestDecodingRecordEnd record_end_;
  bool at_end_ = false;
  std::string_view line_;
  mutable std::string_view
      unhashed_;  // the last line with its end, in the buffer: not in the hash yet, so that it can be given back
  int64_t lines_ = 0;
  int64_t bytes_ = 0;
  bool open_end_ = false;
  struct Hash;
  std::unique_ptr<Hash> hash_;
};

// Files and globs in the order given, a glob's files sorted by name, absolute; "-" stays. kNotFound when a file or a glob's match is not there.
Result<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& inputs);

}  // namespace headrace::ingest
