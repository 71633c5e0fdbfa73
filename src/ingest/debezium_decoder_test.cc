// The rules of events, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/debezium_decoder.h"
#include "ingest/decoder_test_kit.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TableShape Table(bool keep_update_before = false) {
  return ShapeOf("id INT, v STRING, big STRING", {"id"}, keep_update_before);
}

TEST(DebeziumDecoder, AChangeOfTheKeyInsideOneEventDeletesAndInserts) {
  MapTable table(Table());
  table.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"x"}})");
  table.Feed(R"({"op":"u","before":{"id":1,"v":"a","big":"x"},"after":{"id":2,"v":"b","big":"x"}})");
  EXPECT_THAT(table.changes(), ElementsAre("+I|1|a|x", "-D|1|a|x", "+I|2|b|x"));
}

TEST(DebeziumDecoder, AnUpdateBeforeIsGivenOnlyWhenTheImageIsWholeAndTheTableKeepsIt) {
  const std::string whole =
      R"({"op":"u","before":{"id":1,"v":"a","big":"x"},"after":{"id":1,"v":"b","big":"x"}})";
  MapTable keeps(Table(true));
  keeps.Feed(whole);
  keeps.Feed(R"({"op":"u","before":null,"after":{"id":1,"v":"c","big":"x"}})");
  keeps.Feed(R"({"op":"u","before":{"id":1},"after":{"id":1,"v":"d","big":"x"}})");
  EXPECT_THAT(keeps.changes(), ElementsAre("-U|1|a|x", "+U|1|b|x", "+U|1|c|x", "+U|1|d|x"));
  MapTable not_kept(Table(false));
  not_kept.Feed(whole);
  EXPECT_THAT(not_kept.changes(), ElementsAre("+U|1|b|x"));
}

TEST(DebeziumDecoder, ABeforeImageWithoutTheKeyIsNotUsed) {
  MapTable table(Table(true));
  table.Feed(R"({"op":"u","before":{"id":null,"v":"a","big":null},"after":{"id":1,"v":"b","big":"x"}})");
  EXPECT_THAT(table.changes(), ElementsAre("+U|1|b|x"));
}

TEST(DebeziumDecoder, OfADeleteOnlyTheKeyCounts) {
  TableShape shape = ShapeOf("id INT, v STRING NOT NULL, n TINYINT NOT NULL, m TINYINT", {"id"});
  MapTable table(shape);
  EXPECT_EQ(table.Feed(R"({"op":"d","before":{"id":1,"v":null,"n":1000,"m":1000},"after":null})").fate,
            LineFate::kApplied);
  EXPECT_THAT(table.changes(), ElementsAre("-D|1||0|null"));
  EXPECT_EQ(table.Feed(R"({"op":"d","before":{"id":"1","v":null,"n":1,"m":1},"after":null})").fate,
            LineFate::kBad);
}

TEST(DebeziumDecoder, ADeleteMayHaveItsKeyInTheMessageAlone) {
  MapTable table(Table());
  EXPECT_EQ(table.Feed(R"({"op":"d","before":null,"after":null})", R"({"topic":"t","key":{"id":7}})").fate,
            LineFate::kApplied);
  EXPECT_EQ(
      table.Feed(R"({"op":"d","before":null,"after":null})", R"({"schema":{},"payload":{"id":8}})").fate,
      LineFate::kApplied);
  EXPECT_EQ(table.Feed(R"({"key":{"id":9},"value":{"op":"d","before":null,"after":null}})").fate,
            LineFate::kApplied);
  EXPECT_EQ(
      table.Feed(R"({"topic":"t","key":"{\"id\":10}","payload":"{\"op\":\"d\",\"before\":null}"})").fate,
      LineFate::kApplied);
  EXPECT_THAT(table.changes(),
              ElementsAre("-D|7|null|null", "-D|8|null|null", "-D|9|null|null", "-D|10|null|null"));
  EXPECT_EQ(table.Feed(R"({"op":"d","before":null})", "null").fate, LineFate::kBad);
  EXPECT_EQ(table.Feed(R"({"op":"d","before":null})", "not json").fate, LineFate::kBad);
}

