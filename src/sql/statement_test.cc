// Scripts cut into statements, and the heads of these.
#include "sql/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
T Parsed(std::string_view text) {
  const auto statement = ParseStatement(text);
  EXPECT_TRUE(statement.ok()) << statement.status();
  EXPECT_TRUE(statement.ok() && std::holds_alternative<T>(*statement)) << text;
  return statement.ok() && std::holds_alternative<T>(*statement) ? std::get<T>(*statement) : T();
}

std::string ErrorOf(std::string_view text) { return ParseStatement(text).status().ToString(); }

TEST(SplitScript, CutsAtSemicolonsThatAreNotInQuotesOrComments) {
  const auto statements = SplitScript(
      "-- first; comment\nSELECT ';' ; /* ; */ SELECT \"a;b\" FROM t;;\n SELECT $tag$ ; $tag$; SELECT "
      "e'it\\'s;' ; SELECT 1");
  ASSERT_TRUE(statements.ok()) << statements.status();
  EXPECT_THAT(*statements, ElementsAre("SELECT ';'", "SELECT \"a;b\" FROM t", "SELECT $tag$ ; $tag$",
                                       "SELECT e'it\\'s;'", "SELECT 1"));
}

TEST(SplitScript, GivesNamesInBackticksTheQuotesThatDuckDBKnows) {
  EXPECT_THAT(*SplitScript("SELECT `a b`, '`' FROM `t`"), ElementsAre("SELECT \"a b\", '`' FROM \"t\""));
}

TEST(SplitScript, OfNothingIsNothing) {
  for (const char* script : {"", "  ;; ", "-- only a comment", "/* never closed"})
    EXPECT_TRUE(SplitScript(script).ValueOrDie().empty()) << script;
}

TEST(SplitScript, SaysWhereAQuoteWasOpenedThatIsNeverClosed) {
  EXPECT_THAT(SplitScript("SELECT 1;\n  SELECT 'x").status().ToString(), HasSubstr("line 2, column 10"));
}

TEST(IsComplete, WaitsForASemicolonOutsideQuotes) {
  EXPECT_TRUE(IsComplete("SELECT 1;"));
  EXPECT_TRUE(IsComplete("SELECT 1; -- done"));
  for (const char* text : {"", "SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT $$ ;"})
    EXPECT_FALSE(IsComplete(text)) << text;
}

TEST(ParseStatement, ReadsCreateTableWithAndWithoutAQuery) {
  const auto plain = Parsed<CreateTableText>(
      "create table if not exists c.db.t (a INT, b STRING COMMENT 'x AS y') WITH ('k'='v')");
  EXPECT_EQ(plain.name, "db.t");
  EXPECT_TRUE(plain.if_not_exists);
  EXPECT_EQ(plain.query, "");
  const auto as = Parsed<CreateTableText>(
      "CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) WITH ('b'='1') AS SELECT 1 AS a;");
  EXPECT_EQ(as.definition, "CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) WITH ('b'='1')");
  EXPECT_EQ(as.query, "SELECT 1 AS a");
}

TEST(ParseStatement, ReadsInsertWithColumnsOrAQueryInParentheses) {
  const auto insert = Parsed<InsertText>("INSERT INTO db.t (a, \"b c\") SELECT 1, 2");
  EXPECT_THAT(insert.columns, ElementsAre("a", "b c"));
  EXPECT_EQ(insert.query, "SELECT 1, 2");
  for (const char* query : {"(SELECT 1)", "((SELECT 1))", "(FROM u)"})
    EXPECT_EQ(Parsed<InsertText>(std::string("INSERT INTO t ") + query).query, query);
  EXPECT_EQ(Parsed<InsertText>("INSERT INTO t VALUES (1, 'a'), (2, 'b')").query, "VALUES (1, 'a'), (2, 'b')");
}

