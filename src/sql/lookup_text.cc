// Finding the clauses by their tokens.
#include "sql/lookup_text.h"

#include <string_view>
#include <utility>
#include <vector>

#include "sql/token_cursor.h"

namespace headrace {
namespace {

bool IsName(const Token& token) {
  const bool is_number = token.kind == TokenKind::kWord && token.text[0] >= '0' && token.text[0] <= '9';
  return (token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedName) && !is_number;
}

class LookupParser : TokenCursor {
 public:
  LookupParser(std::string_view text, std::vector<Token> tokens)
      : TokenCursor("reading a lookup join", text, std::move(tokens)) {}

  Result<LookupText> Parse() {
    LookupText taken{std::string(text_), {}};
    for (; !AtEnd(); ++at_) {
      if (!Words({"FOR", "SYSTEM_TIME"})) continue;
      if (at_ == 0 || !IsName(tokens_[at_ - 1])) return Unexpected("the name of a table before FOR");
      taken.tables.insert(StartOfName());
      const size_t begin = Next().offset;
      Take({"FOR", "SYSTEM_TIME"});
      HEADRACE_RETURN_NOT_OK(ExpectWord("AS"));
      HEADRACE_RETURN_NOT_OK(ExpectWord("OF"));
      HEADRACE_RETURN_NOT_OK(TakeTime());
      --at_;  // the clause's last token
      for (size_t i = begin; i < Next().end; ++i) {
        if (taken.query[i] != '\n') taken.query[i] = ' ';
      }
    }
    return taken;
  }

 private:
  // Of a.b before the next token, where a begins.
  size_t StartOfName() const {
    size_t first = at_ - 1;
    while (first >= 2 && tokens_[first - 1].IsPunctuation(".") && IsName(tokens_[first - 2])) first -= 2;
    return tokens_[first].offset;
  }

  Status TakeTime() {
    const size_t start = at_;
    bool understood = IsName(Next());
    if (Take({"PROCTIME"})) {
      understood = TakeMark("(") && TakeMark(")");
    } else if (understood) {
      HEADRACE_RETURN_NOT_OK(ParseNames().status());
    }
    if (understood && (AtEnd() || IsName(Next()) || IsMark(",") || IsMark(")"))) return Status::OK();
    at_ = start;
    return Refused(
        "a table is looked up as it stands when a row is taken in, not as of another time; write FOR "
        "SYSTEM_TIME AS OF PROCTIME()");
  }
};

}  // namespace

Result<LookupText> TakeLookups(const std::string& query) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(query, "reading SQL"));
  return LookupParser(query, std::move(tokens)).Parse();
}

}  // namespace headrace
