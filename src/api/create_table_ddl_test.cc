// Flink DDL as people paste it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/engine.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Result<TableDefinition> Parse(std::string_view ddl) {
  std::string name;
  return ParseCreateTable(ddl, &name);
}

TEST(ParseCreateTable, TakesEveryClauseOfAPastedStatement) {
  std::string name;
  const Result<TableDefinition> table = ParseCreateTable(R"(
    -- orders of the shop
    CREATE TABLE IF NOT EXISTS my_catalog.shop.`Order Items` (
      order_id BIGINT NOT NULL COMMENT 'it''s the key, really',
      `line no` INT,
      price DECIMAL(10, 2), /* in euro */
      tags MAP<STRING, ARRAY<INT>>,
      dt STRING,
      CONSTRAINT pk PRIMARY KEY (order_id, `line no`, dt) NOT ENFORCED
    ) COMMENT 'lines' PARTITIONED BY (dt)
    WITH ('bucket' = '2', 'changelog-producer' = 'input', 'connector' = 'paimon');)",
                                                         &name);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(name, "shop.Order Items");
  EXPECT_EQ(table->columns,
            "order_id BIGINT NOT NULL COMMENT 'it''s the key, really', `line no` INT, price DECIMAL(10, 2), "
            "tags MAP<STRING, ARRAY<INT>>, dt STRING");
  EXPECT_THAT(table->primary_key, ElementsAre("order_id", "line no", "dt"));
  EXPECT_THAT(table->partition_by, ElementsAre("dt"));
  EXPECT_THAT(table->options, ElementsAre(Pair("bucket", "2"), Pair("changelog-producer", "input")));
  EXPECT_EQ(table->comment, "lines");
}

TEST(ParseCreateTable, TakesAKeyWrittenAtItsColumn) {
  const Result<TableDefinition> table =
      Parse("create table t (id int primary key not enforced comment 'k', v string)");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->columns, "id int comment 'k', v string");
  EXPECT_THAT(table->primary_key, ElementsAre("id"));
}

TEST(ParseCreateTable, ShowsHowAPrimaryKeyIsWritten) {
  for (const char* ddl :
       {"CREATE TABLE t (a STRING PRIMARY KEY)", "CREATE TABLE t (a STRING, PRIMARY KEY (a))",
        "CREATE TABLE t (a STRING PRIMARY KEY NOT NULL)", "CREATE TABLE t (a STRING PRIMARY KEY, b INT)"})
    EXPECT_THAT(Parse(ddl).status().message(), HasSubstr("id BIGINT PRIMARY KEY NOT ENFORCED")) << ddl;
}

TEST(ParseCreateTable, KeepsAWatermarkAsFlinksCatalogDoes) {
  const Result<TableDefinition> table = Parse(
      "CREATE TABLE t (id INT, `at` TIMESTAMP(3), WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND, PRIMARY "
      "KEY (id) "
      "NOT ENFORCED)");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->columns, "id INT, `at` TIMESTAMP(3)");
  EXPECT_THAT(table->options,
              ElementsAre(Pair("schema.watermark.0.rowtime", "at"),
                          Pair("schema.watermark.0.strategy.data-type", "TIMESTAMP(3)"),
                          Pair("schema.watermark.0.strategy.expr", "`at` - INTERVAL '5' SECOND")));
}

TEST(ParseCreateTable, TellsThePlaceOfWhatItDoesNotUnderstand) {
  const Result<TableDefinition> table = Parse("CREATE TABLE t (\n  id INT\n  PARTITIONED BY dt");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(KindOf(table.status()), ErrorKind::kInvalid);
  EXPECT_THAT(table.status().message(), HasSubstr("line 3"));
}

TEST(ParseCreateTable, RefusesByNameWhatATableCannotHave) {
  for (const char* ddl :
       {"CREATE TABLE t (id INT, ts TIMESTAMP(6), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
        "CREATE TABLE t (id INT, ts STRING, WATERMARK FOR ts AS ts)",
        "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS late(ts))",
        "CREATE TABLE t (id INT, total AS id * 2)", "CREATE TEMPORARY TABLE t (id INT)",
        "CREATE TABLE t (id INT, m STRING METADATA FROM 'key')", "CREATE TABLE t (id INT) LIKE other"}) {
    const Result<TableDefinition> table = Parse(ddl);
    ASSERT_FALSE(table.ok()) << ddl;
    EXPECT_EQ(KindOf(table.status()), ErrorKind::kUnsupported) << table.status();
  }
}

TEST(ParseCreateTable, SurvivesStatementsCutAnywhere) {
  const std::string whole =
      "CREATE TABLE a.b (id INT NOT NULL COMMENT 'x', PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (id) "
      "WITH ('k'='v')";
  ASSERT_TRUE(Parse(whole).ok());
  int understood = 0;
  for (size_t length = 0; length < whole.size(); ++length) understood += Parse(whole.substr(0, length)).ok();
  // After the column list and after PARTITIONED BY (id), each with and without the blank that follows.
  EXPECT_EQ(understood, 4);
}

}  // namespace
}  // namespace headrace
