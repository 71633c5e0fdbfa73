// What Avro's Java library wrote, what it means, and bytes and schemas that are refused.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/avro_connect.h"
#include "ingest/avro_test_kit.h"
#include "ingest/connect_schema.h"

namespace headrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string Row(const std::string& fields) {
  return R"({"type":"record","name":"Row","namespace":"shop","fields":[)" + fields + "]}";
}
std::string Field(const std::string& name, const std::string& type) {
  return R"({"name":")" + name + R"(","type":)" + type + "}";
}
std::string Meaning(const std::string& schema, std::string_view datum) {
  const Result<AvroMeaning> meaning = ReadAvroMeaning(schema, {}, "the schema");
  if (!meaning.ok()) return meaning.status().message();
  std::string json;
  std::string why;
  return AppendDatum(meaning->steps, datum, &json, &why) ? json : why;
}
std::string Refusal(const std::string& schema) {
  const Result<AvroMeaning> meaning = ReadAvroMeaning(schema, {}, "the schema");
  return meaning.ok() ? "taken" : meaning.status().message();
}
std::string TypesOf(const std::string& schema) {
  const Result<AvroMeaning> meaning = ReadAvroMeaning(schema, {}, "the schema");
  if (!meaning.ok()) return meaning.status().message();
  JsonTape tape;
  std::vector<ConnectField> fields;
  std::string why;
  if (!tape.Parse(meaning->connect_schema) || !ReadConnectFields(tape.root(), &fields, &why))
    return why + tape.error();
  std::string text;
  for (const ConnectField& field : fields)
    text += (text.empty() ? "" : ", ") + field.name + " " + ToSql(field.type);
  return text;
}

TEST(AvroDatum, OfEveryTypeIsWhatJavaWrote) {
  JsonTape tape;
  int cases = 0;
  for (const std::string& line : AvroFixture("cases.jsonl")) {
    ASSERT_TRUE(tape.Parse(line));
    const auto text = [&](const char* name) { return std::string(FindMember(tape.root(), name)->view()); };
    EXPECT_EQ(Meaning(text("schema"), *FromBase64(*FindMember(tape.root(), "datum"))), text("json"))
        << text("name");
    ++cases;
  }
  EXPECT_EQ(cases, 6);
}

TEST(AvroDatum, EachCutOfADatumIsRefusedAndSaysWhere) {
  JsonTape tape;
  for (const std::string& line : AvroFixture("cases.jsonl")) {
    ASSERT_TRUE(tape.Parse(line));
    const std::string schema(FindMember(tape.root(), "schema")->view());
    const std::string whole = *FromBase64(*FindMember(tape.root(), "datum"));
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_THAT(Meaning(schema, whole.substr(0, size)), HasSubstr("of the Avro datum")) << size;
    EXPECT_THAT(Meaning(schema, whole + "x"), HasSubstr("1 bytes are left behind the datum"));
  }
}

TEST(AvroDatum, NumbersThatAreNoneAndTextsAreWrittenForTheDecoder) {
  const std::string schema = Row(Field("f", "\"float\"") + "," + Field("d", "\"double\""));
  const std::string_view nan("\x00\x00\xC0\x7F\x00\x00\x00\x00\x00\x00\xF0\xFF", 12);
  EXPECT_EQ(Meaning(schema, nan), R"({"f":"NaN","d":"-Infinity"})");
  EXPECT_EQ(Meaning(Row(Field("id", R"({"type":"fixed","name":"U","size":16,"logicalType":"uuid"})")),
                    "\x0f\x8f\xad\x5b\xd9\xcb\x46\x9f\xa1\x65\x70\x86\x77\x28\x95\x0e"),
            R"({"id":"0f8fad5b-d9cb-469f-a165-70867728950e"})");
}

