#include "ingest/mysql_ddl.h"

#include <cctype>
#include <optional>

namespace headrace::ingest {
namespace {

struct Token {
  enum class Kind { kEnd, kWord, kName, kText, kSign };  // kName: in back quotes
  Kind kind = Kind::kEnd;
  std::string text;   // unquoted
  std::string upper;  // of a word
  size_t begin = 0, end = 0;
};

// Comments are left out, but for what /*! … */ holds.
class Tokens {
 public:
  explicit Tokens(std::string_view sql) : sql_(sql) {
    while (true) {
      Token token = Next();
      const bool end = token.kind == Token::Kind::kEnd;
      tokens_.push_back(std::move(token));
      if (end) return;
    }
  }

  const Token& at() const { return tokens_[position_]; }
  const Token& ahead(size_t n) const { return tokens_[std::min(position_ + n, tokens_.size() - 1)]; }
  void Step() { position_ = std::min(position_ + 1, tokens_.size() - 1); }
  bool at_end() const { return at().kind == Token::Kind::kEnd; }
  bool IsWord(std::string_view word) const { return at().kind == Token::Kind::kWord && at().upper == word; }
  bool IsSign(char sign) const { return at().kind == Token::Kind::kSign && at().text[0] == sign; }
  bool TakeWord(std::string_view word) {
    if (!IsWord(word)) return false;
    Step();
    return true;
  }
  bool TakeSign(char sign) {
    if (!IsSign(sign)) return false;
    Step();
    return true;
  }
  std::optional<std::string> TakeName() {
    if (at().kind != Token::Kind::kWord && at().kind != Token::Kind::kName) return std::nullopt;
    std::string name = at().text;
    Step();
    return name;
  }
  std::string_view Between(size_t begin, size_t end) const { return sql_.substr(begin, end - begin); }
  // Over one thing: a token, or everything inside a pair of brackets.
  void SkipOne() {
    if (!IsSign('(')) return Step();
    int depth = 0;
    do {
      if (IsSign('(')) ++depth;
      if (IsSign(')')) --depth;
      Step();
    } while (depth > 0 && !at_end());
  }
  // To the comma or bracket that ends this clause.
  void SkipClause() {
    while (!at_end() && !IsSign(',') && !IsSign(')') && !IsSign(';')) SkipOne();
  }

 private:
  static bool IsWordChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80) != 0;
  }
  void SkipBlanks() {
    while (next_ < sql_.size()) {
      const std::string_view rest = sql_.substr(next_);
      if (std::isspace(static_cast<unsigned char>(rest[0]))) {
        ++next_;
      } else if (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
        next_ += rest.find('!') + 1;
        while (next_ < sql_.size() && std::isdigit(static_cast<unsigned char>(sql_[next_]))) ++next_;
      } else if (rest.starts_with("*/")) {
        next_ += 2;
      } else if (rest.starts_with("/*")) {
        const size_t end = rest.find("*/", 2);
        next_ = end == std::string_view::npos ? sql_.size() : next_ + end + 2;
      } else if (rest[0] == '#' || rest.starts_with("-- ") || rest.starts_with("--\n")) {
        const size_t end = rest.find('\n');
        next_ = end == std::string_view::npos ? sql_.size() : next_ + end + 1;
      } else {
        return;
      }
    }
  }
  Token Next() {
    SkipBlanks();
    Token token;
    token.begin = token.end = next_;
    if (next_ >= sql_.size()) return token;
    const char first = sql_[next_];
    if (first == '`' || first == '"' || first == '\'') {
      token.kind = first == '`' ? Token::Kind::kName : Token::Kind::kText;
      for (++next_; next_ < sql_.size(); ++next_) {
        if (sql_[next_] == first) {
          if (next_ + 1 >= sql_.size() || sql_[next_ + 1] != first) break;
          ++next_;
        } else if (first != '`' && sql_[next_] == '\\' && next_ + 1 < sql_.size()) {
          ++next_;
        }
        token.text.push_back(sql_[next_]);
      }
      next_ = std::min(next_ + 1, sql_.size());
    } else if (IsWordChar(first)) {
      token.kind = Token::Kind::kWord;
      while (next_ < sql_.size() && IsWordChar(sql_[next_])) token.text.push_back(sql_[next_++]);
      for (const char c : token.text)
        token.upper.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    } else {
      token.kind = Token::Kind::kSign;
      token.text.push_back(sql_[next_++]);
    }
    token.end = next_;
    return token;
  }

