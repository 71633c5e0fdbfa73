#include "base/json.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Parse(const std::string& text) { return ParseJson(text, "test").ValueOrDie(); }

Status Failure(const std::string& text) { return ParseJson(text, "file f").status(); }

TEST(ParseJson, ReadsEveryKindOfValue) {
  const json value = Parse(
      R"( {"s":"é\u00e9\ud83d\ude00","i":-5,"big":9223372036854775807,"d":1.5,"t":true,"n":null,"a":[1,[2],{}]} )");
  EXPECT_EQ(value["s"], "éé😀");
  EXPECT_EQ(value["i"], -5);
  EXPECT_EQ(value["big"], 9223372036854775807);
  EXPECT_EQ(value["d"], 1.5);
  EXPECT_EQ(value["t"], true);
  EXPECT_TRUE(value["n"].is_null());
  EXPECT_EQ(value["a"].dump(), "[1,[2],{}]");
  EXPECT_EQ(Parse("17"), 17);
}

TEST(ParseJson, LetsTheLaterOfTwoEqualKeysCount) {
  EXPECT_EQ(Parse(R"({"a":{"x":1},"b":2,"a":[3]})").dump(), R"({"a":[3],"b":2})");
}

TEST(ParseJson, RefusesWhatIsNotOneValue) {
  for (const std::string text : {"", "  ", "{", "[1,]", "{\"a\":1}}", "{} {}", "nul", "'a'", "{a:1}", "[1 2]",
                                 "\"\x01\"", "01", "NaN", "[1e400]", "\"\\ud800\"", "{\"a\":}"}) {
    const Status status = Failure(text);
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << text;
    EXPECT_THAT(status.message(), testing::StartsWith("file f: not valid JSON")) << text;
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("json.exception"))) << text;
  }
  EXPECT_TRUE(IsKind(Failure("\"\xff\xfe\""), ErrorKind::kCorruption)) << "not UTF-8";
  EXPECT_TRUE(IsKind(Failure(std::string("{\"a\":\0 1}", 9)), ErrorKind::kCorruption)) << "a zero byte";
}

TEST(ParseJson, RefusesDeepNestingWithoutFallingOver) {
  EXPECT_TRUE(ParseJson(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']'), "x").ok());
  EXPECT_THAT(Failure(std::string(kMaxJsonDepth + 1, '[') + std::string(kMaxJsonDepth + 1, ']')).message(),
              HasSubstr("nested deeper"));
  EXPECT_TRUE(IsKind(Failure(std::string(5'000'000, '[')), ErrorKind::kCorruption));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(IsKind(Failure(objects), ErrorKind::kCorruption));
}

TEST(ReadingJson, GetsTypedMembers) {
  const json object =
      Parse(R"({"s":"x","l":5000000000,"i":-7,"b":false,"list":["p","q"],"map":{"k":"v"},"obj":{"in":1}})");
  EXPECT_EQ(*GetString(object, "s", "o"), "x");
  EXPECT_EQ(*GetInt64(object, "l", "o"), 5000000000);
  EXPECT_EQ(*GetInt32(object, "i", "o"), -7);
  EXPECT_EQ(*GetBool(object, "b", "o"), false);
  EXPECT_THAT(*GetStringList(object, "list", "o"), ElementsAre("p", "q"));
  EXPECT_THAT(*GetStringMap(object, "map", "o"), ElementsAre(testing::Pair("k", "v")));
  EXPECT_EQ((*GetArray(object, "list", "o"))->size(), 2u);
  EXPECT_EQ(*GetInt32(**GetObject(object, "obj", "o"), "in", "o"), 1);
}

