// Several sources as one: files one after the other, topics in turn.
//
// What Stamp writes has the place in all of them, and both are opened at such a position. Each keeps its parts' contracts (record_source.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingest/line_source.h"
#include "ingest/record_source.h"

namespace headrace::ingest {

class FilesInOrder final : public RecordSource {
 public:
  // `opened`: standard input, already looked at; else null. `keys_file` goes with one file.
  FilesInOrder(std::vector<std::string> paths, std::unique_ptr<LineSource> opened, LineSourceOptions options,
               std::string keys_file, const Position& position);
  ~FilesInOrder() override;

  Result<Event> Next() override;
  void Unread() override { current_->Unread(); }
  std::string_view value() const override { return current_->value(); }
  std::optional<std::string_view> key() const override { return current_->key(); }
  std::string_view raw() const override { return current_->raw(); }
  std::string_view damage() const override { return current_->damage(); }
  RecordPlace place() const override { return current_->place(); }
  bool first_of_input() const override { return current_->first_of_input(); }
  void Stamp(Position* position) const override;
  Result<bool> IsBefore(const Position& position) const override { return current_->IsBefore(position); }
  int64_t bytes_read() const override;
  bool is_live() const override { return current_ != nullptr && current_->is_live(); }

 private:
  const std::vector<std::string> paths_;
  std::unique_ptr<LineSource> opened_;
  const LineSourceOptions options_;
  const std::string keys_file_;
  Position place_;  // of the files that are done, and where those begin that are not
  size_t next_ = 0;
  std::unique_ptr<RecordSource> current_;
  int64_t earlier_bytes_ = 0;
};

// A round goes to each in turn, so that none waits for another's silence longer than that one waits itself.
class SourcesInTurn final : public RecordSource {
 public:
  // At least one.
  explicit SourcesInTurn(std::vector<std::unique_ptr<RecordSource>> sources);

  Result<Event> Next() override;
  void Unread() override;
  std::string_view value() const override { return sources_[last_]->value(); }
  std::optional<std::string_view> key() const override { return sources_[last_]->key(); }
  std::string_view raw() const override { return sources_[last_]->raw(); }
  std::string_view damage() const override { return sources_[last_]->damage(); }
  RecordPlace place() const override { return sources_[last_]->place(); }
  bool first_of_input() const override { return sources_[last_]->first_of_input(); }
  void Stamp(Position* position) const override;
  Result<bool> IsBefore(const Position& position) const override {
    return sources_[last_]->IsBefore(position);
  }
  void Committed(const Position& position) override;
  int64_t bytes_read() const override;
  std::optional<int64_t> lag() const override;
  bool is_live() const override;

 private:
  std::vector<std::unique_ptr<RecordSource>> sources_;
  std::vector<bool> ended_;
  size_t last_ = 0;  // that gave the last record
  size_t next_ = 0;  // to be asked first
  bool given_back_ = false;
};

}  // namespace headrace::ingest