  std::string_view sql_;
  size_t next_ = 0;
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

std::optional<DdlName> TakeTableName(Tokens* tokens) {
  std::optional<std::string> first = tokens->TakeName();
  if (!first) return std::nullopt;
  if (!tokens->TakeSign('.')) return DdlName{"", std::move(*first)};
  std::optional<std::string> second = tokens->TakeName();
  if (!second) return std::nullopt;
  return DdlName{std::move(*first), std::move(*second)};
}

void TakeIfExists(Tokens* tokens) {
  if (!tokens->IsWord("IF")) return;
  tokens->Step();
  tokens->TakeWord("NOT");
  tokens->TakeWord("EXISTS");
}

// A type as written: its word, its brackets, and the words that belong to it.
std::string TakeType(Tokens* tokens) {
  const size_t begin = tokens->at().begin;
  size_t end = tokens->at().end;
  if (tokens->at().kind != Token::Kind::kWord) return {};
  const bool is_double = tokens->IsWord("DOUBLE");
  tokens->Step();
  if (is_double && tokens->IsWord("PRECISION")) {
    end = tokens->at().end;
    tokens->Step();
  }
  if (tokens->IsSign('(')) {
    while (!tokens->at_end() && !tokens->IsSign(')')) tokens->Step();
    end = tokens->at().end;
    tokens->Step();
  }
  while (tokens->IsWord("UNSIGNED") || tokens->IsWord("SIGNED") || tokens->IsWord("ZEROFILL")) {
    end = tokens->at().end;
    tokens->Step();
  }
  return std::string(tokens->Between(begin, end));
}

// Words that begin something else than a column in CREATE TABLE (…) and after ADD.
bool BeginsNoColumn(const Tokens& tokens) {
  if (tokens.at().kind != Token::Kind::kWord) return false;
  for (const std::string_view word :
       {"CONSTRAINT", "INDEX", "KEY", "PRIMARY", "UNIQUE", "FOREIGN", "FULLTEXT", "SPATIAL", "CHECK",
        "PARTITION", "PERIOD", "SYSTEM", "LIKE"}) {
    if (tokens.at().upper == word) return true;
  }
  return false;
}

// "name type …" up to the end of its clause.
void TakeColumn(Tokens* tokens, DdlColumnChange::What what, Ddl* ddl) {
  TakeIfExists(tokens);
  std::optional<std::string> name = tokens->TakeName();
  if (!name) return tokens->SkipClause();
  std::string type = TakeType(tokens);
  while (!tokens->at_end() && !tokens->IsSign(',') && !tokens->IsSign(')') && !tokens->IsSign(';')) {
    if (tokens->IsWord("PRIMARY")) ddl->primary_key = {*name};
    tokens->SkipOne();
  }
  if (!type.empty()) ddl->columns.push_back({what, std::move(*name), "", std::move(type)});
}

void TakePrimaryKey(Tokens* tokens, Ddl* ddl) {
  while (!tokens->at_end() && !tokens->IsSign('(') && !tokens->IsSign(',') && !tokens->IsSign(')'))
    tokens->Step();
  if (!tokens->TakeSign('(')) return;
  ddl->primary_key.clear();
  while (!tokens->at_end() && !tokens->IsSign(')')) {
    if (std::optional<std::string> name = tokens->TakeName()) ddl->primary_key.push_back(std::move(*name));
    while (!tokens->at_end() && !tokens->IsSign(',') && !tokens->IsSign(')')) tokens->SkipOne();
    tokens->TakeSign(',');
  }
  tokens->TakeSign(')');
}

void ParseCreate(Tokens* tokens, Ddl* ddl) {
  TakeIfExists(tokens);
  const std::optional<DdlName> name = TakeTableName(tokens);
  if (!name) return;
  ddl->kind = Ddl::Kind::kCreate;
  ddl->table = *name;
  if (!tokens->TakeSign('(')) return;
  while (!tokens->at_end() && !tokens->IsSign(')')) {
    const bool constraint = tokens->IsWord("CONSTRAINT");
    const bool primary =
        tokens->IsWord("PRIMARY") ||
        (constraint && (tokens->ahead(1).upper == "PRIMARY" || tokens->ahead(2).upper == "PRIMARY"));
    if (primary) {
      TakePrimaryKey(tokens, ddl);
      tokens->SkipClause();
    } else if (BeginsNoColumn(*tokens)) {
      tokens->SkipClause();
    } else {
      TakeColumn(tokens, DdlColumnChange::What::kAdd, ddl);
    }
    tokens->TakeSign(',');
    if (tokens->IsSign(';')) return;
  }
}

void ParseAdd(Tokens* tokens, Ddl* ddl) {
  if (!tokens->TakeWord("COLUMN") && BeginsNoColumn(*tokens)) return tokens->SkipClause();
  TakeIfExists(tokens);
  if (!tokens->TakeSign('(')) return TakeColumn(tokens, DdlColumnChange::What::kAdd, ddl);
  while (!tokens->at_end() && !tokens->IsSign(')')) {
    TakeColumn(tokens, DdlColumnChange::What::kAdd, ddl);
    if (!tokens->TakeSign(',')) break;
  }
  tokens->TakeSign(')');
}

void ParseDropClause(Tokens* tokens, Ddl* ddl) {
  if (!tokens->TakeWord("COLUMN") && BeginsNoColumn(*tokens)) return tokens->SkipClause();
  TakeIfExists(tokens);
  if (std::optional<std::string> name = tokens->TakeName())
    ddl->columns.push_back({DdlColumnChange::What::kDrop, std::move(*name), "", ""});
}

void ParseChange(Tokens* tokens, Ddl* ddl) {
  tokens->TakeWord("COLUMN");
  TakeIfExists(tokens);
  std::optional<std::string> from = tokens->TakeName();
  const Token& to = tokens->at();
  if (!from || (to.kind != Token::Kind::kWord && to.kind != Token::Kind::kName)) return;
  if (to.text != *from)
    ddl->columns.push_back({DdlColumnChange::What::kRename, std::move(*from), to.text, ""});
  TakeColumn(tokens, DdlColumnChange::What::kModify, ddl);
}

void ParseRenameClause(Tokens* tokens, Ddl* ddl) {
  if (tokens->IsWord("INDEX") || tokens->IsWord("KEY")) return;
  if (tokens->TakeWord("COLUMN")) {
    std::optional<std::string> from = tokens->TakeName();
    if (!from || !tokens->TakeWord("TO")) return;
    std::optional<std::string> to = tokens->TakeName();
    if (to) ddl->columns.push_back({DdlColumnChange::What::kRename, std::move(*from), std::move(*to), ""});
    return;
  }
  if (!tokens->TakeWord("TO")) tokens->TakeWord("AS");
  if (const std::optional<DdlName> to = TakeTableName(tokens)) ddl->renamed.emplace_back(ddl->table, *to);
}

void ParseAlter(Tokens* tokens, Ddl* ddl) {
  TakeIfExists(tokens);
  const std::optional<DdlName> name = TakeTableName(tokens);
  if (!name) return;
  ddl->kind = Ddl::Kind::kAlter;
  ddl->table = *name;
  while (!tokens->at_end() && !tokens->IsSign(';')) {
    if (tokens->TakeWord("ADD")) {
      ParseAdd(tokens, ddl);
    } else if (tokens->TakeWord("DROP")) {
      ParseDropClause(tokens, ddl);
    } else if (tokens->TakeWord("MODIFY")) {
      tokens->TakeWord("COLUMN");
      TakeColumn(tokens, DdlColumnChange::What::kModify, ddl);
    } else if (tokens->TakeWord("CHANGE")) {
      ParseChange(tokens, ddl);
    } else if (tokens->TakeWord("RENAME")) {
      ParseRenameClause(tokens, ddl);
    }
    tokens->SkipClause();
    if (!tokens->TakeSign(',') && !tokens->at_end()) tokens->Step();
  }
}

void ParseRenameTables(Tokens* tokens, Ddl* ddl) {
  while (true) {
    TakeIfExists(tokens);
    const std::optional<DdlName> from = TakeTableName(tokens);
    if (!from || !tokens->TakeWord("TO")) return;
    const std::optional<DdlName> to = TakeTableName(tokens);
    if (!to) return;
    ddl->kind = Ddl::Kind::kRename;
    ddl->renamed.emplace_back(*from, *to);
    if (!tokens->TakeSign(',')) return;
  }
}

void ParseNamed(Tokens* tokens, Ddl::Kind kind, Ddl* ddl) {
  TakeIfExists(tokens);
  const std::optional<DdlName> name = TakeTableName(tokens);
  if (!name) return;
  ddl->kind = kind;
  ddl->table = *name;
}

}  // namespace