TEST(ParseStatement, ReadsDeleteAndUpdate) {
  const auto all = Parsed<DeleteText>("DELETE FROM db.t");
  EXPECT_EQ(all.condition, "");
  const auto some = Parsed<DeleteText>("DELETE FROM db.t AS x WHERE x.a IN (SELECT a FROM u WHERE b = 1)");
  EXPECT_EQ(some.alias, "x");
  EXPECT_EQ(some.condition, "x.a IN (SELECT a FROM u WHERE b = 1)");
  const auto update =
      Parsed<UpdateText>("UPDATE db.t t SET a = (SELECT max(x) FROM u WHERE y = 1), `b` = f(1, 2) WHERE c");
  EXPECT_EQ(update.alias, "t");
  ASSERT_EQ(update.values.size(), 2u);
  EXPECT_EQ(update.values[0].second, "(SELECT max(x) FROM u WHERE y = 1)");
  EXPECT_EQ(update.values[1].first, "b");
  EXPECT_EQ(update.values[1].second, "f(1, 2)");
  EXPECT_EQ(update.condition, "c");
  EXPECT_EQ(Parsed<UpdateText>("UPDATE t SET a = b IS NOT DISTINCT FROM c WHERE d").values[0].second,
            "b IS NOT DISTINCT FROM c");
}

TEST(ParseStatement, ReadsWhatIsAskedAboutTables) {
  EXPECT_EQ(Parsed<DescribeText>("DESC db.t").name, "db.t");
  EXPECT_EQ(Parsed<ShowText>("SHOW TABLES IN db").name, "db");
  EXPECT_EQ(Parsed<ShowText>("SHOW CREATE TABLE db.t").what, ShowText::What::kCreateTable);
  EXPECT_EQ(Parsed<UseText>("USE `my db`").database, "my db");
  EXPECT_EQ(Parsed<DropTableText>("DROP TABLE IF EXISTS t").name, "t");
}

TEST(ParseStatement, ASettingHasItsKeyInQuotes) {
  const auto set = Parsed<SetText>("SET 'copies' = 'true'");
  EXPECT_EQ(set.key, "copies");
  EXPECT_EQ(set.value, "true");
  EXPECT_EQ(Parsed<QueryText>("SET threads = 2").text, "SET threads = 2");
  EXPECT_FALSE(ParseStatement("SET 'copies' true").ok());
}

TEST(ParseStatement, LeavesTheRestToDuckDB) {
  for (const char* text : {"SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a", "EXPLAIN SELECT 1",
                           "CREATE TEMP TABLE x AS SELECT 1", "DESCRIBE SELECT 1", "SHOW ALL",
                           "COPY (SELECT 1) TO 'x.csv'", "FROM db.t"})
    EXPECT_EQ(Parsed<QueryText>(text).text, text);
}

TEST(ParseStatement, TakesNoConditionOrValueThatLeadsOutOfItsParentheses) {
  for (const char* text : {"DELETE FROM t WHERE a = 1) OR (true", "UPDATE t SET a = 1), (2 WHERE true",
                           "INSERT INTO t SELECT 1) AS a, (SELECT 2"})
    EXPECT_THAT(ErrorOf(text), HasSubstr("expected a '(' that this ')' closes")) << text;
}

TEST(ParseStatement, NamesWhatItDoesNotTake) {
  EXPECT_THAT(ErrorOf("INSERT OVERWRITE t SELECT 1"), HasSubstr("OVERWRITE at line 1, column 8"));
  EXPECT_THAT(ErrorOf("INSERT INTO t SELECT 1 RETURNING a"), HasSubstr("RETURNING"));
  EXPECT_THAT(ErrorOf("INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING"), HasSubstr("CONFLICT"));
  EXPECT_THAT(ErrorOf("DELETE FROM t USING u WHERE 1"), HasSubstr("USING"));
  EXPECT_THAT(ErrorOf("UPDATE t SET a = 1 FROM u"), HasSubstr("FROM"));
  EXPECT_THAT(ErrorOf("UPDATE t SET a"), HasSubstr("'='"));
  EXPECT_THAT(ErrorOf("DROP TABLE t CASCADE"), HasSubstr("CASCADE"));
  EXPECT_THAT(ErrorOf("TRUNCATE db.t"), HasSubstr("DELETE"));
  EXPECT_THAT(ErrorOf("MERGE INTO db.t USING u ON true WHEN MATCHED THEN DELETE"), HasSubstr("MERGE"));
  EXPECT_THAT(ErrorOf("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a"),
              HasSubstr("INSERT at line 1, column 22"));
  EXPECT_THAT(ErrorOf("INSERT INTO"), HasSubstr("a name"));
}

