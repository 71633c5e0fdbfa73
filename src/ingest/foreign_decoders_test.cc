// Odd lines and values of the forms that are not Debezium's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/event_decoders.h"
#include "ingest/mysql_ddl.h"
#include "ingest/mysql_types.h"
#include "ingest/postgres_type_names.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MapTable TableOf(EventFormat format, const std::string& columns, bool keep_update_before = false) {
  const TableShape shape = ShapeOf(columns, {"id"}, keep_update_before);
  MapTable table(shape);
  table.UseDecoder(MakeEventDecoder(format, shape, {}));
  return table;
}

std::string Canal(const std::string& type, const std::string& data, const std::string& old = "null") {
  return R"({"data":)" + data + R"(,"database":"d","isDdl":false,"mysqlType":{"id":"int"},"old":)" + old +
         R"(,"table":"t","type":")" + type + R"("})";
}

TEST(CanalDecoder, GivesExactBeforeImagesFromWhatChanged) {
  MapTable table = TableOf(EventFormat::kCanalJson, "id INT, a STRING, b STRING", true);
  table.Feed(Canal("INSERT", R"([{"id":"1","a":"x","b":null},{"id":"2","a":"y","b":"z"}])"));
  table.Feed(Canal("UPDATE", R"([{"id":"1","a":"x","b":"new"},{"id":"3","a":"y","b":"z"}])",
                   R"([{"b":null},{"id":"2"}])"));
  EXPECT_THAT(table.changes(),
              ElementsAre("+I|1|x|null", "+I|2|y|z", "-U|1|x|null", "+U|1|x|new", "-D|2|y|z", "+I|3|y|z"));
}

TEST(CanalDecoder, TakesALineWholeOrNotAtAll) {
  MapTable table = TableOf(EventFormat::kCanalJson, "id INT, a STRING");
  const LineOutcome outcome = table.Feed(Canal("INSERT", R"([{"id":"1","a":"x"},{"id":"one","a":"y"}])"));
  EXPECT_EQ(outcome.fate, LineFate::kBad);
  EXPECT_EQ(outcome.field, "data[1].id");
  EXPECT_THAT(table.Rows(), ElementsAre());
}

TEST(CanalDecoder, RefusesWhatDoesNotSayWhichRowChangedHow) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {Canal("UPDATE", R"([{"id":"1","a":"x"}])"), "old"},
      {Canal("UPDATE", R"([{"id":"1","a":"x"}])", "[]"), "old"},
      {Canal("UPDATE", R"([{"id":"1","a":"x"}])", "[null]"), "old[0]"},
      {Canal("INSERT", "[]"), "data"},
      {Canal("INSERT", "null"), "data"},
      {Canal("INSERT", R"([["1"]])"), "data[0]"},
      {Canal("INSERT", R"([{"id":"1","zz":"x"}])"), "data[0].zz"},
      {Canal("DELETE", R"([{"a":"x"}])"), "data[0].id"},
      {Canal("MERGE", R"([{"id":"1"}])"), "type"},
      {R"({"data":[],"database":"d","table":"t","type":"INSERT","type":"DELETE"})", "type"}};
  for (const auto& [line, field] : lines) {
    MapTable table = TableOf(EventFormat::kCanalJson, "id INT, a STRING");
    const LineOutcome outcome = table.Feed(line);
    EXPECT_EQ(outcome.fate, LineFate::kBad) << line;
    EXPECT_EQ(outcome.field, field) << line;
  }
}

TEST(CanalDecoder, ReadsTextByTheColumnAndBytesAsLatin1) {
  MapTable table = TableOf(EventFormat::kCanalJson,
                           "id INT, flag TINYINT, big DECIMAL(20,0), d DECIMAL(20,6), f FLOAT, b9 BIGINT, at "
                           "TIMESTAMP(6), raw BYTES, ok BOOLEAN");
  const LineOutcome outcome = table.Feed(Canal(
      "INSERT",
      R"([{"id":"1","flag":"1","big":"18446744073709551615","d":"-12345678901234.567890","f":"1.0E10","b9":"257",)"
      R"("at":"9999-12-31 23:59:59.999999","raw":"\u0000ÿ\u0010","ok":"0"}])"));
  EXPECT_EQ(outcome.fate, LineFate::kApplied) << outcome.field << outcome.reason;
  EXPECT_THAT(table.changes()[0], HasSubstr("|18446744073709551615|-12345678901234.567890|"));
  EXPECT_THAT(table.changes()[0], HasSubstr("|00ff10|false"));
  EXPECT_EQ(table.Feed(Canal("INSERT", R"([{"id":"2","raw":"€"}])")).field, "data[0].raw");
  EXPECT_EQ(table.Feed(Canal("INSERT", R"([{"id":"2","at":"0000-00-00 00:00:00"}])")).field, "data[0].at");
}