Ddl ParseMysqlDdl(std::string_view sql) {
  Tokens tokens(sql);
  Ddl ddl;
  if (tokens.TakeWord("CREATE")) {
    if (tokens.TakeWord("OR")) tokens.TakeWord("REPLACE");
    tokens.TakeWord("TEMPORARY");
    if (tokens.TakeWord("TABLE")) ParseCreate(&tokens, &ddl);
  } else if (tokens.TakeWord("ALTER")) {
    while (tokens.TakeWord("ONLINE") || tokens.TakeWord("OFFLINE") || tokens.TakeWord("IGNORE")) {
    }
    if (tokens.TakeWord("TABLE")) ParseAlter(&tokens, &ddl);
  } else if (tokens.TakeWord("RENAME")) {
    if (tokens.TakeWord("TABLE") || tokens.TakeWord("TABLES")) ParseRenameTables(&tokens, &ddl);
  } else if (tokens.TakeWord("TRUNCATE")) {
    tokens.TakeWord("TABLE");
    ParseNamed(&tokens, Ddl::Kind::kTruncate, &ddl);
  } else if (tokens.TakeWord("DROP")) {
    tokens.TakeWord("TEMPORARY");
    if (tokens.TakeWord("TABLE")) ParseNamed(&tokens, Ddl::Kind::kDrop, &ddl);
  }
  return ddl;
}

}  // namespace headrace::ingest
