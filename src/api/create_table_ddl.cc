// Flink's CREATE TABLE, as users paste it, into a TableDefinition.
//
// It is read token by token (sql/tokens.h). Column types are left to ParseColumns; what Paimon tables cannot have is refused by name.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/create_table_text.h"
#include "base/error.h"
#include "headrace/engine.h"
#include "sql/tokens.h"

namespace headrace {
namespace {

// Reads the statement from left to right; one method a clause.
class CreateTableParser {
 public:
  CreateTableParser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  // Without columns: the head of CREATE TABLE … AS.
  Result<TableDefinition> Parse(bool with_columns, std::string* name) {
    HEADRACE_RETURN_NOT_OK(ExpectWord("CREATE"));
    if (IsWord("TEMPORARY")) return Refused("a TEMPORARY table has no place on disk");
    HEADRACE_RETURN_NOT_OK(ExpectWord("TABLE"));
    if (TakeWord("IF")) {
      HEADRACE_RETURN_NOT_OK(ExpectWord("NOT"));
      HEADRACE_RETURN_NOT_OK(ExpectWord("EXISTS"));
    }
    HEADRACE_ASSIGN_OR_RETURN(*name, ParseQualifiedName());
    if (with_columns || IsPunctuation("(")) HEADRACE_RETURN_NOT_OK(ParseElements());
    if (!with_columns && !definition_.columns.empty()) {
      return Unsupported(
          "reading CREATE TABLE … AS: the columns are those of the query; list a PRIMARY KEY at most, and "
          "give columns names and "
          "types in the query");
    }
    HEADRACE_RETURN_NOT_OK(ParseClauses());
    TakePunctuation(";");
    if (Next().kind != TokenKind::kEnd) return Unexpected("the end of the statement");
    return definition_;
  }

 private:
  const Token& Next() const { return tokens_[at_]; }
  bool IsWord(std::string_view word) const { return Next().IsWord(word); }
  bool IsPunctuation(std::string_view mark) const { return Next().IsPunctuation(mark); }
  bool TakeWord(std::string_view word) {
    if (!IsWord(word)) return false;
    ++at_;
    return true;
  }
  bool TakePunctuation(std::string_view mark) {
    if (!IsPunctuation(mark)) return false;
    ++at_;
    return true;
  }

  Status Unexpected(std::string_view wanted) const {
    return Invalid("reading CREATE TABLE: expected ", wanted, " at ", PlaceOf(text_, Next().offset),
                   ", found ", Next().text);
  }
  Status Refused(std::string_view why) const {
    return Unsupported("reading CREATE TABLE: ", Next().text, " at ", PlaceOf(text_, Next().offset), ": ",
                       why);
  }
  Status ExpectWord(std::string_view word) { return TakeWord(word) ? Status::OK() : Unexpected(word); }
  Status ExpectPunctuation(std::string_view mark) {
    return TakePunctuation(mark) ? Status::OK() : Unexpected("'" + std::string(mark) + "'");
  }

  Result<std::string> ParseName() {
    if (Next().kind != TokenKind::kWord && Next().kind != TokenKind::kQuotedName) return Unexpected("a name");
    return tokens_[at_++].text;
  }

  Result<std::string> ParseString() {
    if (Next().kind != TokenKind::kString) return Unexpected("a text in single quotes");
    return tokens_[at_++].text;
  }

  // catalog.db.table and db.table both give "db.table".
  Result<std::string> ParseQualifiedName() {
    std::vector<std::string> parts;
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string part, ParseName());
      parts.push_back(std::move(part));
    } while (TakePunctuation("."));
    if (parts.size() > 3) return Unexpected("a name of at most three parts");
    return parts.size() == 1 ? parts[0] : parts[parts.size() - 2] + "." + parts.back();
  }

