#include "ingest/joined_sources.h"

#include <algorithm>

#include "ingest/file_records.h"

namespace headrace::ingest {

FilesInOrder::FilesInOrder(std::vector<std::string> paths, std::unique_ptr<LineSource> opened,
                           LineSourceOptions options, std::string keys_file, const Position& position)
    : paths_(std::move(paths)),
      opened_(std::move(opened)),
      options_(options),
      keys_file_(std::move(keys_file)) {
  place_.inputs = position.inputs;
}

FilesInOrder::~FilesInOrder() = default;

Result<RecordSource::Event> FilesInOrder::Next() {
  while (true) {
    if (current_ == nullptr) {
      if (next_ == paths_.size()) return Event::kEnd;
      const std::string& path = paths_[next_++];
      HEADRACE_ASSIGN_OR_RETURN(current_, FileRecords::Open(path, path == "-" ? std::move(opened_) : nullptr,
                                                            options_, keys_file_, place_));
    }
    HEADRACE_ASSIGN_OR_RETURN(const Event event, current_->Next());
    if (event != Event::kEnd) return event;
    current_->Stamp(&place_);
    earlier_bytes_ += current_->bytes_read();
    current_.reset();
  }
}

void FilesInOrder::Stamp(Position* position) const {
  position->inputs = place_.inputs;
  if (current_ != nullptr) current_->Stamp(position);
}

int64_t FilesInOrder::bytes_read() const {
  return earlier_bytes_ + (current_ == nullptr ? 0 : current_->bytes_read());
}

SourcesInTurn::SourcesInTurn(std::vector<std::unique_ptr<RecordSource>> sources)
    : sources_(std::move(sources)), ended_(sources_.size(), false) {}

Result<RecordSource::Event> SourcesInTurn::Next() {
  if (given_back_) {
    given_back_ = false;
    return sources_[last_]->Next();
  }
  bool all_ended = true;
  for (size_t tried = 0; tried < sources_.size(); ++tried) {
    const size_t i = (next_ + tried) % sources_.size();
    if (ended_[i]) continue;
    HEADRACE_ASSIGN_OR_RETURN(const Event event, sources_[i]->Next());
    ended_[i] = event == Event::kEnd;
    all_ended = all_ended && ended_[i];
    if (event != Event::kRecord) continue;
    last_ = i;
    next_ = (i + 1) % sources_.size();
    return event;
  }
  return all_ended ? Event::kEnd : Event::kIdle;
}

void SourcesInTurn::Unread() {
  given_back_ = true;
  sources_[last_]->Unread();
}

void SourcesInTurn::Stamp(Position* position) const {
  for (const auto& source : sources_) source->Stamp(position);
}

void SourcesInTurn::Committed(const Position& position) {
  for (const auto& source : sources_) source->Committed(position);
}

int64_t SourcesInTurn::bytes_read() const {
  int64_t bytes = 0;
  for (const auto& source : sources_) bytes += source->bytes_read();
  return bytes;
}

std::optional<int64_t> SourcesInTurn::lag() const {
  std::optional<int64_t> lag;
  for (const auto& source : sources_) {
    if (const std::optional<int64_t> one = source->lag()) lag = lag.value_or(0) + *one;
  }
  return lag;
}

bool SourcesInTurn::is_live() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& source) { return source->is_live(); });
}

}  // namespace headrace::ingest