TEST(DebeziumDecoder, WithoutAPrimaryKeyOnlyInsertsAreTaken) {
  MapTable table(ShapeOf("id INT", {}));
  EXPECT_EQ(table.Feed(R"({"op":"r","after":{"id":1}})").fate, LineFate::kApplied);
  for (const char* line :
       {R"({"op":"u","after":{"id":1}})", R"({"op":"d","before":{"id":1}})", R"({"op":"t"})"}) {
    const LineOutcome outcome = table.Feed(line);
    EXPECT_EQ(outcome.fate, LineFate::kBad) << line;
    EXPECT_THAT(outcome.reason, HasSubstr("no primary key"));
  }
}

constexpr const char* kUnsent = R"("__debezium_unavailable_value")";

TEST(DebeziumDecoder, AValueNotSentComesFromTheRowOfTheKey) {
  MapTable table(Table());
  table.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"long"}})");
  table.Feed(std::string(R"({"op":"u","after":{"id":1,"v":"b","big":)") + kUnsent + "}}");
  EXPECT_THAT(table.Rows(), ElementsAre("big=long|id=1|v=b"));
  const LineOutcome unknown =
      table.Feed(std::string(R"({"op":"u","after":{"id":5,"v":"b","big":)") + kUnsent + "}}");
  EXPECT_EQ(unknown.fate, LineFate::kBad);
  EXPECT_EQ(unknown.field, "after.big");
}

TEST(DebeziumDecoder, AValueNotSentWithAWholeBeforeImageComesFromThere) {
  MapTable table(Table());
  table.Feed(
      std::string(R"({"op":"u","before":{"id":1,"v":"a","big":"old"},"after":{"id":1,"v":"b","big":)") +
      kUnsent + "}}");
  EXPECT_THAT(table.Rows(), ElementsAre("big=old|id=1|v=b"));
}

TEST(DebeziumDecoder, TheWordsOfThePlaceholderAreDataInAnInsert) {
  MapTable table(Table());
  table.Feed(std::string(R"({"op":"c","after":{"id":1,"v":"a","big":)") + kUnsent + "}}");
  table.Feed(std::string(R"({"op":"r","after":{"id":2,"v":"a","big":)") + kUnsent + "}}");
  EXPECT_THAT(table.Rows(), ElementsAre("big=__debezium_unavailable_value|id=1|v=a",
                                        "big=__debezium_unavailable_value|id=2|v=a"));
}

TEST(DebeziumDecoder, TheCreateOfAKeyChangeTakesTheOldKeysRow) {
  const std::string source = R"("source":{"table":"t","lsn":100,"txId":7})";
  const std::string remove = R"({"op":"d","before":{"id":1,"v":null,"big":null},)" + source + "}";
  const std::string create =
      std::string(R"({"op":"c","after":{"id":2,"v":"b","big":)") + kUnsent + "}," + source + "}";
  for (const bool tombstone : {true, false}) {
    MapTable table(Table());
    table.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"long"}})");
    EXPECT_TRUE(table.Feed(remove).open_delete);
    if (tombstone) {
      EXPECT_TRUE(table.Feed("null").open_delete);
    }
    EXPECT_FALSE(table.Feed(create).open_delete);
    EXPECT_THAT(table.Rows(), ElementsAre("big=long|id=2|v=b"));
  }
  // Another position in the log is another change: the words are data.
  MapTable other(Table());
  other.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"long"}})");
  other.Feed(remove);
  other.Feed(std::string(R"({"op":"c","after":{"id":2,"v":"b","big":)") + kUnsent +
             R"(},"source":{"table":"t","lsn":101,"txId":7}})");
  EXPECT_THAT(other.Rows(), ElementsAre("big=__debezium_unavailable_value|id=2|v=b"));
  // The header of the message says it as well.
  MapTable headed(Table());
  headed.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"long"}})");
  headed.Feed(R"({"op":"d","before":{"id":1,"v":null,"big":null}})");
  headed.Feed(std::string(R"({"op":"c","after":{"id":2,"v":"b","big":)") + kUnsent + "}}",
              R"({"topic":"t","key":{"id":2},"headers":{"__debezium.oldkey":{"id":1}}})");
  EXPECT_THAT(headed.Rows(), ElementsAre("big=long|id=2|v=b"));
}

TEST(DebeziumDecoder, AKeyChangeInsideOneEventTakesTheOldKeysRowToo) {
  MapTable table(Table());
  table.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"long"}})");
  table.Feed(R"({"op":"c","after":{"id":2,"v":"z","big":"other"}})");
  table.Feed(std::string(R"({"op":"u","before":{"id":1},"after":{"id":3,"v":"b","big":)") + kUnsent + "}}");
  EXPECT_THAT(table.Rows(), ElementsAre("big=long|id=3|v=b", "big=other|id=2|v=z"));
}

