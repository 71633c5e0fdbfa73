#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string Printed(std::string_view text) {
  JsonTape tape;
  if (!tape.Parse(text)) return "refused: " + tape.error();
  std::string out;
  AppendJson(tape.root(), &out);
  return out;
}

TEST(JsonTape, KeepsNumbersAsTheyAreWritten) {
  EXPECT_EQ(Printed(" [ 1.50 , -0, 1e-18, 9223372036854775808, 12345678901234567890.5 ] "),
            "[1.50,-0,1e-18,9223372036854775808,12345678901234567890.5]");
}

TEST(JsonTape, PrintsWhatItRead) {
  EXPECT_EQ(Printed(R"({"a":{"b":[true,false,null,{}],"c":""},"d":[[],[[]]]})"),
            R"({"a":{"b":[true,false,null,{}],"c":""},"d":[[],[[]]]})");
  EXPECT_EQ(Printed(R"("\u00e9\ud83d\ude80\/\"\\\b\u0000")"), "\"é🚀/\\\"\\\\\\u0008\\u0000\"");
}

TEST(JsonTape, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "NaN",
                           "Infinity",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "-",
                           "'a'",
                           "{a:1}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[1 2]",
                           "{\"a\"}",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "1 2",
                           "{}{}",
                           "{} x",
                           "// c\n1",
                           "\xEF\xBB\xBF{}"}) {
    EXPECT_THAT(Printed(text), HasSubstr("refused")) << text;
  }
  for (int c = 0; c < 0x20; ++c) {
    for (const size_t before : {0u, 1u, 15u, 16u, 17u, 40u}) {
      const std::string text =
          "\"" + std::string(before, 'a') + static_cast<char>(c) + std::string(40, 'b') + "\"";
      EXPECT_THAT(Printed(text), HasSubstr("refused")) << c << " after " << before;
    }
  }
}

TEST(JsonTape, RefusesAZeroByteEverywhere) {
  for (const std::string_view text :
       {std::string_view("{}\0", 3), std::string_view("\0{}", 3), std::string_view("{}\0garbage", 10),
        std::string_view("{\"a\0\":1}", 8), std::string_view("[1\0]", 4)}) {
    EXPECT_THAT(Printed(text), HasSubstr("refused"));
  }
}

TEST(JsonTape, RefusesWhatIsNotUtf8) {
  for (const char* text :
       {"\"\xE9\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"", "\"\xC3\"", "\"\x80\""}) {
    EXPECT_EQ(Printed(text), "refused: not UTF-8");
  }
}

TEST(JsonTape, BoundsTheDepth) {
  EXPECT_THAT(Printed(std::string(256, '[') + std::string(256, ']')), Not(HasSubstr("refused")));
  EXPECT_THAT(Printed(std::string(257, '[') + std::string(257, ']')), HasSubstr("more than 256 levels"));
  EXPECT_THAT(Printed(std::string(1000000, '[')), HasSubstr("more than 256 levels"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(Printed(objects), HasSubstr("more than 256 levels"));
}

TEST(JsonTape, TakesTheFirstValueOfALongerText) {
  JsonTape tape;
  size_t consumed = 0;
  ASSERT_TRUE(tape.ParseFirst("{\"a\":[1]},\"rest\"", &consumed));
  EXPECT_EQ(consumed, 9u);
  EXPECT_EQ(FindMember(tape.root(), "a")->length, 1u);
  EXPECT_EQ(FindMember(tape.root(), "b"), nullptr);
}

TEST(JsonTape, IsReusable) {
  JsonTape tape;
  EXPECT_FALSE(tape.Parse("[[[{\"a\":"));
  ASSERT_TRUE(tape.Parse("[1,{\"a\":[2,3]},4]"));
  const JsonToken& root = tape.root();
  EXPECT_EQ(root.length, 3u);
  EXPECT_EQ(root.begin()->next()->next()->view(), "4");
  EXPECT_EQ(root.begin()->next()->next()->next(), root.end());
}

}  // namespace
}  // namespace headrace::ingest
