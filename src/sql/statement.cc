// Splitting scripts; one parser a head, over the tokens of the statement.
#include "sql/statement.h"

#include <algorithm>
#include <utility>

#include "sql/alter_table.h"
#include "sql/token_cursor.h"

namespace headrace {
namespace {

constexpr char kReading[] = "reading SQL";

class HeadParser : TokenCursor {
 public:
  HeadParser(std::string_view text, std::vector<Token> tokens)
      : TokenCursor(kReading, text, std::move(tokens)) {
    // A ';' that closes the statement is no part of it.
    while (tokens_.size() > 1 && tokens_[tokens_.size() - 2].IsPunctuation(";"))
      tokens_.erase(tokens_.end() - 2);
  }

  Result<Statement> Parse() {
    HEADRACE_RETURN_NOT_OK(CheckClosings());
    if (Words({"CREATE", "TABLE"})) return ParseCreateTable();
    if (Words({"DROP", "TABLE"})) return ParseDropTable();
    if (Words({"ALTER", "TABLE"})) return ParseAlterTable(text_, tokens_);
    if (Words({"INSERT"})) return ParseInsert();
    if (Words({"DELETE", "FROM"})) return ParseDelete();
    if (Words({"UPDATE"})) return ParseUpdate();
    if (Words({"DESCRIBE"}) || Words({"DESC"})) return ParseDescribe();
    if (Words({"SHOW"})) return ParseShow();
    if (Words({"USE"})) return ParseUse();
    if (Words({"SET"}) && After(1).kind == TokenKind::kString) return ParseSet();
    HEADRACE_RETURN_NOT_OK(CheckOthers());
    return Whole();
  }

 private:
  // Parts of a statement become parts of a query in parentheses, out of which none may lead.
  Status CheckClosings() {
    int depth = 0;
    for (at_ = 0; !AtEnd(); ++at_) {
      if (Next().IsPunctuation("(")) ++depth;
      if (Next().IsPunctuation(")") && --depth < 0) return Unexpected("a '(' that this ')' closes");
    }
    at_ = 0;
    return Status::OK();
  }

  // What would change a table, and DuckDB could not: of its own tables alone, whose names have no database.
  Status CheckOthers() {
    const bool named = Words({"MERGE", "INTO"}) || Words({"TRUNCATE", "TABLE"});
    const size_t name = named ? 2 : 1;
    if ((named || Words({"TRUNCATE"})) && After(name + 1).IsPunctuation("."))
      return Refused("of tables, rows are changed here by INSERT, UPDATE and DELETE");
    if (!Words({"WITH"})) return Status::OK();
    for (const char* head : {"INSERT", "DELETE", "UPDATE"}) {
      at_ = Find(head);
      if (Words({"INSERT", "INTO"}) || Words({"DELETE", "FROM"}) ||
          (Words({"UPDATE"}) && (After(2).IsWord("SET") || After(4).IsWord("SET"))))
        return Refused("it begins a statement here; WITH belongs into the query that it holds");
      at_ = 0;
    }
    return Status::OK();
  }

  Statement Whole() const { return QueryText{std::string(text_)}; }

  // The text from the next token to before token `end`.
  std::string TextTo(size_t end) const {
    return end <= at_ ? "" : std::string(text_.substr(Next().offset, tokens_[end - 1].end - Next().offset));
  }
  std::string Rest() const { return TextTo(tokens_.size() - 1); }

  // The place of the next token outside parentheses that is `word`, or `mark`; the end when there is none.
  size_t Find(std::string_view word, std::string_view mark = {}) const {
    int depth = 0;
    for (size_t i = at_; i + 1 < tokens_.size(); ++i) {
      if (depth == 0 && (tokens_[i].IsWord(word) || (!mark.empty() && tokens_[i].IsPunctuation(mark))))
        return i;
      if (tokens_[i].IsPunctuation("(") || tokens_[i].IsPunctuation("[") || tokens_[i].IsPunctuation("{"))
        ++depth;
      if (tokens_[i].IsPunctuation(")") || tokens_[i].IsPunctuation("]") || tokens_[i].IsPunctuation("}"))
        --depth;
    }
    return tokens_.size() - 1;
  }

