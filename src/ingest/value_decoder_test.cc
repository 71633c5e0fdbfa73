#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

using ::testing::HasSubstr;

// The cell that `json` becomes in a column of that type, or "refused: why".
std::string Cell(const std::string& type, const std::string& json, const ValueShape& shape = kPlainShape,
                 ValueModes modes = {}) {
  ColumnBuffer column(*ParseDataType(type));
  JsonTape tape;
  EXPECT_TRUE(tape.Parse(json)) << json;
  std::string why;
  if (!AppendValue(tape.root(), shape, modes, &column, &why)) {
    column.TruncateTo(0);
    EXPECT_EQ(column.size(), 0);
    EXPECT_EQ(column.byte_size(), ColumnBuffer(*ParseDataType(type)).byte_size()) << type << " " << json;
    return "refused: " + why;
  }
  EXPECT_EQ(column.size(), 1);
  return CellText(column, 0);
}

ValueShape Form(ValueForm form, int digits = 0, int scale = 0) {
  ValueShape shape;
  shape.form = form;
  shape.digits = static_cast<int8_t>(digits);
  shape.scale = scale;
  return shape;
}

TEST(AppendValue, IntegersFitOrAreRefused) {
  EXPECT_EQ(Cell("TINYINT", "-128"), "-128");
  EXPECT_THAT(Cell("TINYINT", "128"), HasSubstr("out of its range"));
  EXPECT_EQ(Cell("SMALLINT", "32767"), "32767");
  EXPECT_THAT(Cell("SMALLINT", "-32769"), HasSubstr("out of its range"));
  EXPECT_EQ(Cell("INT", "2147483647.0"), "2147483647");
  EXPECT_THAT(Cell("INT", "2147483648"), HasSubstr("out of its range"));
  EXPECT_THAT(Cell("INT", "1.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(Cell("INT", "\"1\""), HasSubstr("is text (\"1\")"));
  EXPECT_THAT(Cell("INT", "true"), HasSubstr("a boolean"));
  EXPECT_THAT(Cell("BIGINT", "[1]"), HasSubstr("an array"));
  EXPECT_EQ(Cell("INT", "null"), "null");
  EXPECT_THAT(Cell("INT NOT NULL", "null"), HasSubstr("NOT NULL"));
}

TEST(AppendValue, BooleansAreTrueFalseAndTheNumbersOfMySql) {
  EXPECT_EQ(Cell("BOOLEAN", "true"), "true");
  EXPECT_EQ(Cell("BOOLEAN", "0"), "false");
  EXPECT_THAT(Cell("BOOLEAN", "2"), HasSubstr("refused"));
  EXPECT_THAT(Cell("BOOLEAN", "\"true\""), HasSubstr("refused"));
}

TEST(AppendValue, TextIsTextAlone) {
  EXPECT_EQ(Cell("STRING", "\"x\""), "x");
  EXPECT_THAT(Cell("STRING", "42"), HasSubstr("is a number (42), but a column of type STRING takes text"));
  EXPECT_THAT(Cell("STRING", "{\"a\":\"b\"}"), HasSubstr("an object"));
  EXPECT_EQ(Cell("VARCHAR(2)", "\"éé\""), "éé");
  EXPECT_THAT(Cell("VARCHAR(2)", "\"abc\""), HasSubstr("3 characters"));
  EXPECT_EQ(Cell("STRING", R"({"scale":2,"value":"ATo="})"), "3.14");
  EXPECT_EQ(Cell("STRING", "\"EtaH\"", Form(ValueForm::kDecimalBytes, 0, 2)), "12345.67");
  EXPECT_EQ(Cell("STRING", "47655123456", Form(ValueForm::kClock, 6)), "13:14:15.123456");
  EXPECT_EQ(Cell("STRING", "1715951655123", Form(ValueForm::kInstant, 3)), "2024-05-17T13:14:15.123");
  EXPECT_EQ(Cell("STRING", "19860", Form(ValueForm::kDays)), "2024-05-17");
}

TEST(AppendValue, DecimalsAreExactInEveryForm) {
  EXPECT_EQ(Cell("DECIMAL(10,2)", "12345.67"), "12345.67");
  EXPECT_EQ(Cell("DECIMAL(10,2)", "1.5e2"), "150.00");
  EXPECT_THAT(Cell("DECIMAL(10,2)", "0.001"), HasSubstr("more digits"));
  EXPECT_EQ(Cell("DECIMAL(10,2)", "\"12345.67\""), "12345.67");
  EXPECT_EQ(Cell("DECIMAL(10,2)", "\"EtaH\""), "12345.67");
  EXPECT_EQ(Cell("DECIMAL(12,4)", R"({"scale":2,"value":"EtaH"})"), "12345.6700");
  EXPECT_THAT(Cell("DECIMAL(10,2)", "\"NAN\""), HasSubstr("refused"));
  EXPECT_EQ(Cell("DECIMAL(10,2)", "\"AxY=\"", Form(ValueForm::kDecimalBytes, 0, 2)), "7.90");
  EXPECT_EQ(Cell("DECIMAL(10,2)", "\"100\"", Form(ValueForm::kText)), "100.00");
}