  Result<std::vector<std::string>> ParseNameList() {
    HEADRACE_RETURN_NOT_OK(ExpectPunctuation("("));
    std::vector<std::string> names;
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string name, ParseName());
      names.push_back(std::move(name));
    } while (TakePunctuation(","));
    HEADRACE_RETURN_NOT_OK(ExpectPunctuation(")"));
    return names;
  }

  Status ParseElements() {
    HEADRACE_RETURN_NOT_OK(ExpectPunctuation("("));
    do {
      HEADRACE_RETURN_NOT_OK(ParseElement());
    } while (TakePunctuation(","));
    return ExpectPunctuation(")");
  }

  Status ParseElement() {
    if (IsWord("WATERMARK"))
      return Refused("a watermark belongs to a streaming job, not to a table's files; leave it out");
    if (IsWord("PERIOD")) return Refused("not a part of a Paimon table");
    if (TakeWord("CONSTRAINT")) {
      HEADRACE_RETURN_NOT_OK(ParseName().status());
      return ParsePrimaryKey();
    }
    if (IsWord("PRIMARY")) return ParsePrimaryKey();
    return ParseColumn();
  }

  Status SetPrimaryKey(std::vector<std::string> names) {
    if (!definition_.primary_key.empty()) return Unexpected("one PRIMARY KEY, not two");
    definition_.primary_key = std::move(names);
    return Status::OK();
  }

  Status ParseEnforcement() {
    if (!TakeWord("NOT")) return Unexpected("NOT ENFORCED");
    return ExpectWord("ENFORCED");
  }

  Status ParsePrimaryKey() {
    HEADRACE_RETURN_NOT_OK(ExpectWord("PRIMARY"));
    HEADRACE_RETURN_NOT_OK(ExpectWord("KEY"));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> names, ParseNameList());
    HEADRACE_RETURN_NOT_OK(SetPrimaryKey(std::move(names)));
    return ParseEnforcement();
  }

  // "name type [NOT NULL] [PRIMARY KEY NOT ENFORCED] [COMMENT '…']"; name, type, null-ness and comment go on to ParseColumns as written.
  Status ParseColumn() {
    const size_t start = Next().offset;
    HEADRACE_ASSIGN_OR_RETURN(std::string name, ParseName());
    if (IsWord("AS")) return Refused("a computed column is not stored; leave it out");
    size_t end = start;
    int depth = 0;
    while (Next().kind != TokenKind::kEnd) {
      if (depth == 0 && (IsPunctuation(",") || IsPunctuation(")"))) break;
      if (depth == 0 && IsWord("METADATA")) return Refused("a metadata column is not stored; leave it out");
      if (depth == 0 && IsWord("PRIMARY")) {
        AppendColumn(start, end);
        at_ += 1;
        HEADRACE_RETURN_NOT_OK(ExpectWord("KEY"));
        HEADRACE_RETURN_NOT_OK(SetPrimaryKey({name}));
        HEADRACE_RETURN_NOT_OK(ParseEnforcement());
        return ParseTrailingComment();
      }
      if (IsPunctuation("(") || IsPunctuation("<")) ++depth;
      if (IsPunctuation(")") || IsPunctuation(">")) --depth;
      end = Next().end;
      ++at_;
    }
    AppendColumn(start, end);
    return Status::OK();
  }

  Status ParseTrailingComment() {
    const size_t start = Next().offset;
    if (!TakeWord("COMMENT")) return Status::OK();
    const size_t end = Next().end;
    HEADRACE_RETURN_NOT_OK(ParseString().status());
    definition_.columns += " " + std::string(text_.substr(start, end - start));
    return Status::OK();
  }

  void AppendColumn(size_t start, size_t end) {
    if (!definition_.columns.empty()) definition_.columns += ", ";
    definition_.columns += text_.substr(start, end - start);
  }

  Status ParseClauses() {
    if (TakeWord("COMMENT")) {
      HEADRACE_ASSIGN_OR_RETURN(definition_.comment, ParseString());
    }
    if (IsWord("DISTRIBUTED")) return Refused("use the options 'bucket' and 'bucket-key'");
    if (TakeWord("PARTITIONED")) {
      HEADRACE_RETURN_NOT_OK(ExpectWord("BY"));
      HEADRACE_ASSIGN_OR_RETURN(definition_.partition_by, ParseNameList());
    }
    if (TakeWord("WITH")) HEADRACE_RETURN_NOT_OK(ParseOptions());
    if (IsWord("LIKE") || IsWord("AS"))
      return Refused("only a statement that lists its own columns is understood");
    return Status::OK();
  }

  Status ParseOptions() {
    HEADRACE_RETURN_NOT_OK(ExpectPunctuation("("));
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string key, ParseString());
      HEADRACE_RETURN_NOT_OK(ExpectPunctuation("="));
      HEADRACE_ASSIGN_OR_RETURN(std::string value, ParseString());
      // Flink's name for the kind of table; a Paimon catalog's tables do not store it.
      if (key == "connector" && value == "paimon") continue;
      if (!definition_.options.emplace(key, value).second)
        return Unexpected("each option once; '" + key + "' is given twice before this place");
    } while (TakePunctuation(","));
    return ExpectPunctuation(")");
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  TableDefinition definition_;
};

}  // namespace

Result<TableDefinition> ParseTableDefinition(std::string_view ddl, bool with_columns, std::string* name) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(ddl, "reading CREATE TABLE"));
  return CreateTableParser(ddl, std::move(tokens)).Parse(with_columns, name);
}

Result<TableDefinition> ParseCreateTable(std::string_view ddl, std::string* name) {
  return ParseTableDefinition(ddl, true, name);
}

}  // namespace headrace
