#include "sql/alter_table.h"

#include <optional>
#include <string>
#include <utility>

#include "sql/token_cursor.h"

namespace headrace {
namespace {

class AlterTableParser : TokenCursor {
 public:
  AlterTableParser(std::string_view text, std::vector<Token> tokens)
      : TokenCursor("reading ALTER TABLE", text, std::move(tokens)) {}

  Result<Statement> Parse() {
    at_ = 2;  // ALTER TABLE
    alter_.if_exists = Take({"IF", "EXISTS"});
    HEADRACE_ASSIGN_OR_RETURN(alter_.name, ParseTableName());
    alter_.mistake = ParseAction();
    if (alter_.mistake.ok()) alter_.mistake = ExpectEnd();
    if (alter_.name.find('.') != std::string::npos) HEADRACE_RETURN_NOT_OK(alter_.mistake);
    return std::move(alter_);
  }

 private:
  // Of catalog.db.table the last two count.
  Result<std::string> ParseTableName() {
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath parts, ParseNames());
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
    HEADRACE_ASSIGN_OR_RETURN(rename.column, ParseNames());
    HEADRACE_RETURN_NOT_OK(ExpectWord("TO"));
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
    return ExpectMark(")");
  }

  // "a.b type [NOT NULL] [COMMENT '…'] [FIRST | AFTER c]"; the type is left to the catalog as it is written.
  Status ParseColumn(bool add) {
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath column, ParseNames());
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
    while (!AtEnd()) {
      if (depth == 0 && (IsMark(",") || IsMark(")") || Is("COMMENT") || Is("FIRST") || Is("AFTER"))) break;
      if (Is("DEFAULT")) return Refused("default values of columns are not built");
      if (Is("METADATA")) return Refused("a metadata column is not stored");
      if (depth == 0 && Is("PRIMARY")) return Refused("a primary key is fixed when the table is made");
      if (IsMark("(") || IsMark("<")) ++depth;
      if (IsMark(")") || IsMark(">")) --depth;
      end = Next().end;
      ++at_;
    }
    if (end == start) return Unexpected("a type");
    return std::string(text_.substr(start, end - start));
  }

  Result<std::optional<ColumnPlace>> ParsePlace() {
    if (Take({"FIRST"})) return ColumnPlace{ColumnPlace::Where::kFirst, ""};
    if (!Take({"AFTER"})) return std::optional<ColumnPlace>();
    HEADRACE_ASSIGN_OR_RETURN(ColumnPath path, ParseNames());
    return ColumnPlace{ColumnPlace::Where::kAfter, path.back()};
  }

  Status ParseDrop() {
    HEADRACE_RETURN_NOT_OK(CheckIsColumn());
    TakeColumnWord();
    const bool list = TakeMark("(");
    do {
      HEADRACE_ASSIGN_OR_RETURN(ColumnPath column, ParseNames());
      alter_.changes.emplace_back(DropColumn{std::move(column)});
    } while (list && TakeMark(","));
    return list ? ExpectMark(")") : Status::OK();
  }

  Status ParseSet() {
    HEADRACE_RETURN_NOT_OK(ExpectMark("("));
    do {
      SetOption set;
      HEADRACE_ASSIGN_OR_RETURN(set.key, ParseString());
      HEADRACE_RETURN_NOT_OK(ExpectMark("="));
      HEADRACE_ASSIGN_OR_RETURN(set.value, ParseString());
      alter_.changes.emplace_back(std::move(set));
    } while (TakeMark(","));
    return ExpectMark(")");
  }

  Status ParseReset() {
    HEADRACE_RETURN_NOT_OK(ExpectMark("("));
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string key, ParseString());
      alter_.changes.emplace_back(UnsetOption{std::move(key)});
    } while (TakeMark(","));
    return ExpectMark(")");
  }

  AlterTableText alter_;
};

}  // namespace

Result<Statement> ParseAlterTable(std::string_view text, std::vector<Token> tokens) {
  return AlterTableParser(text, std::move(tokens)).Parse();
}

}  // namespace headrace
