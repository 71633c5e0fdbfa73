// Where a parser stands in the tokens of a statement: looking ahead, taking what comes next, and errors that tell its place.
//
// What the parsers of statements build upon. Words are given in capitals and meant whatever their case. A parser and the text that it reads
// belong to one thread; the text outlives it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sql/tokens.h"

namespace headrace {

class TokenCursor {
 protected:
  // `doing` begins every message: "reading SQL". The tokens are the text's, the last of them the one of kind kEnd.
  TokenCursor(std::string_view doing, std::string_view text, std::vector<Token> tokens);

  const Token& Next() const { return tokens_[at_]; }
  // The token so many behind the next one; the last one where there are fewer.
  const Token& After(size_t count) const;
  bool AtEnd() const { return Next().kind == TokenKind::kEnd; }

  bool Is(std::string_view word) const { return Next().IsWord(word); }
  bool IsMark(std::string_view mark) const { return Next().IsPunctuation(mark); }
  // Whether these words come next.
  bool Words(std::initializer_list<std::string_view> words) const;

  // Goes past what is named, if that comes next.
  bool Take(std::initializer_list<std::string_view> words);
  bool TakeMark(std::string_view mark);

  Status ExpectWord(std::string_view word);
  Status ExpectMark(std::string_view mark);
  Status ExpectEnd() const;

  Result<std::string> ParseName();
  // a.b.c
  Result<std::vector<std::string>> ParseNames();
  Result<std::string> ParseString();

  // kInvalid and kUnsupported, about the next token.
  Status Unexpected(std::string_view wanted) const;
  Status Refused(std::string_view why) const;

  const std::string_view doing_;
  const std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace headrace