TEST(CanalDecoder, GoesOnUnderTheNewNameOfTheTable) {
  MapTable table = TableOf(EventFormat::kCanalJson, "id INT");
  table.Feed(Canal("INSERT", R"([{"id":"1"}])"));
  table.Feed(
      R"({"data":null,"database":"d","isDdl":true,"sql":"RENAME TABLE `t` TO d.u","table":"u","type":"RENAME"})");
  EXPECT_EQ(table.decoder().source_table(), "d.u");
  EXPECT_EQ(table.Feed(R"({"data":[{"id":"2"}],"database":"d","table":"u","type":"INSERT"})").fate,
            LineFate::kApplied);
  EXPECT_NE(table.Feed(Canal("INSERT", R"([{"id":"3"}])")).fate, LineFate::kApplied);
}

TEST(MaxwellDecoder, ReadsTypedValuesAsTheyAre) {
  MapTable table =
      TableOf(EventFormat::kMaxwellJson,
              "id INT, big DECIMAL(20,0), d DECIMAL(20,6), g DOUBLE, b1 TINYINT, s STRING, j STRING, "
              "raw BYTES, tags ARRAY<STRING>");
  const LineOutcome outcome = table.Feed(
      R"({"database":"d","table":"t","type":"insert","data":{"id":1,"big":18446744073709551615,"d":0.0,"g":5e-324,)"
      R"("b1":true,"s":["x","z"],"j":{"b":1,"a":[null,2.50]},"raw":"AP8Q","tags":["p"]}})");
  EXPECT_EQ(outcome.fate, LineFate::kApplied) << outcome.field << outcome.reason;
  EXPECT_THAT(table.changes(),
              ElementsAre("+I|1|18446744073709551615|0.000000|5e-324|1|[\"x\",\"z\"]|{\"b\":1,"
                          "\"a\":[null,2.50]}|00ff10|[\"p\"]"));
}

TEST(MaxwellDecoder, RefusesAnUpdateThatDoesNotSayWhatItChanged) {
  MapTable table = TableOf(EventFormat::kMaxwellJson, "id INT");
  EXPECT_EQ(table.Feed(R"({"database":"d","table":"t","type":"update","data":{"id":1}})").field, "old");
}

