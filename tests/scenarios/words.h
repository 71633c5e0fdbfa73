// The words of one line of a scenario: taken one by one, or the rest as it stands.
//
// Words are separated by blanks. Belongs to parse.cc; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace::scenario {

std::string_view Trimmed(std::string_view text);
// "a, b" → {a, b}; each trimmed.
std::vector<std::string> SplitList(std::string_view text);
// "k = v" → the two sides, trimmed; nothing without '='.
std::optional<std::pair<std::string, std::string>> SplitPair(std::string_view text);

class Words {
 public:
  explicit Words(std::string_view line) : rest_(Trimmed(line)) {}

  bool empty() const { return rest_.empty(); }
  std::string_view Peek() const;
  std::string Take();  // empty at the end
  bool TakeIf(std::string_view word);
  std::string Rest();

  // `what` is for the message.
  Result<std::string> TakeName(std::string_view what);
  Result<int64_t> TakeNumber(std::string_view what);
  Status ExpectEnd() const;

 private:
  std::string_view rest_;
};

}  // namespace headrace::scenario
