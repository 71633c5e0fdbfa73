// SQL text as tokens: words, quoted names, strings, numbers, punctuation. Commas and keywords inside quotes never mislead who reads these.
//
// `…` and "…" are names, '…', e'…' (with backslashes) and $tag$…$tag$ are strings, -- and /* */ are comments. A token borrows nothing from the text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace {

enum class TokenKind { kWord, kQuotedName, kString, kPunctuation, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;   // without quotes
  size_t offset = 0;  // of its first byte in the text
  size_t end = 0;     // past its last byte

  bool IsWord(std::string_view upper) const;  // whatever its case
  bool IsPunctuation(std::string_view mark) const { return kind == TokenKind::kPunctuation && text == mark; }
};

// Ends on one token of kind kEnd. `doing` begins the message where a quote is never closed.
Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view doing);

// The place as people count it: "line 2, column 7", both from 1.
std::string PlaceOf(std::string_view text, size_t offset);

}  // namespace headrace