TEST(DebeziumDecoder, AsksForRowsWhenItHasNone) {
  DebeziumDecoder decoder(Table(), {});
  RowBuffer rows(Table().fields);
  EXPECT_EQ(decoder
                .Decode(std::string(R"({"op":"u","after":{"id":1,"v":"b","big":)") + kUnsent + "}}",
                        std::nullopt, nullptr, &rows)
                .fate,
            LineFate::kNeedsRows);
  EXPECT_EQ(rows.rows(), 0);
  EXPECT_EQ(rows.column(0).size(), 0);
}

TEST(DebeziumDecoder, ABadLineLeavesNothingBehind) {
  RowBuffer rows(Table(true).fields);
  DebeziumDecoder decoder(Table(true), {});
  ASSERT_EQ(
      decoder.Decode(R"({"op":"c","after":{"id":1,"v":"a","big":"x"}})", std::nullopt, nullptr, &rows).fate,
      LineFate::kApplied);
  EXPECT_EQ(decoder
                .Decode(R"({"op":"u","before":{"id":1,"v":"a","big":"x"},"after":{"id":1,"v":"b","big":7}})",
                        std::nullopt, nullptr, &rows)
                .fate,
            LineFate::kBad);
  EXPECT_EQ(rows.rows(), 1);
  for (int i = 0; i < rows.num_columns(); ++i) EXPECT_EQ(rows.column(i).size(), 1);
}

TEST(DebeziumDecoder, OneSourceTableIsTakenAndAnotherRefusedOrIgnored) {
  const auto event = [](const char* source) {
    return std::string(R"({"op":"c","after":{"id":1,"v":"a","big":"x"},"source":{)") + source + "}}";
  };
  MapTable first(Table());
  EXPECT_EQ(first.Feed(event(R"("db":"d","schema":"public","table":"a")")).fate, LineFate::kApplied);
  const LineOutcome mixed = first.Feed(event(R"("db":"d","schema":"archive","table":"a")"));
  EXPECT_EQ(mixed.fate, LineFate::kBad);
  EXPECT_THAT(mixed.reason, HasSubstr("is of archive.a, while this ingest takes public.a"));
  EXPECT_EQ(first.decoder().source_table(), "public.a");

  for (const char* wanted : {"a", "public.a", "d.public.a"}) {
    DebeziumOptions options;
    options.source_table = wanted;
    MapTable chosen(Table(), options);
    EXPECT_EQ(chosen.Feed(event(R"("db":"d","schema":"public","table":"a")")).fate, LineFate::kApplied)
        << wanted;
    EXPECT_EQ(chosen.Feed(event(R"("db":"d","schema":"public","table":"b")")).rule, "another source table")
        << wanted;
  }
  DebeziumOptions mysql;
  mysql.source_table = "d.a";
  MapTable without_schema(Table(), mysql);
  EXPECT_EQ(without_schema.Feed(event(R"("db":"d","table":"a")")).fate, LineFate::kApplied);
  EXPECT_EQ(without_schema.Feed(event(R"("db":"e","table":"a")")).fate, LineFate::kIgnored);

  DebeziumOptions resumed;
  resumed.known_source_table = "public.a";
  MapTable later(Table(), resumed);
  EXPECT_EQ(later.Feed(event(R"("db":"d","schema":"public","table":"b")")).fate, LineFate::kBad);
}

constexpr const char* kSchema =
    R"({"type":"struct","fields":[{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"%d"},"field":"d"}],"optional":true,"field":"after"}],"optional":false})";

TEST(DebeziumDecoder, ReadsEachSchemaForItselfAlsoWhenTheyAlternate) {
  MapTable table(ShapeOf("id INT, d DECIMAL(10,4)", {"id"}));
  for (int i = 0; i < 40; ++i) {
    char schema[600];
    std::snprintf(schema, sizeof(schema), kSchema, i % 11);
    const std::string payload =
        R"({"op":"c","after":{"id":)" + std::to_string(i) + R"(,"d":"AMg="}})";  // 200 unscaled
    const std::string spaced = i % 5 == 0 ? " " : "";
    const LineOutcome outcome =
        table.Feed("{\"schema\":" + spaced + schema + ",\"payload\":" + payload + spaced + "}" + spaced);
    EXPECT_EQ(outcome.fate, i % 11 <= 6 ? LineFate::kApplied : LineFate::kBad) << i << " " << outcome.reason;
  }
  EXPECT_EQ(table.rows().begin()->second.at("d"), "200.0000");
  std::map<std::string, std::string> by_id;
  for (const auto& [key, row] : table.rows()) by_id[row.at("id")] = row.at("d");
  EXPECT_EQ(by_id["2"], "2.0000");
  EXPECT_EQ(by_id["13"], "2.0000");
  EXPECT_EQ(by_id["4"], "0.0200");
}