  // The FROM that is a clause, not that of IS [NOT] DISTINCT FROM.
  size_t FindFrom() {
    const size_t start = at_;
    size_t found = Find("FROM");
    while (found + 1 < tokens_.size() && found > start && tokens_[found - 1].IsWord("DISTINCT")) {
      at_ = found + 1;
      found = Find("FROM");
    }
    at_ = start;
    return found;
  }

  // Of catalog.db.table the last two count.
  Result<std::string> ParseTableName() {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseNames());
    const size_t count = names.size();
    return count == 1 || names[count - 2].empty() ? names.back() : names[count - 2] + "." + names.back();
  }

  Result<Statement> ParseCreateTable() {
    CreateTableText create;
    const size_t start = at_;
    Take({"CREATE", "TABLE"});
    create.if_not_exists = Take({"IF", "NOT", "EXISTS"});
    HEADRACE_ASSIGN_OR_RETURN(create.name, ParseTableName());
    const size_t as = Find("AS");
    at_ = start;
    create.definition = TextTo(as);
    at_ = as;
    if (Take({"AS"})) {
      create.query = Rest();
      if (create.query.empty()) return Unexpected("a query");
    }
    return create;
  }

  Result<Statement> ParseDropTable() {
    DropTableText drop;
    Take({"DROP", "TABLE"});
    drop.if_exists = Take({"IF", "EXISTS"});
    HEADRACE_ASSIGN_OR_RETURN(drop.name, ParseTableName());
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return drop;
  }

  Result<Statement> ParseInsert() {
    InsertText insert;
    Take({"INSERT"});
    if (Words({"OVERWRITE"})) return Refused("overwriting is not built; delete the rows first");
    if (Words({"OR"}))
      return Refused("an INSERT into a table with a primary key replaces the row of that key as it is");
    HEADRACE_RETURN_NOT_OK(ExpectWord("INTO"));
    HEADRACE_ASSIGN_OR_RETURN(insert.name, ParseTableName());
    const Token& inner = After(1);
    if (Next().IsPunctuation("(") && !inner.IsWord("SELECT") && !inner.IsWord("WITH") &&
        !inner.IsWord("VALUES") && !inner.IsWord("FROM") && !inner.IsPunctuation("(")) {
      TakeMark("(");
      do {
        HEADRACE_ASSIGN_OR_RETURN(std::string column, ParseName());
        insert.columns.push_back(std::move(column));
      } while (TakeMark(","));
      HEADRACE_RETURN_NOT_OK(ExpectMark(")"));
    }
    insert.on_window_close = TakeEmitOnWindowClose();
    if (AtEnd()) return Unexpected("a query");
    insert.query = Rest();
    const size_t conflict = Find("CONFLICT");  // a name like another, but for ON before it
    at_ = std::min(Find("RETURNING"), tokens_[conflict - 1].IsWord("ON") ? conflict : tokens_.size() - 1);
    if (!AtEnd()) return Refused("an INSERT here ends with its query");
    return insert;
  }

  // RisingWave's words, behind the query.
  bool TakeEmitOnWindowClose() {
    static const char* const words[] = {"EMIT", "ON", "WINDOW", "CLOSE"};
    const size_t end = tokens_.size() - 1;
    if (end < at_ + 4) return false;
    for (size_t i = 0; i < 4; ++i) {
      if (!tokens_[end - 4 + i].IsWord(words[i])) return false;
    }
    tokens_.erase(tokens_.end() - 5, tokens_.end() - 1);
    return true;
  }

  std::string ParseAlias() {
    const bool as = Take({"AS"});
    const bool name = Next().kind == TokenKind::kQuotedName ||
                      (Next().kind == TokenKind::kWord && !Words({"WHERE"}) && !Words({"SET"}) &&
                       !Words({"USING"}) && !Words({"RETURNING"}));
    return as || name ? tokens_[at_++].text : "";
  }

  // [WHERE condition] to the end.
  Status ParseCondition(std::string* condition) {
    if (Words({"USING"}) || Words({"FROM"}))
      return Refused("only one table is understood here; use WHERE … IN (SELECT …)");
    if (Words({"RETURNING"})) return Refused("rows that change are not given back");
    if (!Take({"WHERE"})) return ExpectEnd();
    const size_t returning = Find("RETURNING");
    *condition = TextTo(returning);
    if (condition->empty()) return Unexpected("a condition");
    at_ = returning;
    return AtEnd() ? Status::OK() : Refused("rows that change are not given back");
  }