TEST(Wal2JsonDecoder, TakesWhatWasNotSentFromTheTableAndFromTheSameTransaction) {
  MapTable table = TableOf(EventFormat::kWal2Json, "id INT, a STRING, big STRING");
  const auto column = [](const char* name, const char* value) {
    return std::string(R"({"name":")") + name + R"(","type":"text","value":)" + value + "}";
  };
  const std::string head = R"("schema":"s","table":"t",)";
  table.Feed(R"({"action":"I",)" + head + R"("columns":[)" + column("id", "1") + "," + column("a", "\"x\"") +
             "," + column("big", "\"long\"") + "]}");
  table.Feed(R"({"action":"U",)" + head + R"("columns":[)" + column("id", "1") + "," + column("a", "\"y\"") +
             R"(],"identity":[)" + column("id", "1") + "]}");
  table.Feed(R"({"action":"U",)" + head + R"("columns":[)" + column("id", "2") + "," + column("a", "\"y\"") +
             R"(],"identity":[)" + column("id", "1") + "]}");
  EXPECT_THAT(table.Rows(), ElementsAre("a=y|big=long|id=2"));

  const LineOutcome outcome = table.Feed(
      R"({"change":[{"kind":"insert","schema":"s","table":"t","columnnames":["id","a","big"],"columntypes":[],)"
      R"("columnvalues":[5,"p","wide"]},{"kind":"update","schema":"s","table":"t","columnnames":["id","a"],)"
      R"("columnvalues":[5,"q"],"oldkeys":{"keynames":["id"],"keyvalues":[5]}}]})");
  EXPECT_EQ(outcome.fate, LineFate::kApplied) << outcome.field << outcome.reason;
  EXPECT_THAT(table.Rows(), ElementsAre("a=q|big=wide|id=5", "a=y|big=long|id=2"));
}

// A type that is not told is not made up: neither for a column that is new nor for one that is too narrow.
TEST(Wal2JsonDecoder, ChangesNoTableWhereItsEventsHaveNoTypes) {
  const TableShape shape = ShapeOf("id INT, n INT", {"id"});
  EventOptions options;
  options.follow_schema = true;
  for (const char* columns : {R"({"name":"id","value":1},{"name":"n","value":5000000000})",
                              R"({"name":"id","value":1},{"name":"m","value":5})"}) {
    MapTable table(shape);
    table.UseDecoder(MakeEventDecoder(EventFormat::kWal2Json, shape, options));
    const LineOutcome outcome =
        table.Feed(std::string(R"({"action":"I","schema":"s","table":"t","columns":[)") + columns + "]}");
    EXPECT_EQ(outcome.fate, LineFate::kBad) << columns;
  }
}

TEST(Wal2JsonDecoder, TakesATransactionWholeOrNotAtAll) {
  MapTable table = TableOf(EventFormat::kWal2Json, "id INT, a STRING");
  const LineOutcome outcome = table.Feed(
      R"({"change":[{"kind":"insert","schema":"s","table":"t","columnnames":["id","a"],"columnvalues":[5,"p"]},)"
      R"({"kind":"delete","schema":"s","table":"t"}]})");
  EXPECT_EQ(outcome.field, "change[1].oldkeys");
  EXPECT_THAT(table.Rows(), ElementsAre());
}

TEST(PostgresValues, AreReadAsTheServerWritesThem) {
  MapTable table =
      TableOf(EventFormat::kWal2Json,
              "id INT, tz TIMESTAMP_LTZ(6), ts TIMESTAMP(6), tags ARRAY<STRING>, n ARRAY<ARRAY<INT>>, "
              "raw BYTES, num STRING, f DOUBLE");
  const LineOutcome outcome = table.Feed(
      R"({"action":"I","schema":"s","table":"t","columns":[{"name":"id","value":1},)"
      R"({"name":"tz","value":"2024-05-17 13:14:15.5+02"},{"name":"ts","value":"2024-05-17 13:14:15"},)"
      R"({"name":"tags","value":"{a,\"b,c\",NULL,\"NULL\",\"\",\"q\\\"\\\\\"}"},{"name":"n","value":"{{1,2},{3,NULL}}"},)"
      R"({"name":"raw","value":"00ff10"},{"name":"num","value":3.140},{"name":"f","value":"Infinity"}]})");
  EXPECT_EQ(outcome.fate, LineFate::kApplied) << outcome.field << " " << outcome.reason;
  EXPECT_THAT(
      table.changes(),
      ElementsAre("+I|1|2024-05-17T11:14:15.5+00:00|2024-05-17T13:14:15|[\"a\",\"b,c\",null,\"NULL\",\"\","
                  "\"q\\\"\\\\\"]|[[1,2],[3,null]]|00ff10|3.140|Infinity"));
  for (const char* array : {"{", "{1", "1,2", "{1,}", "{1}x", "{{{1}}}", "{a\\\"b\\\"}"}) {
    const LineOutcome refused = table.Feed(
        std::string(
            R"({"action":"I","schema":"s","table":"t","columns":[{"name":"id","value":1},{"name":"n","value":")") +
        array + R"("}]})");
    EXPECT_EQ(refused.fate, LineFate::kBad) << array;
    EXPECT_EQ(refused.field, "columns.n") << array;
  }
}

TEST(FlatDecoder, NeedsToKnowWhatHappened) {
  MapTable table = TableOf(EventFormat::kDebeziumFlat, "id INT, a STRING");
  EXPECT_EQ(table.Feed(R"({"id":1,"a":"x","__op":"c"})").fate, LineFate::kApplied);
  EXPECT_EQ(table.Feed(R"({"id":1,"a":"y","__deleted":"false"})").fate, LineFate::kApplied);
  EXPECT_EQ(table.Feed(R"({"id":1,"a":"__debezium_unavailable_value","__op":"u"})").fate, LineFate::kApplied);
  EXPECT_THAT(table.changes(), ElementsAre("+I|1|x", "+U|1|y", "+U|1|y"));
  EXPECT_EQ(table.Feed(R"({"id":2,"a":"x"})").field, "__op");
  EXPECT_EQ(table.Feed(R"({"id":2,"__op":"z"})").field, "__op");
  EXPECT_EQ(table.Feed(R"({"id":1,"__op":"d","__deleted":"true"})").fate, LineFate::kApplied);
  EXPECT_THAT(table.Rows(), ElementsAre());
}

