// Looking ahead and taking tokens.
#include "sql/token_cursor.h"

#include <algorithm>
#include <utility>

namespace headrace {

TokenCursor::TokenCursor(std::string_view doing, std::string_view text, std::vector<Token> tokens)
    : doing_(doing), text_(text), tokens_(std::move(tokens)) {}

const Token& TokenCursor::After(size_t count) const {
  return tokens_[std::min(at_ + count, tokens_.size() - 1)];
}

bool TokenCursor::Words(std::initializer_list<std::string_view> words) const {
  size_t i = 0;
  return std::all_of(words.begin(), words.end(),
                     [&](std::string_view word) { return After(i++).IsWord(word); });
}

bool TokenCursor::Take(std::initializer_list<std::string_view> words) {
  if (!Words(words)) return false;
  at_ += words.size();
  return true;
}

bool TokenCursor::TakeMark(std::string_view mark) {
  if (!IsMark(mark)) return false;
  ++at_;
  return true;
}

Status TokenCursor::ExpectWord(std::string_view word) {
  return Take({word}) ? Status::OK() : Unexpected(word);
}

Status TokenCursor::ExpectMark(std::string_view mark) {
  return TakeMark(mark) ? Status::OK() : Unexpected("'" + std::string(mark) + "'");
}

Status TokenCursor::ExpectEnd() const {
  return AtEnd() ? Status::OK() : Unexpected("the end of the statement");
}

Result<std::string> TokenCursor::ParseName() {
  if (Next().kind != TokenKind::kWord && Next().kind != TokenKind::kQuotedName) return Unexpected("a name");
  return tokens_[at_++].text;
}

Result<std::vector<std::string>> TokenCursor::ParseNames() {
  std::vector<std::string> names;
  do {
    HEADRACE_ASSIGN_OR_RETURN(std::string name, ParseName());
    names.push_back(std::move(name));
  } while (TakeMark("."));
  return names;
}

Result<std::string> TokenCursor::ParseString() {
  if (Next().kind != TokenKind::kString) return Unexpected("a text in single quotes");
  return tokens_[at_++].text;
}

Status TokenCursor::Unexpected(std::string_view wanted) const {
  return Invalid(doing_, ": expected ", wanted, " at ", PlaceOf(text_, Next().offset), ", found ",
                 Next().text);
}

Status TokenCursor::Refused(std::string_view why) const {
  return Unsupported(doing_, ": ", Next().text, " at ", PlaceOf(text_, Next().offset), ": ", why);
}

}  // namespace headrace
