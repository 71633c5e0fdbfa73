// Flink's CREATE TABLE, as users paste it, into a TableDefinition.
//
// It is read token by token (sql/tokens.h). Column types are left to ParseColumns; what Paimon tables cannot have is refused by name.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/create_table_text.h"
#include "base/error.h"
#include "format/data_type.h"
#include "headrace/engine.h"
#include "sql/names.h"
#include "sql/token_cursor.h"
#include "sql/watermark.h"

namespace headrace {
namespace {

constexpr char kReading[] = "reading CREATE TABLE";

// Reads the statement from left to right; one method a clause.
class CreateTableParser : TokenCursor {
 public:
  CreateTableParser(std::string_view text, std::vector<Token> tokens)
      : TokenCursor(kReading, text, std::move(tokens)) {}

  // Without columns: the head of CREATE TABLE … AS.
  Result<TableDefinition> Parse(bool with_columns, std::string* name) {
    HEADRACE_RETURN_NOT_OK(ExpectWord("CREATE"));
    if (Is("TEMPORARY")) return Refused("a TEMPORARY table has no place on disk");
    HEADRACE_RETURN_NOT_OK(ExpectWord("TABLE"));
    if (Take({"IF"})) {
      HEADRACE_RETURN_NOT_OK(ExpectWord("NOT"));
      HEADRACE_RETURN_NOT_OK(ExpectWord("EXISTS"));
    }
    HEADRACE_ASSIGN_OR_RETURN(*name, ParseQualifiedName());
    if (with_columns || IsMark("(")) HEADRACE_RETURN_NOT_OK(ParseElements());
    if (!with_columns && !definition_.columns.empty()) {
      return Unsupported(
          "reading CREATE TABLE … AS: the columns are those of the query; list a PRIMARY KEY at most, and "
          "give columns names and "
          "types in the query");
    }
    HEADRACE_RETURN_NOT_OK(ParseClauses());
    TakeMark(";");
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    HEADRACE_RETURN_NOT_OK(KeepWatermark());
    return definition_;
  }

 private:
  // catalog.db.table and db.table both give "db.table".
  Result<std::string> ParseQualifiedName() {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> parts, ParseNames());
    if (parts.size() > 3) return Unexpected("a name of at most three parts");
    return parts.size() == 1 ? parts[0] : parts[parts.size() - 2] + "." + parts.back();
  }