TEST(AppendValue, WhatCouldBeTwoThingsIsRefusedUntilItIsSaid) {
  EXPECT_THAT(Cell("DECIMAL(10,0)", "\"1234\""), HasSubstr("--decimals string or precise"));
  ValueModes modes;
  modes.decimal = DecimalMode::kString;
  EXPECT_EQ(Cell("DECIMAL(10,0)", "\"1234\"", kPlainShape, modes), "1234");
  modes.decimal = DecimalMode::kPrecise;
  EXPECT_EQ(Cell("DECIMAL(10,0)", "\"1234\"", kPlainShape, modes), "-2658824");
  EXPECT_THAT(Cell("BYTES", "\"ffffffffffffffff\""), HasSubstr("--binary base64 or hex"));
  EXPECT_EQ(Cell("BYTES", "\"00ff10\""), "00ff10");
  EXPECT_EQ(Cell("BYTES", "\"AP8Q\""), "00ff10");
  EXPECT_EQ(Cell("BYTES", "\"\""), "");
  modes.binary = BinaryMode::kHex;
  EXPECT_EQ(Cell("BYTES", "\"ffffffffffffffff\"", kPlainShape, modes), "ffffffffffffffff");
  modes.binary = BinaryMode::kBase64;
  EXPECT_THAT(Cell("BYTES", "\"00ff10\"", kPlainShape, modes), HasSubstr("not base64"));
  EXPECT_THAT(Cell("VARBINARY(2)", "\"AP8Q\""), HasSubstr("3 bytes"));
}

TEST(AppendValue, DatesAndTimesKeepEveryDigit) {
  EXPECT_EQ(Cell("DATE", "19860"), "2024-05-17");
  EXPECT_EQ(Cell("DATE", "\"2024-05-17\""), "2024-05-17");
  EXPECT_THAT(Cell("DATE", "3000000000"), HasSubstr("outside the days"));
  EXPECT_EQ(Cell("TIME(3)", "47655123"), "13:14:15.123");
  EXPECT_EQ(Cell("TIME(6)", "47655123000"), "13:14:15.123");
  EXPECT_THAT(Cell("TIME(6)", "47655123456"), HasSubstr("more digits of a second"));
  EXPECT_THAT(Cell("TIME(0)", "47655123"), HasSubstr("more digits of a second"));
  EXPECT_THAT(Cell("TIME(3)", "86400000"), HasSubstr("a STRING column would hold it"));
  EXPECT_EQ(Cell("TIMESTAMP(3)", "1715951655123"), "2024-05-17T13:14:15.123");
  EXPECT_EQ(Cell("TIMESTAMP(6)", "1715951655123456"), "2024-05-17T13:14:15.123456");
  EXPECT_EQ(Cell("TIMESTAMP(6)", "1715951655123", Form(ValueForm::kInstant, 3)), "2024-05-17T13:14:15.123");
  EXPECT_THAT(Cell("TIMESTAMP(3)", "1715951655123456", Form(ValueForm::kInstant, 6)),
              HasSubstr("more digits of a second"));
  EXPECT_EQ(Cell("TIMESTAMP(3)", "1715951655123000", Form(ValueForm::kInstant, 6)),
            "2024-05-17T13:14:15.123");
  EXPECT_THAT(Cell("TIMESTAMP(9)", "9223372036854776", Form(ValueForm::kInstant, 3)),
              HasSubstr("outside the range"));
  EXPECT_EQ(Cell("TIMESTAMP(6)", "\"2024-05-17T13:14:15.123456Z\""), "2024-05-17T13:14:15.123456");
  EXPECT_THAT(Cell("TIMESTAMP(6)", "\"2024-05-17T13:14:15+02:00\""), HasSubstr("has a time zone"));
  EXPECT_THAT(Cell("TIMESTAMP_LTZ(6)", "\"2024-05-17T13:14:15\""), HasSubstr("time zone is missing"));
  EXPECT_EQ(Cell("TIMESTAMP_LTZ(6)", "\"2024-05-17T15:14:15.5+02:00\""), "2024-05-17T13:14:15.5+00:00");
  ValueModes connect;
  connect.time = TimeMode::kConnect;
  EXPECT_EQ(Cell("TIMESTAMP(6)", "1715951655123", kPlainShape, connect), "2024-05-17T13:14:15.123");
  // The MySQL connectors' default: TIME alone is always in microseconds.
  ValueModes mysql;
  mysql.time = TimeMode::kAdaptiveTimeMicroseconds;
  EXPECT_EQ(Cell("TIME(0)", "47655000000", kPlainShape, mysql), "13:14:15");
  EXPECT_EQ(Cell("TIMESTAMP(3)", "1715951655123", kPlainShape, mysql), "2024-05-17T13:14:15.123");
  EXPECT_EQ(Cell("TIMESTAMP(6)", "1715951655123456", kPlainShape, mysql), "2024-05-17T13:14:15.123456");
  ValueModes micros;
  micros.time = TimeMode::kMicroseconds;
  EXPECT_EQ(Cell("TIME(0)", "47655000000", kPlainShape, micros), "13:14:15");
  EXPECT_EQ(Cell("TIMESTAMP(3)", "1715951655123000", kPlainShape, micros), "2024-05-17T13:14:15.123");
  EXPECT_THAT(Cell("DATE", "1715951655123", Form(ValueForm::kInstant, 3)), HasSubstr("refused"));
}