TEST(ReadingJson, TakesNullAndAbsenceForNothing) {
  const json object = Parse(R"({"s":null})");
  for (const std::string key : {"s", "absent"}) {
    EXPECT_EQ(*FindString(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindInt64(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindInt32(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindBool(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindStringList(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindStringMap(object, key, "o"), std::nullopt);
    EXPECT_EQ(*FindArray(object, key, "o"), nullptr);
    EXPECT_EQ(*FindObject(object, key, "o"), nullptr);
    EXPECT_EQ(GetString(object, key, "snapshot-3").status().message(),
              "snapshot-3: the key \"" + key + "\" is missing");
  }
}

TEST(ReadingJson, SaysWhichKeyHasWhichWrongValue) {
  const json object = Parse(
      R"({"id":"5","big":3000000000,"huge":18446744073709551615,"d":1.0,"list":["a",1],"map":{"k":1}})");
  EXPECT_EQ(GetInt64(object, "id", "snapshot-3").status().message(),
            R"(snapshot-3: "id" must be a 64-bit integer, but is "5")");
  EXPECT_THAT(GetInt32(object, "big", "o").status().message(),
              HasSubstr("a 32-bit integer, but is 3000000000"));
  EXPECT_THAT(GetInt64(object, "huge", "o").status().message(), HasSubstr("but is 18446744073709551615"));
  EXPECT_FALSE(GetInt64(object, "d", "o").ok());
  EXPECT_FALSE(GetStringList(object, "list", "o").ok());
  EXPECT_FALSE(GetStringMap(object, "map", "o").ok());
  EXPECT_FALSE(GetObject(object, "list", "o").ok());
  EXPECT_FALSE(FindArray(object, "map", "o").ok());
  EXPECT_TRUE(IsKind(GetString(object, "d", "o").status(), ErrorKind::kCorruption));
  EXPECT_TRUE(IsKind(GetString(Parse("[1]"), "d", "o").status(), ErrorKind::kCorruption)) << "not an object";
}

TEST(ReadingJson, ShortensALongWrongValueBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  const std::string message = GetInt64(json{{"k", text}}, "k", "o").status().message();
  EXPECT_LT(message.size(), 160u);
  EXPECT_THAT(message, testing::EndsWith("é..."));
}

TEST(JsonWriter, WritesAsJacksonPrints) {
  JsonWriter writer;
  writer.BeginObject().Field("version", 3).Key("fields").BeginArray();
  writer.BeginObject().Field("id", 0).Field("type", "BIGINT NOT NULL").EndObject();
  writer.BeginObject()
      .Field("id", 1)
      .Key("type")
      .BeginObject()
      .Field("type", "ARRAY")
      .Field("element", "INT")
      .EndObject()
      .EndObject();
  writer.EndArray()
      .Field("partitionKeys", std::vector<std::string>())
      .Field("primaryKeys", std::vector<std::string>{"a", "b"});
  writer.Key("options").BeginObject().EndObject().Field("ok", true).Key("none").Null();
  writer.FieldIfSet("absent", std::optional<int64_t>())
      .FieldIfSet("set", std::optional<std::string>("x"))
      .EndObject();
  EXPECT_EQ(std::move(writer).Finish(), R"({
  "version" : 3,
  "fields" : [ {
    "id" : 0,
    "type" : "BIGINT NOT NULL"
  }, {
    "id" : 1,
    "type" : {
      "type" : "ARRAY",
      "element" : "INT"
    }
  } ],
  "partitionKeys" : [ ],
  "primaryKeys" : [ "a", "b" ],
  "options" : { },
  "ok" : true,
  "none" : null,
  "set" : "x"
})");
}

TEST(JsonWriter, WritesFlat) {
  JsonWriter writer(JsonLayout::kFlat);
  writer.BeginObject()
      .Field("a", int64_t{-9223372036854775807 - 1})
      .Key("b")
      .BeginArray()
      .Int(1)
      .Int(2)
      .BeginArray()
      .EndArray()
      .EndArray();
  writer.Field("m", std::map<std::string, std::string>{{"k", "v"}}).EndObject();
  EXPECT_EQ(std::move(writer).Finish(), R"({"a":-9223372036854775808,"b":[1,2,[]],"m":{"k":"v"}})");
}

TEST(JsonWriter, EscapesOnlyWhatItMust) {
  EXPECT_EQ(QuoteJson("a\"b\\c/\b\t\n\f\r\x01\x1f\x7f é😀"),
            "\"a\\\"b\\\\c/\\b\\t\\n\\f\\r\\u0001\\u001F\x7f é😀\"");
  EXPECT_EQ(QuoteJson(std::string("\0", 1)), "\"\\u0000\"");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  for (const std::string bytes : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                                  "\xf4\x90\x80\x80", "\xc3", "\xe2\x82", "a\x80z"}) {
    const std::string quoted = QuoteJson(bytes);
    EXPECT_THAT(quoted, HasSubstr("\xEF\xBF\xBD"));
    EXPECT_TRUE(ParseJson(quoted, "x").ok());
  }
}

TEST(JsonWriter, WritesATreeInEitherLayout) {
  const json tree = Parse(R"({"b":[1,-2.5,{"x":null}],"a":{"deep":[]},"u":18446744073709551615})");
  EXPECT_EQ(ToJsonText(tree, JsonLayout::kFlat),
            R"({"a":{"deep":[]},"b":[1,-2.5,{"x":null}],"u":18446744073709551615})");
  EXPECT_EQ(Parse(ToJsonText(tree, JsonLayout::kPretty)), tree);
}

// Every schema and snapshot file of the fixtures, written key by key in its own order, comes out as Java wrote it.
TEST(JsonWriter, WritesTheFixturesAsJavaWroteThem) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HEADRACE_FIXTURES)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("schema-") && !name.starts_with("snapshot-")) continue;
    if (!entry.is_regular_file()) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto parsed = nlohmann::ordered_json::parse(text.str(), nullptr, false);
    if (parsed.is_discarded()) continue;
    JsonWriter writer;
    const std::function<void(const nlohmann::ordered_json&)> write =
        [&](const nlohmann::ordered_json& value) {
          if (value.is_object()) {
            writer.BeginObject();
            for (const auto& [key, member] : value.items()) {
              writer.Key(key);
              write(member);
            }
            writer.EndObject();
          } else if (value.is_array()) {
            writer.BeginArray();
            for (const auto& element : value) write(element);
            writer.EndArray();
          } else if (value.is_string()) {
            writer.String(value.get<std::string>());
          } else {
            writer.Number(value.dump());
          }
        };
    write(parsed);
    EXPECT_EQ(std::move(writer).Finish(), text.str()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace headrace