  Result<Statement> ParseDelete() {
    DeleteText text;
    Take({"DELETE", "FROM"});
    HEADRACE_ASSIGN_OR_RETURN(text.name, ParseTableName());
    text.alias = ParseAlias();
    HEADRACE_RETURN_NOT_OK(ParseCondition(&text.condition));
    return text;
  }

  Result<Statement> ParseUpdate() {
    UpdateText update;
    Take({"UPDATE"});
    HEADRACE_ASSIGN_OR_RETURN(update.name, ParseTableName());
    update.alias = ParseAlias();
    HEADRACE_RETURN_NOT_OK(ExpectWord("SET"));
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string column, ParseName());
      HEADRACE_RETURN_NOT_OK(ExpectMark("="));
      const size_t end = std::min({Find("WHERE", ","), FindFrom(), Find("RETURNING")});
      std::string value = TextTo(end);
      if (value.empty()) return Unexpected("a value");
      update.values.emplace_back(std::move(column), std::move(value));
      at_ = end;
    } while (TakeMark(","));
    HEADRACE_RETURN_NOT_OK(ParseCondition(&update.condition));
    return update;
  }

  // DESCRIBE of a name; DuckDB describes a query.
  Result<Statement> ParseDescribe() {
    const size_t start = at_;
    ++at_;
    (void)Take({"TABLE"});
    if (Words({"SELECT"}) || Words({"WITH"}) || Words({"FROM"}) || Words({"VALUES"}) ||
        Next().IsPunctuation("(") || AtEnd()) {
      at_ = start;
      return Whole();
    }
    DescribeText describe;
    HEADRACE_ASSIGN_OR_RETURN(describe.name, ParseTableName());
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return describe;
  }

  Result<Statement> ParseShow() {
    ShowText show;
    Take({"SHOW"});
    if (Take({"DATABASES"}) || Take({"SCHEMAS"})) {
      show.what = ShowText::What::kDatabases;
    } else if (Take({"TABLES"})) {
      if (Take({"FROM"}) || Take({"IN"})) {
        HEADRACE_ASSIGN_OR_RETURN(show.name, ParseName());
      }
    } else if (Take({"CREATE", "TABLE"})) {
      show.what = ShowText::What::kCreateTable;
      HEADRACE_ASSIGN_OR_RETURN(show.name, ParseTableName());
    } else {
      return Whole();
    }
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return show;
  }

  Result<Statement> ParseUse() {
    UseText use;
    Take({"USE"});
    HEADRACE_ASSIGN_OR_RETURN(use.database, ParseName());
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return use;
  }

  Result<Statement> ParseSet() {
    SetText set;
    Take({"SET"});
    HEADRACE_ASSIGN_OR_RETURN(set.key, ParseString());
    HEADRACE_RETURN_NOT_OK(ExpectMark("="));
    HEADRACE_ASSIGN_OR_RETURN(set.value, ParseString());
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return set;
  }
};

// DuckDB knows names in "…" alone. Of the same length, so that places stay what they are.
void QuoteAsDuckDB(const Token& token, size_t start, std::string* statement) {
  const bool backticks = token.kind == TokenKind::kQuotedName && (*statement)[token.offset - start] == '`';
  if (!backticks || token.text.find('"') != std::string::npos) return;
  (*statement)[token.offset - start] = '"';
  (*statement)[token.end - 1 - start] = '"';
}

}  // namespace

Result<std::vector<std::string>> SplitScript(std::string_view script) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokenize(script, kReading));
  std::vector<std::string> statements;
  for (size_t first = 0; first + 1 < tokens.size();) {
    size_t last = first;
    while (last + 1 < tokens.size() && !tokens[last].IsPunctuation(";")) ++last;
    if (last > first) {
      const size_t start = tokens[first].offset;
      std::string statement(script.substr(start, tokens[last - 1].end - start));
      for (size_t i = first; i < last; ++i) QuoteAsDuckDB(tokens[i], start, &statement);
      statements.push_back(std::move(statement));
    }
    first = last + 1;
  }
  return statements;
}

bool IsComplete(std::string_view text) {
  const auto tokens = Tokenize(text, kReading);
  if (!tokens.ok() || tokens->size() < 2) return false;
  return (*tokens)[tokens->size() - 2].IsPunctuation(";");
}

Result<Statement> ParseStatement(std::string_view statement) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(statement, kReading));
  return HeadParser(statement, std::move(tokens)).Parse();
}

}  // namespace headrace
