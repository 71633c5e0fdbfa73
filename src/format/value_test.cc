#include "format/value.h"

#include <cmath>
#include <limits>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/civil_time.h"
#include "format/number_text.h"

namespace headrace {
namespace {

using testing::HasSubstr;

DataType Type(std::string_view text) { return ParseDataType(text).ValueOrDie(); }

TEST(CompareValues, OrdersAsPaimonDoes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Value, Value>> ascending = {
      {Value(), Value(int32_t{-1})},
      {Value(-0.0), Value(0.0)},
      {Value(std::numeric_limits<double>::infinity()), Value(nan)},
      {Value(-1.5F), Value(-0.0F)},
      {Value(std::string("a")), Value(std::string("ab"))},
      {Value(std::string("\x7F")), Value(std::string("\x80"))},
      {Value(std::string("\xEF\xBF\xBD")), Value(std::string("\xF0\x9F\x98\x80"))},  // U+FFFD before U+1F600
      {Value(false), Value(true)},
      {Value(arrow::Decimal128(-5)), Value(arrow::Decimal128(3))},
      {Value(Timestamp{1, 999999}), Value(Timestamp{2, 0})},
      {Value(Timestamp{1, 1}), Value(Timestamp{1, 2})},
  };
  for (const auto& [less, more] : ascending) {
    EXPECT_LT(CompareValues(less, more), 0);
    EXPECT_GT(CompareValues(more, less), 0);
    EXPECT_EQ(CompareValues(less, less), 0);
    EXPECT_EQ(CompareValues(more, more), 0);
  }
}

TEST(ValueText, GoesThereAndBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"BOOLEAN", "true"},
      {"TINYINT", "-128"},
      {"SMALLINT", "32767"},
      {"INT", "-2147483648"},
      {"BIGINT", "9223372036854775807"},
      {"FLOAT", "3.4028235e+38"},
      {"FLOAT", "-0.0"},
      {"DOUBLE", "1.7976931348623157e+308"},
      {"DOUBLE", "0.0001"},
      {"DOUBLE", "1e-05"},
      {"DOUBLE", "1000000000000000.0"},
      {"DOUBLE", "1e+16"},
      {"DOUBLE", "NaN"},
      {"DOUBLE", "-Infinity"},
      {"DECIMAL(38, 18)", "-99999999999999999999.999999999999999999"},
      {"DECIMAL(5, 2)", "0.05"},
      {"DECIMAL(5, 0)", "-7"},
      {"STRING", "h\xC3\xA9llo"},
      {"BYTES", "00ff10"},
      {"DATE", "2024-02-29"},
      {"DATE", "0001-01-01"},
      {"DATE", "1969-12-31"},
      {"TIME(3)", "23:59:59.999"},
      {"TIMESTAMP(0)", "1969-12-31T23:59:59"},
      {"TIMESTAMP(3)", "2024-02-29T12:34:56.120"},
      {"TIMESTAMP(9)", "1969-12-31T23:59:59.999999999"},
      {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "2024-01-01T00:00:00.000001Z"},
  };
  for (const auto& [type, text] : cases) {
    auto value = ValueFromText(text, Type(type));
    ASSERT_TRUE(value.ok()) << type << " " << text << ": " << value.status().ToString();
    EXPECT_EQ(ToText(*value, Type(type)), text) << type;
  }
}

TEST(ValueText, RefusesWhatTheTypeCannotHold) {
  const std::pair<const char*, const char*> cases[] = {{"BOOLEAN", "yes"},
                                                       {"TINYINT", "128"},
                                                       {"INT", "1.0"},
                                                       {"INT", ""},
                                                       {"INT", "+-1"},
                                                       {"BIGINT", "9223372036854775808"},
                                                       {"DOUBLE", "1,5"},
                                                       {"DECIMAL(5, 2)", "0.005"},
                                                       {"DECIMAL(3, 1)", "100"},
                                                       {"DECIMAL(5, 2)", "."},
                                                       {"DECIMAL(5, 2)", "1e99999999999"},
                                                       {"BYTES", "0"},
                                                       {"BYTES", "zz"},
                                                       {"DATE", "2023-02-29"},
                                                       {"DATE", "2024-13-01"},
                                                       {"DATE", "24"},
                                                       {"TIME(3)", "24:00:00"},
                                                       {"TIME(3)", "1:00"},
                                                       {"TIMESTAMP(3)", "2024-01-01T00:00:00.0001"},
                                                       {"TIMESTAMP(3)", "2024-01-01T00:00:00Z"},
                                                       {"DATE", "999999999-01-01"},
                                                       {"TIMESTAMP(3)", "999999999-01-01T00:00:00"},
                                                       {"DECIMAL(5, 2)", "1e-9223372036854775808"},
                                                       {"ARRAY<INT>", "[]"}};
  for (const auto& [type, text] : cases)
    EXPECT_FALSE(ValueFromText(text, Type(type)).ok()) << type << " '" << text << "'";
}

