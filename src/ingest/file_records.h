// The records of one file of lines, or of standard input, with the keys file beside it: line n of the keys belongs to line n of the input.
//
// Open comes back to what the position has of this input, over the same bytes only. One thread.
#pragma once

#include <memory>
#include <string>

#include "ingest/line_source.h"
#include "ingest/record_source.h"

namespace headrace::ingest {

class FileRecords final : public RecordSource {
 public:
  // `opened`: standard input, already looked at; else null and `path` is opened. `keys_file` may be empty.
  static Result<std::unique_ptr<FileRecords>> Open(const std::string& path,
                                                   std::unique_ptr<LineSource> opened,
                                                   const LineSourceOptions& options,
                                                   const std::string& keys_file, const Position& position);

  Result<Event> Next() override;
  void Unread() override;
  std::string_view value() const override { return lines_->line(); }
  std::optional<std::string_view> key() const override;
  RecordPlace place() const override;
  bool first_of_input() const override { return lines_->lines() == 1; }
  void Stamp(Position* position) const override;
  Result<bool> IsBefore(const Position& position) const override;
  int64_t bytes_read() const override { return lines_->file_bytes(); }
  bool is_live() const override { return lines_->path() == "-"; }

  // The input's first record, when it is continued in its middle; else empty.
  const std::string& header() const { return header_; }

 private:
  explicit FileRecords(std::unique_ptr<LineSource> lines) : lines_(std::move(lines)) {}
  Status OpenKeys(const std::string& keys_file);

  std::unique_ptr<LineSource> lines_;
  std::unique_ptr<LineSource> keys_;
  std::string header_;
  bool given_back_ = false;  // its key was read already
  bool ended_ = false;
};

// The position's entry of `path`, made when there is none.
InputPosition* EntryOf(Position* position, const std::string& path);

}  // namespace headrace::ingest