TEST(AvroDatum, HostileBytesAreRefused) {
  const std::string longs = Row(Field("a", R"({"type":"array","items":"long"})"));
  // Two thousand million items in one byte; a count of the least number; a block that says it is longer than all.
  EXPECT_THAT(Meaning(longs, "\xFE\xFF\xFF\xFF\x0F\x02"), HasSubstr("2147483647 items"));
  EXPECT_THAT(Meaning(longs, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), HasSubstr("count of an array"));
  EXPECT_THAT(Meaning(longs, "\x01\x7E\x02"), HasSubstr("count of an array"));
  EXPECT_THAT(Meaning(longs, std::string_view("\x01\x04\x02\x00", 4)), HasSubstr("has 1 bytes, it says 2"));
  EXPECT_EQ(Meaning(longs, std::string_view("\x01\x02\x02\x00", 4)), R"({"a":[1]})");
  EXPECT_THAT(Meaning(Row(Field("s", "\"string\"")), "\x01"),
              HasSubstr("byte 1 of the Avro datum, field s: the bytes end"));
  EXPECT_THAT(Meaning(Row(Field("s", "\"string\"")), "\x02\xFF"),
              HasSubstr("field s: a string is not UTF-8"));
  EXPECT_THAT(Meaning(Row(Field("i", "\"int\"")), "\xFE\xFF\xFF\xFF\x1F"), HasSubstr("more than 32 bits"));
  EXPECT_THAT(Meaning(Row(Field("l", "\"long\"")), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"),
              HasSubstr("the bytes end, or are none, of a long"));
  EXPECT_THAT(Meaning(Row(Field("b", "\"boolean\"")), "\x02"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(Meaning(Row(Field("u", R"(["null","int"])")), "\x04"),
              HasSubstr("the union's branch is 2, it has 2"));
  EXPECT_THAT(Meaning(Row(Field("u", R"(["null","int"])")), "\x01"), HasSubstr("the union's branch is -1"));
  EXPECT_THAT(Meaning(Row(Field("e", R"({"type":"enum","name":"E","symbols":["A"]})")), "\x02"),
              HasSubstr("symbol is number 1, it has 1"));
  const std::string deep = Row(Field(
      "in",
      R"({"type":"record","name":"In","fields":[{"name":"x","type":{"type":"array","items":"string"}}]})"));
  EXPECT_THAT(Meaning(deep, "\x02\x02\xFF"), HasSubstr("byte 3 of the Avro datum, field in.x: a string"));
}

// Copies of this one would take twenty gigabytes.
TEST(AvroDatum, AnEnumsSymbolsAreKeptOnceHoweverOftenItIsUsed) {
  std::string symbols;
  for (int i = 0; i < 1000; ++i)
    symbols += (i == 0 ? "\"S" : ",\"S") + std::to_string(i) + std::string(1000, 'x') + '"';
  std::string fields = Field("f", R"({"type":"enum","name":"E","symbols":[)" + symbols + "]}");
  for (int i = 0; i < 20000; ++i) fields += "," + Field("f" + std::to_string(i), "\"shop.E\"");
  const Result<AvroMeaning> meaning = ReadAvroMeaning(Row(fields), {}, "the schema");
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  const std::vector<DatumStep>& steps = meaning->steps.children;
  ASSERT_EQ(steps.size(), 20001U);
  EXPECT_EQ(steps.front().symbols->size(), 1000U);
  EXPECT_EQ(steps.back().symbols, steps.front().symbols);
}

TEST(AvroDatum, StandsInAnEnvelopeAsAnEventOrAsARowThatIsCreated) {
  const AvroMeaning meaning{{}, R"({"type":"struct","optional":false})"};
  const AvroEnvelope event = EnvelopeOf(meaning, false);
  EXPECT_EQ(event.before + "1" + std::string(event.behind),
            R"({"schema":{"type":"struct","optional":false},"payload":1})");
  const AvroEnvelope row = EnvelopeOf(meaning, true);
  EXPECT_EQ(
      row.before + "1" + std::string(row.behind),
      R"({"schema":{"type":"struct","fields":[{"type":"struct","optional":false,"field":"after"}],"optional":false},"payload":{"op":"c","source":{},"after":1}})");
}

// Whatever the bytes are: JSON that can be parsed, or a reason.
TEST(AvroDatum, ChangedBytesAreJsonOrRefused) {
  JsonTape tape;
  std::mt19937 random(7);
  for (const std::string& line : AvroFixture("cases.jsonl")) {
    ASSERT_TRUE(tape.Parse(line));
    const std::string schema(FindMember(tape.root(), "schema")->view());
    const std::string whole = *FromBase64(*FindMember(tape.root(), "datum"));
    const Result<AvroMeaning> meaning = ReadAvroMeaning(schema, {}, "the schema");
    ASSERT_TRUE(meaning.ok());
    for (int i = 0; i < 3000; ++i) {
      std::string changed = whole;
      for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
        changed[random() % changed.size()] = static_cast<char>(random());
      std::string json;
      std::string why;
      JsonTape parsed;
      if (AppendDatum(meaning->steps, changed, &json, &why)) {
        EXPECT_TRUE(parsed.Parse(json)) << json;
      } else {
        EXPECT_NE(why, "");
      }
    }
    for (int i = 0; i < 1000; ++i) {
      std::string changed = schema;
      changed[random() % changed.size()] = static_cast<char>(random());
      const Result<AvroMeaning> other = ReadAvroMeaning(changed, {}, "the schema");
      JsonTape parsed;
      if (other.ok()) {
        EXPECT_TRUE(parsed.Parse(other->connect_schema)) << changed;
      }
    }
  }
}

TEST(AvroSchema, TellsTheTypesOfColumns) {
  JsonTape tape;
  std::map<std::string, std::string> types;
  for (const std::string& line : AvroFixture("cases.jsonl")) {
    ASSERT_TRUE(tape.Parse(line));
    types[std::string(FindMember(tape.root(), "name")->view())] =
        TypesOf(std::string(FindMember(tape.root(), "schema")->view()));
  }
  EXPECT_EQ(
      types["primitives"],
      "no STRING, yes BOOLEAN NOT NULL, i INT NOT NULL, l BIGINT NOT NULL, f FLOAT NOT NULL, d DOUBLE NOT "
      "NULL, b BYTES NOT NULL, s STRING NOT NULL");
  EXPECT_EQ(types["unions"], "a INT, b STRING, c INT, d BIGINT NOT NULL");
  EXPECT_EQ(
      types["collections"],
      "list ARRAY<INT> NOT NULL, map MAP<STRING NOT NULL, STRING NOT NULL> NOT NULL, none ARRAY<INT NOT "
      "NULL> NOT NULL");
  EXPECT_EQ(
      types["logical"],
      "dec DECIMAL(10, 2) NOT NULL, fix DECIMAL(9, 0) NOT NULL, day DATE NOT NULL, tms TIME(3) NOT NULL, "
      "tus STRING NOT NULL, ims TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL, ius TIMESTAMP(6) WITH LOCAL TIME "
      "ZONE NOT NULL, lms "
      "TIMESTAMP(3) NOT NULL, lus TIMESTAMP(6) NOT NULL, id STRING NOT NULL");
}

TEST(AvroSchema, ConnectsNamesCountBeforeAvrosOwn) {
  EXPECT_EQ(
      TypesOf(Row(
          Field("a", R"({"type":"int","connect.type":"int16"})") + "," +
          Field(
              "b",
              R"({"type":"long","logicalType":"timestamp-millis","connect.name":"org.apache.kafka.connect.data.Timestamp"})") +
          "," + Field("c", R"({"type":"long","connect.name":"io.debezium.time.MicroTimestamp"})") + "," +
          Field(
              "d",
              R"(["null",{"type":"bytes","logicalType":"decimal","precision":64,"scale":2,"connect.parameters":{"scale":"2"},"connect.name":"org.apache.kafka.connect.data.Decimal"}])") +
          "," + Field("e", R"({"type":"bytes","logicalType":"decimal","precision":64,"scale":2})") + "," +
          Field("f", R"({"type":"bytes","logicalType":"decimal","precision":2,"scale":5})"))),
      "a SMALLINT NOT NULL, b TIMESTAMP(3) NOT NULL, c TIMESTAMP(6) NOT NULL, d DECIMAL(38, 2), e STRING NOT "
      "NULL, f BYTES NOT NULL");
}

TEST(AvroSchema, AMapOfOtherKeysThanTextIsAnArrayOfEntries) {
  const std::string schema = Row(Field(
      "m",
      R"({"type":"array","items":{"type":"record","name":"MapEntry","namespace":"io.confluent.connect.avro","fields":[{"name":"key","type":"int"},{"name":"value","type":"string"}]}})"));
  EXPECT_EQ(TypesOf(schema), "m MAP<INT NOT NULL, STRING NOT NULL> NOT NULL");
  EXPECT_EQ(Meaning(schema, std::string_view("\x04\x02\x02x\x04\x02y\x00", 8)), R"({"m":[[1,"x"],[2,"y"]]})");
}

TEST(AvroSchema, WhatNoColumnHoldsIsRefusedByName) {
  EXPECT_THAT(Refusal(Row(Field("u", R"(["null","int","string"])"))),
              HasSubstr("field u: a union of null, int, string fits no column"));
  EXPECT_THAT(Refusal(Row(Field("u", R"(["int","string"])"))), HasSubstr("a union of int, string"));
  EXPECT_THAT(Refusal(Row(Field("next", R"(["null","Row"])"))),
              HasSubstr("field next: the type shop.Row holds itself"));
  EXPECT_THAT(Refusal(Row(Field("a", R"({"type":"array","items":"null"})"))),
              HasSubstr("an array of null, which takes no bytes"));
  EXPECT_THAT(Refusal(Row(Field("x", "\"Unknown\""))), HasSubstr("unknown type 'Unknown'"));
  EXPECT_THAT(Refusal("{"), HasSubstr("the schema"));
  EXPECT_THAT(Refusal(R"({"type":"record"}, "int")"), HasSubstr("the schema"));
  EXPECT_EQ(Refusal("string"), "taken");
  EXPECT_EQ(Refusal("\"string\""), "taken");
}

// Each type holds the one before it twice: written out, the last is a thousand million fields.
TEST(AvroSchema, OneThatGrowsWithoutEndWhereNamesAreWrittenOutIsRefused) {
  std::vector<std::string> references;
  for (int i = 0; i < 30; ++i) {
    const std::string before = i == 0 ? "int" : "T" + std::to_string(i - 1);
    references.push_back(R"({"type":"record","name":"T)" + std::to_string(i) +
                         R"(","fields":[{"name":"a","type":")" + before + R"("},{"name":"b","type":")" +
                         before + R"("}]})");
  }
  const Result<AvroMeaning> meaning = ReadAvroMeaning(Row(Field("t", "\"T29\"")), references, "the schema");
  ASSERT_FALSE(meaning.ok());
  EXPECT_THAT(meaning.status().message(), HasSubstr("too large"));
}

// Comparing each name with all before it would take minutes.
TEST(AvroSchema, ARecordOfVeryManyFieldsIsRefusedAtOnce) {
  std::string fields;
  for (int i = 0; i < 200000; ++i) fields += (i == 0 ? "" : ",") + Field("f" + std::to_string(i), "\"int\"");
  EXPECT_THAT(Refusal(Row(fields)), HasSubstr("the schema is too large"));
  EXPECT_THAT(Refusal(Row(Field("a", "\"int\"") + "," + Field("a", "\"int\""))),
              HasSubstr("field 'a' is there twice"));
}

TEST(AvroSchema, NamesOfReferencesAreKnown) {
  const std::vector<std::string> references = {
      R"({"type":"record","name":"Address","namespace":"geo","fields":[{"name":"city","type":"string"}]})"};
  const Result<AvroMeaning> meaning =
      ReadAvroMeaning(Row(Field("at", "\"geo.Address\"")), references, "the schema");
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  std::string json;
  std::string why;
  ASSERT_TRUE(AppendDatum(meaning->steps, "\x06Rio", &json, &why)) << why;
  EXPECT_EQ(json, R"({"at":{"city":"Rio"}})");
}

}  // namespace
}  // namespace headrace::ingest