TEST(AppendValue, NestedValuesAreCheckedToTheirLeaves) {
  EXPECT_EQ(Cell("ARRAY<INT>", "[1,null,3]"), "[1,null,3]");
  EXPECT_THAT(Cell("ARRAY<INT>", "[1,2,\"x\"]"), HasSubstr("element 2 is text"));
  EXPECT_THAT(Cell("ARRAY<ARRAY<TINYINT>>", "[[1],[2,300]]"), HasSubstr("element 1 element 1 is 300"));
  EXPECT_EQ(Cell("MAP<STRING, STRING>", R"({"k":"v","n":null})"), R"(["k","v","n",null])");
  EXPECT_EQ(Cell("MAP<INT, STRING>", R"([[1,"a"],[2,"b"]])"), R"([1,"a",2,"b"])");
  EXPECT_THAT(Cell("MAP<STRING, INT>", R"({"k":1,"k":2})"), HasSubstr("a key twice"));
  EXPECT_THAT(Cell("MAP<INT, STRING>", R"({"1":"a"})"), HasSubstr("pairs"));
  EXPECT_EQ(Cell("ROW<a INT, b STRING>", R"({"b":"x","a":1})"), R"([1,"x"])");
  EXPECT_EQ(Cell("ROW<a INT, b STRING>", R"({"a":1})"), "[1,null]");
  EXPECT_THAT(Cell("ROW<a INT>", R"({"a":1,"c":2})"), HasSubstr("a field \"c\" that"));
  EXPECT_THAT(Cell("ROW<a INT>", R"({"a":1,"a":2})"), HasSubstr("twice"));
  EXPECT_THAT(Cell("ROW<a INT NOT NULL>", "{}"), HasSubstr("no field 'a'"));
}

TEST(AppendTextValue, ReadsCsvTextByTheColumnsType) {
  const auto text = [](const std::string& type, const std::string& value) {
    ColumnBuffer column(*ParseDataType(type));
    std::string why;
    return AppendTextValue(value, {}, &column, &why) ? CellText(column, 0) : "refused: " + why;
  };
  EXPECT_EQ(text("INT", "007"), "7");
  EXPECT_EQ(text("BOOLEAN", "false"), "false");
  EXPECT_EQ(text("DECIMAL(8,2)", "1.5"), "1.50");
  EXPECT_EQ(text("ARRAY<INT>", "[1,2]"), "[1,2]");
  EXPECT_THAT(text("INT", ""), HasSubstr("not a number"));
  EXPECT_THAT(text("DATE", "17.05.2024"), HasSubstr("YYYY-MM-DD"));
}

TEST(IsUnavailable, KnowsThePlaceholderInEveryShape) {
  JsonTape tape;
  for (const char* json : {"\"__debezium_unavailable_value\"", "\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"",
                           "[\"__debezium_unavailable_value\"]",
                           "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,"
                           "95,118,97,108,117,101]",
                           "{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"}"}) {
    ASSERT_TRUE(tape.Parse(json));
    EXPECT_TRUE(IsUnavailable(tape.root())) << json;
  }
  for (const char* json :
       {"null", "\"\"", "\"__debezium_unavailable_values\"", "[]", "[95]", "{}", "[\"x\"]"}) {
    ASSERT_TRUE(tape.Parse(json));
    EXPECT_FALSE(IsUnavailable(tape.root())) << json;
  }
}

}  // namespace
}  // namespace headrace::ingest