TEST(MysqlDdl, TellsWhatBecomesOfColumns) {
  const auto text = [](const char* sql) {
    std::string all;
    for (const DdlColumnChange& change : ParseMysqlDdl(sql).columns) {
      static constexpr const char* kWhat[] = {"add", "modify", "rename", "drop"};
      all +=
          (all.empty() ? "" : "; ") + std::string(kWhat[static_cast<int>(change.what)]) + " " + change.column;
      if (!change.renamed.empty()) all += " to " + change.renamed;
      if (!change.type.empty()) all += " " + change.type;
    }
    return all;
  };
  EXPECT_EQ(text("ALTER TABLE customers ADD COLUMN score int DEFAULT 5, ADD COLUMN since datetime(3) NULL "
                 "AFTER plan"),
            "add score int; add since datetime(3)");
  EXPECT_EQ(text("ALTER TABLE `shop`.`payments` MODIFY COLUMN t int, MODIFY d decimal(30,10) unsigned not "
                 "null, DROP "
                 "COLUMN raw, CHANGE COLUMN txt remark mediumtext"),
            "modify t int; modify d decimal(30,10) unsigned; drop raw; rename txt to remark; modify remark "
            "mediumtext");
  EXPECT_EQ(
      text("alter table t add (a int comment 'x, y', b enum('p','q)') ), drop index i, drop primary key, add "
           "unique key k (a, b), rename column c to d, engine=InnoDB /* tail */"),
      "add a int; add b enum('p','q)'); rename c to d");
  EXPECT_EQ(text("alter table t alter column a set default 5, drop b, add constraint c check (a > 5)"),
            "drop b");
  const Ddl create = ParseMysqlDdl(
      "CREATE TABLE IF NOT EXISTS d.`t` (`a` bigint(20) unsigned NOT NULL, b double precision, CONSTRAINT p "
      "PRIMARY "
      "KEY (`a`, b(10)), KEY k (b)) ENGINE=InnoDB");
  EXPECT_EQ(create.kind, Ddl::Kind::kCreate);
  EXPECT_EQ(create.table, (DdlName{"d", "t"}));
  EXPECT_THAT(create.primary_key, ElementsAre("a", "b"));
  EXPECT_EQ(create.columns.size(), 2u);
  EXPECT_EQ(ParseMysqlDdl("RENAME TABLE a TO b, x.c TO d").renamed.size(), 2u);
  EXPECT_EQ(ParseMysqlDdl("alter table a rename to b").renamed.size(), 1u);
  EXPECT_EQ(ParseMysqlDdl("truncate `a`").kind, Ddl::Kind::kTruncate);
  for (const char* sql :
       {"", "(", "alter table", "alter table t add", "alter table t add (", "create table t (a",
        "rename table a", "alter table t change a", "alter table t drop", "/* open", "'open",
        "create table t (a int, primary key (", "alter table t ) , ("}) {
    EXPECT_NO_FATAL_FAILURE(ParseMysqlDdl(sql)) << sql;
  }
}

TEST(TypesOfSources, HoldEveryValue) {
  const std::vector<std::pair<const char*, const char*>> mysql = {{"bigint(20) unsigned", "DECIMAL(20, 0)"},
                                                                  {"int(10) unsigned", "BIGINT"},
                                                                  {"tinyint(1)", "TINYINT"},
                                                                  {"tinyint unsigned", "SMALLINT"},
                                                                  {"mediumint unsigned", "INT"},
                                                                  {"decimal(65,30)", "STRING"},
                                                                  {"decimal", "DECIMAL(10, 0)"},
                                                                  {"bit(64)", "DECIMAL(20, 0)"},
                                                                  {"float(30)", "DOUBLE"},
                                                                  {"float(10,2)", "FLOAT"},
                                                                  {"DATETIME(6)", "TIMESTAMP(6)"},
                                                                  {"timestamp", "TIMESTAMP(0)"},
                                                                  {"enum('a(','b')", "STRING"},
                                                                  {"varbinary(8)", "BYTES"},
                                                                  {"year(4)", "INT"}};
  for (const auto& [name, sql] : mysql) EXPECT_EQ(ToSql(TypeOfMysql(name).value()), sql) << name;
  EXPECT_FALSE(TypeOfMysql("hologram").has_value());
  const std::vector<std::pair<const char*, const char*>> postgres = {
      {"numeric(10,2)", "DECIMAL(10, 2)"},
      {"numeric(5,-2)", "DECIMAL(7, 0)"},
      {"numeric(3,5)", "DECIMAL(5, 5)"},
      {"numeric", "STRING"},
      {"character varying(40)", "VARCHAR(40)"},
      {"timestamp(3) without time zone", "TIMESTAMP(3)"},
      {"timestamp with time zone", "TIMESTAMP_LTZ(6)"},
      {"time without time zone", "STRING"},
      {"time(3) without time zone", "TIME(3)"},
      {"character(5)", "CHAR(5)"},
      {"integer[]", "ARRAY<INT>"},
      {"mood", "STRING"}};
  for (const auto& [name, sql] : postgres) {
    std::string found = ToSql(TypeOfPostgresName(name));
    if (found.starts_with("TIMESTAMP(6) WITH LOCAL")) found = "TIMESTAMP_LTZ(6)";
    EXPECT_EQ(found, sql) << name;
  }
}

}  // namespace
}  // namespace headrace::ingest
