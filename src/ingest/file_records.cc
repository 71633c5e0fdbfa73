#include "ingest/file_records.h"

#include <utility>

namespace headrace::ingest {

InputPosition* EntryOf(Position* position, const std::string& path) {
  for (InputPosition& entry : position->inputs) {
    if (entry.path == path) return &entry;
  }
  InputPosition fresh;
  fresh.path = path;
  position->inputs.push_back(std::move(fresh));
  return &position->inputs.back();
}

Result<std::unique_ptr<FileRecords>> FileRecords::Open(const std::string& path,
                                                       std::unique_ptr<LineSource> opened,
                                                       const LineSourceOptions& options,
                                                       const std::string& keys_file,
                                                       const Position& position) {
  if (opened == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(opened, LineSource::Open(path, options));
  }
  std::unique_ptr<FileRecords> records(new FileRecords(std::move(opened)));
  for (const InputPosition& entry : position.inputs) {
    if (entry.path == path && entry.bytes > 0)
      HEADRACE_RETURN_NOT_OK(records->lines_->SkipTo(entry, &records->header_));
  }
  if (!keys_file.empty()) HEADRACE_RETURN_NOT_OK(records->OpenKeys(keys_file));
  return records;
}

Status FileRecords::OpenKeys(const std::string& keys_file) {
  HEADRACE_ASSIGN_OR_RETURN(keys_, LineSource::Open(keys_file, LineSourceOptions{}));
  const int64_t lines = lines_->lines();
  while (keys_->lines() < lines) {
    HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event event, keys_->Next());
    if (event == LineSource::Event::kEnd) {
      return Invalid("reading the keys file ", keys_file, ": it has ", keys_->lines(), " lines, but ", lines,
                     " of the input are ingested; line n of it belongs to line n of the input");
    }
  }
  return Status::OK();
}

Result<RecordSource::Event> FileRecords::Next() {
  HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event event, lines_->Next());
  ended_ = event == LineSource::Event::kEnd;
  if (ended_) return Event::kEnd;
  if (event == LineSource::Event::kIdle) return Event::kIdle;
  if (keys_ != nullptr && !std::exchange(given_back_, false)) {
    HEADRACE_ASSIGN_OR_RETURN(const LineSource::Event key, keys_->Next());
    if (key == LineSource::Event::kEnd) {
      return Invalid("reading the keys file ", keys_->path(), ": it ends after line ", keys_->lines(),
                     ", but the input has more; line n of it belongs to line n of the input");
    }
  }
  return Event::kRecord;
}

void FileRecords::Unread() {
  lines_->Unread();
  given_back_ = true;
}

std::optional<std::string_view> FileRecords::key() const {
  if (keys_ == nullptr) return std::nullopt;
  return keys_->line();
}

RecordPlace FileRecords::place() const {
  return {lines_->path() == "-" ? "standard input" : lines_->path(), "line", lines_->lines()};
}

void FileRecords::Stamp(Position* position) const {
  InputPosition* entry = EntryOf(position, lines_->path());
  entry->bytes = lines_->bytes();
  entry->lines = lines_->lines();
  entry->hash = lines_->hash();
  entry->open_end = lines_->open_end();
  entry->ended = ended_;
}

Result<bool> FileRecords::IsBefore(const Position& position) const {
  for (const InputPosition& entry : position.inputs) {
    if (entry.path != lines_->path()) continue;
    if (entry.lines == lines_->lines() && (entry.bytes != lines_->bytes() || entry.hash != lines_->hash())) {
      return Invalid("resuming ", place().text(),
                     ": the file does not begin with the bytes that were ingested from it before");
    }
    return lines_->lines() <= entry.lines;
  }
  return false;
}

}  // namespace headrace::ingest