TEST(DebeziumDecoder, AKnownSchemaDoesNotHideWhatFollowsIt) {
  MapTable table(ShapeOf("id INT, d DECIMAL(10,4)", {"id"}));
  char schema[600];
  std::snprintf(schema, sizeof(schema), kSchema, 2);
  const std::string prefix = std::string("{\"schema\":") + schema + ",\"payload\":";
  const std::string payload = R"({"op":"c","after":{"id":1,"d":"AMg="}})";
  ASSERT_EQ(table.Feed(prefix + payload + "}").fate, LineFate::kApplied);
  EXPECT_EQ(table.Feed(prefix + payload + "} \r").fate, LineFate::kApplied);
  EXPECT_EQ(table.Feed(prefix + "null}").rule, "tombstone");
  for (const std::string end : {"", "}}", "},", "]", ",\"payload\":null}", "}x"}) {
    EXPECT_EQ(table.Feed(prefix + payload + end).fate, LineFate::kBad) << end;
  }
  EXPECT_EQ(table.Feed(prefix + "7}").fate, LineFate::kBad);
  EXPECT_EQ(table.Feed(prefix + "{\"op\":\"c\"").fate, LineFate::kBad);
  EXPECT_EQ(table.Feed(prefix).fate, LineFate::kBad);
}

TEST(DebeziumDecoder, SchemaChangesOfTheSourceAreRefusedOnlyForTheTable) {
  const auto ddl = [](const char* type, const char* table, const char* snapshot) {
    return std::string(R"({"source":{"db":"d","table":")") + table + R"(","snapshot":")" + snapshot +
           R"("},"databaseName":"d","ddl":"alter …","tableChanges":[{"type":")" + type + R"(","id":"x"}]})";
  };
  MapTable table(Table());
  EXPECT_EQ(table.Feed(ddl("CREATE", "t", "true")).fate, LineFate::kIgnored);
  EXPECT_EQ(table.Feed(ddl("CREATE", "t", "false")).fate, LineFate::kIgnored);
  ASSERT_EQ(
      table.Feed(R"({"op":"c","after":{"id":1,"v":"a","big":"x"},"source":{"db":"d","table":"t"}})").fate,
      LineFate::kApplied);
  EXPECT_EQ(table.Feed(ddl("ALTER", "other", "false")).fate, LineFate::kIgnored);
  EXPECT_EQ(table.Feed(ddl("ALTER", "t", "false")).fate, LineFate::kBad);
  EXPECT_EQ(table.Feed(ddl("DROP", "t", "false")).fate, LineFate::kBad);
  EXPECT_EQ(table.Feed(R"({"source":{"db":"d","table":null},"ddl":"use d","tableChanges":[]})").fate,
            LineFate::kIgnored);
}

TEST(JsonTokens, OfOddTypesNeverCrash) {
  MapTable table(Table());
  for (const char* line :
       {R"({"op":"c","after":{"id":1,"v":"a","big":"x"},"source":7})",
        R"({"op":"c","after":{"id":1,"v":"a","big":"x"},"source":{"table":7,"lsn":"x"}})"}) {
    EXPECT_EQ(table.Feed(line).fate, LineFate::kApplied) << line;
  }
  for (const char* line :
       {R"({"status":7,"id":1})", R"({"ddl":1,"tableChanges":7})", R"({"ddl":null,"tableChanges":[1]})",
        R"({"schema":1,"payload":{}})", R"({"schema":{"fields":1},"payload":{"op":"c","after":{"id":"x"}}})",
        R"({"key":1,"value":2})", R"({"key":"x","value":{}})", R"({"op":"d","before":{}})",
        R"({"op":"u","before":[],"after":{}})", R"({"op":"c","after":{}})"}) {
    const LineOutcome outcome = table.Feed(line);
    EXPECT_TRUE(outcome.fate == LineFate::kBad || outcome.fate == LineFate::kIgnored) << line;
  }
}

}  // namespace
}  // namespace headrace::ingest