TEST(ValueText, TakesTheSameDecimalHoweverItIsWritten) {  // B090
  for (const char* text : {"0.05", "0.050", "0.0500000", "+.05", "5e-2", "0.5E-1", "00000.05"}) {
    auto value = ValueFromText(text, Type("DECIMAL(15, 2)"));
    ASSERT_TRUE(value.ok()) << text << value.status().ToString();
    EXPECT_EQ(std::get<arrow::Decimal128>(*value), arrow::Decimal128(5)) << text;
  }
  EXPECT_EQ(std::get<arrow::Decimal128>(*ValueFromText("5", Type("DECIMAL(15, 2)"))), arrow::Decimal128(500));
  EXPECT_EQ(std::get<arrow::Decimal128>(*ValueFromText("0e999999", Type("DECIMAL(15, 2)"))),
            arrow::Decimal128(0));
}

TEST(NumberText, JavaLayoutIsThatOfFloatAndDouble) {
  EXPECT_EQ(FloatText(1e20, FloatLayout::kJava), "1.0E20");
  EXPECT_EQ(FloatText(-0.1, FloatLayout::kJava), "-0.1");
  EXPECT_EQ(FloatText(1e7, FloatLayout::kJava), "1.0E7");
  EXPECT_EQ(FloatText(9999999.0, FloatLayout::kJava), "9999999.0");
  EXPECT_EQ(FloatText(0.001, FloatLayout::kJava), "0.001");
  EXPECT_EQ(FloatText(0.00012, FloatLayout::kJava), "1.2E-4");
  EXPECT_EQ(FloatText(0.1F, FloatLayout::kJava), "0.1");
  EXPECT_EQ(FloatText(123456.7F, FloatLayout::kPlain), "123456.7");
}

TEST(CivilTime, EveryDayOfFourHundredYearsGoesThereAndBack) {
  int64_t last_year = 0;
  for (int64_t day = -80000; day < 80000; ++day) {
    const CivilDate date = CivilFromDays(day);
    EXPECT_EQ(DaysFromCivil(date), day);
    EXPECT_GE(date.year, last_year);
    last_year = date.year;
  }
  EXPECT_EQ(DateText(2147483647), "+5881580-07-11");
  EXPECT_EQ(DateText(-2147483648LL), "-5877641-06-23");
}

TEST(ValueText, PrintsTheFirstAndTheLastInstant) {
  EXPECT_EQ(ToText(Value(Timestamp{INT64_MIN, 0}), Type("TIMESTAMP(3)")), "-292275055-05-16T16:47:04.192");
  EXPECT_EQ(ToText(Value(Timestamp{INT64_MAX, 999999}), Type("TIMESTAMP(9)")),
            "+292278994-08-17T07:12:55.807999999");
}

TEST(Arrays, GiveTheValueTheyWereMadeOf) {
  const std::pair<const char*, const char*> cases[] = {
      {"BOOLEAN", "true"},
      {"TINYINT", "7"},
      {"SMALLINT", "7"},
      {"INT", "7"},
      {"BIGINT", "7"},
      {"FLOAT", "1.5"},
      {"DOUBLE", "1.5"},
      {"DECIMAL(9, 2)", "1.50"},
      {"DECIMAL(38, 2)", "-1.50"},
      {"CHAR(3)", "abc"},
      {"BYTES", "0102"},
      {"DATE", "2024-02-29"},
      {"TIME(3)", "01:02:03.004"},
      {"TIMESTAMP(3)", "1969-12-31T23:59:59.999"},
      {"TIMESTAMP(6)", "1969-12-31T23:59:59.999999"},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "1969-12-31T23:59:59.999999999Z"}};
  for (const auto& [type_text, text] : cases) {
    const DataType type = Type(type_text);
    const Value value = ValueFromText(text, type).ValueOrDie();
    auto array = ArrayOf(value, type, 3, arrow::default_memory_pool());
    ASSERT_TRUE(array.ok()) << array.status().ToString();
    EXPECT_TRUE((*array)->type()->Equals(*ToArrowType(type)));
    ASSERT_EQ((*array)->length(), 3);
    EXPECT_EQ(*ValueAt(**array, 2, type), value) << type_text;
    EXPECT_TRUE(
        IsNull(*ValueAt(*ArrayOf(Value(), type, 2, arrow::default_memory_pool()).ValueOrDie(), 1, type)));
  }
}

TEST(Arrays, RefuseTimestampsBeyondTheirUnitAndOtherTypes) {
  const Value far = ValueFromText("9999-12-31T00:00:00", Type("TIMESTAMP(9)")).ValueOrDie();
  EXPECT_THAT(ArrayOf(far, Type("TIMESTAMP(9)"), 1, arrow::default_memory_pool()).status().message(),
              HasSubstr("nanosecond"));
  EXPECT_FALSE(ArrayOf(Value(int32_t{1}), Type("BIGINT"), 1, arrow::default_memory_pool()).ok());
}

}  // namespace
}  // namespace headrace
