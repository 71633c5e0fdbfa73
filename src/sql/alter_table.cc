#include "sql/alter_table.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace headrace {
namespace {

class AlterTableParser {
 public:
  AlterTableParser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<Statement> Parse() {
    at_ = 2;  // ALTER TABLE
    alter_.if_exists = Take({"IF", "EXISTS"});
    HEADRACE_ASSIGN_OR_RETURN(alter_.name, ParseTableName());
    alter_.mistake = ParseAction();
    if (alter_.mistake.ok() && Next().kind != TokenKind::kEnd)
      alter_.mistake = Unexpected("the end of the statement");
    if (alter_.name.find('.') != std::string::npos) HEADRACE_RETURN_NOT_OK(alter_.mistake);
    return std::move(alter_);
  }

 private:
  const Token& Next() const { return tokens_[at_]; }
  const Token& After(size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  bool Is(std::string_view word) const { return Next().IsWord(word); }
  bool Take(std::initializer_list<std::string_view> words) {
    size_t i = 0;
    const bool all = std::all_of(words.begin(), words.end(),
                                 [&](std::string_view word) { return After(i++).IsWord(word); });
    if (all) at_ += words.size();
    return all;
  }
  bool TakeMark(std::string_view mark) {
    if (!Next().IsPunctuation(mark)) return false;
    ++at_;
    return true;
  }
  Status Expect(std::string_view mark) {
    return TakeMark(mark) ? Status::OK() : Unexpected("'" + std::string(mark) + "'");
  }

  Status Unexpected(std::string_view wanted) const {
    return Invalid("reading ALTER TABLE: expected ", wanted, " at ", PlaceOf(text_, Next().offset),
                   ", found ", Next().text);
  }
  Status Refused(std::string_view why) const {
    return Unsupported("reading ALTER TABLE: ", Next().text, " at ", PlaceOf(text_, Next().offset), ": ",
                       why);
  }

  bool IsName() const { return Next().kind == TokenKind::kWord || Next().kind == TokenKind::kQuotedName; }
  Result<std::string> ParseName() {
    if (!IsName()) return Unexpected("a name");
    return tokens_[at_++].text;
  }
  Result<std::string> ParseString() {
    if (Next().kind != TokenKind::kString) return Unexpected("a text in single quotes");
    return tokens_[at_++].text;
  }
  Result<ColumnPath> ParsePath() {
    ColumnPath path;
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string name, ParseName());
      path.push_back(std::move(name));
    } while (TakeMark("."));
    return path;
  }
  // Of catalog.db.table the last two count.
  Result<std::string> ParseTableName() {
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath parts, ParsePath());
    return parts.size() == 1 ? parts[0] : parts[parts.size() - 2] + "." + parts.back();
  }

  // The word COLUMN before a name or a list; a column that is called so is written in quotes.
  void TakeColumnWord() {
    const Token& next = After(1);
    const bool follows =
        next.kind == TokenKind::kQuotedName || next.kind == TokenKind::kWord || next.IsPunctuation("(");
    if (follows && (Is("COLUMN") || Is("COLUMNS"))) ++at_;
  }

  Status ParseAction() {
    if (Take({"RENAME", "TO"})) {
      HEADRACE_ASSIGN_OR_RETURN(alter_.new_name, ParseTableName());
      return Status::OK();
    }
    if (Take({"RENAME"})) return ParseRename();
    if (Take({"ADD"})) return ParseColumns(true);
    if (Take({"MODIFY"}) || Take({"ALTER"})) return ParseColumns(false);
    if (Take({"DROP"})) return ParseDrop();
    if (Take({"SET"})) return ParseSet();
    if (Take({"RESET"})) return ParseReset();
    if (Take({"COMMENT"})) {
      HEADRACE_ASSIGN_OR_RETURN(std::string comment, ParseString());
      alter_.changes.emplace_back(CommentTable{std::move(comment)});
      return Status::OK();
    }
    return Unexpected("ADD, MODIFY, DROP, RENAME, SET, RESET or COMMENT");
  }

  Status CheckIsColumn() const {
    if (Is("CONSTRAINT") || (Is("PRIMARY") && After(1).IsWord("KEY")))
      return Refused("a primary key is fixed when the table is made");
    if (Is("WATERMARK")) return Refused("a watermark belongs to a streaming job, not to a table's files");
    if (Is("PARTITION")) return Refused("partitions come and go with their rows");
    if (Is("DISTRIBUTION")) return Refused("use 'headrace rescale'");
    return Status::OK();
  }

  Status ParseRename() {
    TakeColumnWord();
    RenameColumn rename;
    HEADRACE_ASSIGN_OR_RETURN(rename.column, ParsePath());
    if (!Take({"TO"})) return Unexpected("TO");
    HEADRACE_ASSIGN_OR_RETURN(rename.name, ParseName());
    alter_.changes.emplace_back(std::move(rename));
    return Status::OK();
  }

  Status ParseColumns(bool add) {
    HEADRACE_RETURN_NOT_OK(CheckIsColumn());
    TakeColumnWord();
    if (!TakeMark("(")) return ParseColumn(add);
    do {
      HEADRACE_RETURN_NOT_OK(CheckIsColumn());
      HEADRACE_RETURN_NOT_OK(ParseColumn(add));
    } while (TakeMark(","));
    return Expect(")");
  }

  // "a.b type [NOT NULL] [COMMENT '…'] [FIRST | AFTER c]"; the type is left to the catalog as it is written.
  Status ParseColumn(bool add) {
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath column, ParsePath());
    (void)(Take({"SET", "DATA", "TYPE"}) || Take({"TYPE"}));
    if (Is("AS")) return Refused("a computed column is not stored");
    HEADRACE_ASSIGN_OR_RETURN(std::string type, ParseType());
    std::optional<std::string> comment;
    if (Take({"COMMENT"})) {
      HEADRACE_ASSIGN_OR_RETURN(comment, ParseString());
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<ColumnPlace> place, ParsePlace());
    if (add) {
      alter_.changes.emplace_back(AddColumn{std::move(column), std::move(type), comment.value_or(""), place});
      return Status::OK();
    }
    if (place.has_value() && column.size() > 1)
      return Unsupported("reading ALTER TABLE: fields inside a ROW cannot be moved: ", column.back());
    alter_.changes.emplace_back(RetypeColumn{column, std::move(type)});
    if (comment.has_value()) alter_.changes.emplace_back(CommentColumn{column, *comment});
    if (place.has_value()) alter_.changes.emplace_back(MoveColumn{column[0], *place});
    return Status::OK();
  }

  Result<std::string> ParseType() {
    const size_t start = Next().offset;
    size_t end = start;
    int depth = 0;
    while (Next().kind != TokenKind::kEnd) {
      if (depth == 0 && (Next().IsPunctuation(",") || Next().IsPunctuation(")") || Is("COMMENT") ||
                         Is("FIRST") || Is("AFTER")))
        break;
      if (Is("DEFAULT")) return Refused("default values of columns are not built");
      if (Is("METADATA")) return Refused("a metadata column is not stored");
      if (depth == 0 && Is("PRIMARY")) return Refused("a primary key is fixed when the table is made");
      if (Next().IsPunctuation("(") || Next().IsPunctuation("<")) ++depth;
      if (Next().IsPunctuation(")") || Next().IsPunctuation(">")) --depth;
      end = Next().end;
      ++at_;
    }
    if (end == start) return Unexpected("a type");
    return std::string(text_.substr(start, end - start));
  }

  Result<std::optional<ColumnPlace>> ParsePlace() {
    if (Take({"FIRST"})) return ColumnPlace{ColumnPlace::Where::kFirst, ""};
    if (!Take({"AFTER"})) return std::optional<ColumnPlace>();
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath path, ParsePath());
    return ColumnPlace{ColumnPlace::Where::kAfter, path.back()};
  }

  Status ParseDrop() {
    HEADRACE_RETURN_NOT_OK(CheckIsColumn());
    TakeColumnWord();
    const bool list = TakeMark("(");
    do {
      HEADRACE_ASSIGN_OR_RETURN(ColumnPath column, ParsePath());
      alter_.changes.emplace_back(DropColumn{std::move(column)});
    } while (list && TakeMark(","));
    return list ? Expect(")") : Status::OK();
  }

  Status ParseSet() {
    HEADRACE_RETURN_NOT_OK(Expect("("));
    do {
      SetOption set;
      HEADRACE_ASSIGN_OR_RETURN(set.key, ParseString());
      HEADRACE_RETURN_NOT_OK(Expect("="));
      HEADRACE_ASSIGN_OR_RETURN(set.value, ParseString());
      alter_.changes.emplace_back(std::move(set));
    } while (TakeMark(","));
    return Expect(")");
  }

  Status ParseReset() {
    HEADRACE_RETURN_NOT_OK(Expect("("));
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string key, ParseString());
      alter_.changes.emplace_back(UnsetOption{std::move(key)});
    } while (TakeMark(","));
    return Expect(")");
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  AlterTableText alter_;
};

}  // namespace

Result<Statement> ParseAlterTable(std::string_view text, std::vector<Token> tokens) {
  return AlterTableParser(text, std::move(tokens)).Parse();
}

}  // namespace headrace