  Result<std::vector<std::string>> ParseNameList() {
    HEADRACE_RETURN_NOT_OK(ExpectMark("("));
    std::vector<std::string> names;
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string name, ParseName());
      names.push_back(std::move(name));
    } while (TakeMark(","));
    HEADRACE_RETURN_NOT_OK(ExpectMark(")"));
    return names;
  }

  Status ParseElements() {
    HEADRACE_RETURN_NOT_OK(ExpectMark("("));
    do {
      HEADRACE_RETURN_NOT_OK(ParseElement());
    } while (TakeMark(","));
    return ExpectMark(")");
  }

  Status ParseElement() {
    if (Is("WATERMARK")) return ParseWatermark();
    if (Is("PERIOD")) return Refused("not a part of a Paimon table");
    if (Take({"CONSTRAINT"})) {
      HEADRACE_RETURN_NOT_OK(ParseName().status());
      return ParsePrimaryKey();
    }
    if (Is("PRIMARY")) return ParsePrimaryKey();
    return ParseColumn();
  }

  // WATERMARK FOR column AS column - INTERVAL '5' SECOND, kept among the options as Flink's catalog keeps it.
  Status ParseWatermark() {
    if (!watermark_.rowtime.empty()) return Refused("a table has one watermark at most");
    Take({"WATERMARK"});
    HEADRACE_RETURN_NOT_OK(ExpectWord("FOR"));
    HEADRACE_ASSIGN_OR_RETURN(watermark_.rowtime, ParseName());
    HEADRACE_RETURN_NOT_OK(ExpectWord("AS"));
    const size_t start = Next().offset;
    const size_t behind_column = Next().end;
    size_t end = start;
    for (int depth = 0; !AtEnd() && (depth > 0 || (!IsMark(",") && !IsMark(")"))); ++at_) {
      if (IsMark("(")) ++depth;
      if (IsMark(")")) --depth;
      end = Next().end;
    }
    HEADRACE_ASSIGN_OR_RETURN(watermark_.delay_ms,
                              WatermarkDelay(text_.substr(start, end - start), watermark_.rowtime));
    // As Flink writes it: names in backticks, the rest as it is.
    watermark_expression_ = Quoted(watermark_.rowtime, '`');
    if (end > behind_column) watermark_expression_ += text_.substr(behind_column, end - behind_column);
    return Status::OK();
  }

  Status KeepWatermark() {
    const std::string& rowtime = watermark_.rowtime;
    if (rowtime.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, ParseColumns(definition_.columns));
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const DataField& each) { return each.name == rowtime; });
    const bool is_time = field != fields.end() && (field->type.root == TypeRoot::kTimestamp ||
                                                   field->type.root == TypeRoot::kTimestampLtz);
    if (!is_time || field->type.precision > 3)
      return Unsupported(
          kReading, ": WATERMARK FOR ", rowtime, ": ",
          field == fields.end() ? "there is no such column" : "the column is a " + ToSql(field->type),
          "; it is of a column of type TIMESTAMP(3) at most, which is what Flink can read it of");
    DataType type = field->type;
    type.nullable = true;
    definition_.options.insert_or_assign(kWatermarkRowtime, rowtime);
    definition_.options.insert_or_assign(kWatermarkExpression, watermark_expression_);
    definition_.options.insert_or_assign(kWatermarkType, ToSql(type));
    return Status::OK();
  }

  Status SetPrimaryKey(std::vector<std::string> names) {
    if (!definition_.primary_key.empty()) return Unexpected("one PRIMARY KEY, not two");
    definition_.primary_key = std::move(names);
    return Status::OK();
  }

  Status ParseEnforcement() {
    if (Take({"NOT", "ENFORCED"})) return Status::OK();
    return Unexpected(
        "NOT ENFORCED after PRIMARY KEY, as in PRIMARY KEY (id) NOT ENFORCED or id BIGINT PRIMARY KEY NOT "
        "ENFORCED,");
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
    if (Is("AS")) return Refused("a computed column is not stored; leave it out");
    size_t end = start;
    int depth = 0;
    while (!AtEnd()) {
      if (depth == 0 && (IsMark(",") || IsMark(")"))) break;
      if (depth == 0 && Is("METADATA")) return Refused("a metadata column is not stored; leave it out");
      if (depth == 0 && Is("PRIMARY")) {
        AppendColumn(start, end);
        at_ += 1;
        HEADRACE_RETURN_NOT_OK(ExpectWord("KEY"));
        HEADRACE_RETURN_NOT_OK(SetPrimaryKey({name}));
        HEADRACE_RETURN_NOT_OK(ParseEnforcement());
        return ParseTrailingComment();
      }
      if (IsMark("(") || IsMark("<")) ++depth;
      if (IsMark(")") || IsMark(">")) --depth;
      end = Next().end;
      ++at_;
    }
    AppendColumn(start, end);
    return Status::OK();
  }

  Status ParseTrailingComment() {
    const size_t start = Next().offset;
    if (!Take({"COMMENT"})) return Status::OK();
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
    if (Take({"COMMENT"})) {
      HEADRACE_ASSIGN_OR_RETURN(definition_.comment, ParseString());
    }
    if (Is("DISTRIBUTED")) return Refused("use the options 'bucket' and 'bucket-key'");
    if (Take({"PARTITIONED"})) {
      HEADRACE_RETURN_NOT_OK(ExpectWord("BY"));
      HEADRACE_ASSIGN_OR_RETURN(definition_.partition_by, ParseNameList());
    }
    if (Take({"WITH"})) HEADRACE_RETURN_NOT_OK(ParseOptions());
    if (Is("LIKE") || Is("AS")) return Refused("only a statement that lists its own columns is understood");
    return Status::OK();
  }

  Status ParseOptions() {
    HEADRACE_RETURN_NOT_OK(ExpectMark("("));
    do {
      HEADRACE_ASSIGN_OR_RETURN(std::string key, ParseString());
      HEADRACE_RETURN_NOT_OK(ExpectMark("="));
      HEADRACE_ASSIGN_OR_RETURN(std::string value, ParseString());
      // Flink's name for the kind of table; a Paimon catalog's tables do not store it.
      if (key == "connector" && value == "paimon") continue;
      if (!definition_.options.emplace(key, value).second)
        return Unexpected("each option once; '" + key + "' is given twice before this place");
    } while (TakeMark(","));
    return ExpectMark(")");
  }

  TableDefinition definition_;
  Watermark watermark_;
  std::string watermark_expression_;
};

}  // namespace

Result<TableDefinition> ParseTableDefinition(std::string_view ddl, bool with_columns, std::string* name) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(ddl, kReading));
  return CreateTableParser(ddl, std::move(tokens)).Parse(with_columns, name);
}

Result<TableDefinition> ParseCreateTable(std::string_view ddl, std::string* name) {
  return ParseTableDefinition(ddl, true, name);
}

}  // namespace headrace
