#include "tests/scenarios/words.h"

#include <charconv>
#include <utility>

namespace headrace::scenario {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(Trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::pair<std::string, std::string>> SplitPair(std::string_view text) {
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos) return std::nullopt;
  return std::pair{std::string(Trimmed(text.substr(0, sign))), std::string(Trimmed(text.substr(sign + 1)))};
}

std::string_view Words::Peek() const { return rest_.substr(0, rest_.find_first_of(" \t")); }

std::string Words::Take() {
  const std::string_view word = Peek();
  rest_ = Trimmed(rest_.substr(word.size()));
  return std::string(word);
}

bool Words::TakeIf(std::string_view word) {
  if (rest_.empty() || Peek() != word) return false;
  Take();
  return true;
}

std::string Words::Rest() { return std::string(std::exchange(rest_, {})); }

Result<std::string> Words::TakeName(std::string_view what) {
  if (rest_.empty()) return Invalid("a name is missing: ", what);
  return Take();
}

Result<int64_t> Words::TakeNumber(std::string_view what) {
  const std::string word = Take();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc() || end != word.data() + word.size())
    return Invalid("'", word, "' is not a number: ", what);
  return number;
}

Status Words::ExpectEnd() const {
  if (!rest_.empty()) return Invalid("'", rest_, "' is not understood here");
  return Status::OK();
}

}  // namespace headrace::scenario