TEST(ParseStatement, ReadsEveryKindOfAlterTable) {
  const auto changes = [](std::string_view text) { return Parsed<AlterTableText>(text).changes; };
  const auto alter = Parsed<AlterTableText>("ALTER TABLE IF EXISTS c.db.t DROP (a, n.`x y`);");
  EXPECT_EQ(alter.name, "db.t");
  EXPECT_TRUE(alter.if_exists);
  EXPECT_THAT(alter.changes,
              ElementsAre(SchemaChange(DropColumn{{"a"}}), SchemaChange(DropColumn{{"n", "x y"}})));
  EXPECT_THAT(
      changes(
          "alter table t add (a DECIMAL(10, 2) COMMENT 'it''s' FIRST, n.b ROW<x INT, y STRING> AFTER n.a)"),
      ElementsAre(
          SchemaChange(
              AddColumn{{"a"}, "DECIMAL(10, 2)", "it's", ColumnPlace{ColumnPlace::Where::kFirst, ""}}),
          SchemaChange(AddColumn{
              {"n", "b"}, "ROW<x INT, y STRING>", "", ColumnPlace{ColumnPlace::Where::kAfter, "a"}})));
  EXPECT_THAT(changes("ALTER TABLE t ADD COLUMN a INT"), ElementsAre(SchemaChange(AddColumn{{"a"}, "INT"})));
  EXPECT_THAT(changes("ALTER TABLE t MODIFY a BIGINT NOT NULL COMMENT 'c' AFTER b"),
              ElementsAre(SchemaChange(RetypeColumn{{"a"}, "BIGINT NOT NULL"}),
                          SchemaChange(CommentColumn{{"a"}, "c"}),
                          SchemaChange(MoveColumn{"a", {ColumnPlace::Where::kAfter, "b"}})));
  EXPECT_THAT(changes("ALTER TABLE t ALTER COLUMN a SET DATA TYPE STRING"),
              ElementsAre(SchemaChange(RetypeColumn{{"a"}, "STRING"})));
  EXPECT_THAT(changes("ALTER TABLE t RENAME a TO b"), ElementsAre(SchemaChange(RenameColumn{{"a"}, "b"})));
  EXPECT_THAT(changes("ALTER TABLE t SET ('k' = 'v', 'l' = '')"),
              ElementsAre(SchemaChange(SetOption{"k", "v"}), SchemaChange(SetOption{"l", ""})));
  EXPECT_THAT(changes("ALTER TABLE t RESET ('k')"), ElementsAre(SchemaChange(UnsetOption{"k"})));
  EXPECT_EQ(Parsed<AlterTableText>("ALTER TABLE db.t RENAME TO db.u").new_name, "db.u");
}

TEST(ParseStatement, NamesWhatAlterTableDoesNotTake) {
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t DROP PRIMARY KEY"), HasSubstr("fixed when the table is made"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t ADD WATERMARK FOR a AS a"), HasSubstr("WATERMARK"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t ADD a INT DEFAULT 3"), HasSubstr("default values"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t MODIFY n.a INT FIRST"), HasSubstr("cannot be moved"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t ADD a"), HasSubstr("expected a type"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t SET (k = 'v')"),
              HasSubstr("a text in single quotes at line 1, column 22"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t DROP a, b"), HasSubstr("the end of the statement"));
  EXPECT_THAT(ErrorOf("ALTER TABLE d.t"), HasSubstr("expected ADD, MODIFY"));
  EXPECT_THAT(Parsed<AlterTableText>("ALTER TABLE t ADD a INT DEFAULT 3").mistake.ToString(),
              HasSubstr("default values"));
}

}  // namespace
}  // namespace headrace
