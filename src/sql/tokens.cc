// Cutting SQL text into tokens.
#include "sql/tokens.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sql/names.h"

namespace headrace {
namespace {

bool IsWordByte(unsigned char c) { return std::isalnum(c) || c == '_' || c == '$' || c >= 0x80; }

size_t SkipBlanksAndComments(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at, 2) == "--") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const size_t close = text.find("*/", at + 2);
      at = close == std::string_view::npos ? text.size() : close + 2;
    } else {
      break;
    }
  }
  return at;
}

// A quoted token beginning at `at`; the quote is doubled inside to stand for itself, or has a backslash before it where there are `escapes`.
Result<Token> ReadQuoted(std::string_view text, size_t at, bool escapes, std::string_view doing) {
  const char quote = text[at];
  Token token{quote == '\'' ? TokenKind::kString : TokenKind::kQuotedName, "", at, at};
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (escapes && text[i] == '\\' && i + 1 < text.size()) {
      token.text += text[i];
      token.text += text[++i];
    } else if (text[i] != quote) {
      token.text += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == quote) {
      token.text += quote;
      ++i;
    } else {
      token.end = i + 1;
      return token;
    }
  }
  return Invalid(doing, ": the quote opened at ", PlaceOf(text, at), " is never closed");
}

// The bytes of $tag$ at `at`; 0 when there is none.
size_t DollarTagBytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  const bool numbered =
      end > at + 1 && std::isdigit(static_cast<unsigned char>(text[at + 1]));  // $1 is a parameter
  return end < text.size() && text[end] == '$' && !numbered ? end + 1 - at : 0;
}

Result<Token> ReadDollarQuoted(std::string_view text, size_t at, size_t tag, std::string_view doing) {
  const size_t close = text.find(text.substr(at, tag), at + tag);
  if (close == std::string_view::npos)
    return Invalid(doing, ": the quote opened at ", PlaceOf(text, at), " is never closed");
  return Token{TokenKind::kString, std::string(text.substr(at + tag, close - at - tag)), at, close + tag};
}

}  // namespace

bool Token::IsWord(std::string_view upper) const {
  return kind == TokenKind::kWord && IsSameName(text, upper);
}

std::string PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view doing) {
  std::vector<Token> tokens;
  size_t at = SkipBlanksAndComments(text, 0);
  while (at < text.size()) {
    const char c = text[at];
    const size_t tag = c == '$' ? DollarTagBytes(text, at) : 0;
    if (c == '\'' || c == '`' || c == '"') {
      const bool escapes =
          c == '\'' && !tokens.empty() && tokens.back().end == at && tokens.back().IsWord("E");
      HEADRACE_ASSIGN_OR_RETURN(Token token, ReadQuoted(text, at, escapes, doing));
      at = token.end;
      tokens.push_back(std::move(token));
    } else if (tag != 0) {
      HEADRACE_ASSIGN_OR_RETURN(Token token, ReadDollarQuoted(text, at, tag, doing));
      at = token.end;
      tokens.push_back(std::move(token));
    } else if (IsWordByte(static_cast<unsigned char>(c))) {
      size_t end = at;
      while (end < text.size() && IsWordByte(static_cast<unsigned char>(text[end]))) ++end;
      tokens.push_back({TokenKind::kWord, std::string(text.substr(at, end - at)), at, end});
      at = end;
    } else {
      tokens.push_back({TokenKind::kPunctuation, std::string(1, c), at, at + 1});
      ++at;
    }
    at = SkipBlanksAndComments(text, at);
  }
  tokens.push_back({TokenKind::kEnd, "the end of the statement", text.size(), text.size()});
  return tokens;
}

}  // namespace headrace
