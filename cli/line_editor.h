// Lines typed at a terminal: editing, history that is kept, completion. By libedit.
//
// One thread. A SIGINT ends the line being typed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::cli {

class LineEditor {
 public:
  // What the word before the cursor may become, given the line up to the cursor and where that word begins in it.
  using Complete = std::function<std::vector<std::string>(const std::string& line, size_t word)>;

  // `history_file` holds the entries of earlier runs; empty: none are kept.
  static std::unique_ptr<LineEditor> Open(std::string history_file, Complete complete);
  virtual ~LineEditor() = default;

  enum class End { kLine, kInterrupted, kEndOfInput };
  // Without its end of line.
  virtual End Read(const std::string& prompt, std::string* line) = 0;
  virtual void Remember(const std::string& entry) = 0;
};

}  // namespace headrace::cli
