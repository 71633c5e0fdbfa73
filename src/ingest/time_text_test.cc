#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/time_text.h"

namespace headrace::ingest {
namespace {

int64_t Micros(std::string_view text) {
  const std::optional<ParsedTime> time = ParseDateTime(text);
  return time ? time->CountAt(6).value_or(-2) : -1;
}

TEST(ParseDateTime, ReadsInstantsExactly) {
  EXPECT_EQ(Micros("1970-01-01T00:00:00"), 0);
  EXPECT_EQ(Micros("2024-05-17T13:14:15.123456"), 1715951655123456);
  EXPECT_EQ(Micros("2024-05-17 13:14:15.123456Z"), 1715951655123456);
  EXPECT_EQ(Micros("1969-12-31T23:59:59.999999Z"), -1 + 0);
  EXPECT_EQ(Micros("2024-05-17T15:14:15.5+02:00"), 1715951655500000);
  EXPECT_EQ(Micros("2024-05-17T13:14"), 1715951640000000);
  EXPECT_EQ(Micros("9999-12-31T23:59:59.999999"), 253402300799999999);
  EXPECT_EQ(Micros("-4713-11-24T00:00:00Z"), -210866803200000000);
  EXPECT_EQ(Micros("+294247-01-10T04:00:25.2Z"), 9223372036825200000);
  EXPECT_EQ(Micros("2024-02-29T24:00:00"), Micros("2024-03-01T00:00:00"));
}

TEST(ParseDateTime, RefusesTheRest) {
  for (const char* text : {"",
                           "infinity",
                           "2024-05-17",
                           "2024-5-17T00:00:00",
                           "2024-02-30T00:00:00",
                           "2023-02-29T00:00:00",
                           "2024-13-01T00:00:00",
                           "2024-00-01T00:00:00",
                           "24-05-17T00:00:00",
                           "2024-05-17T25:00:00",
                           "2024-05-17T24:00:01",
                           "2024-05-17T10:60:00",
                           "2024-05-17T10:00:60",
                           "2024-05-17T10:00:00.",
                           "2024-05-17T10:00:00.1234567890",
                           "2024-05-17T10:00:00 Z",
                           "2024-05-17T10:00:00+99:00",
                           "2024-05-17T10:00:00Zx",
                           "20240517T100000",
                           "12024-05-17T00:00:00",
                           "+2024-05-17x"}) {
    EXPECT_FALSE(ParseDateTime(text).has_value()) << text;
  }
  EXPECT_EQ(Micros("2024-05-17T10:00:00.0000001"), -2);     // a digit too many
  EXPECT_EQ(Micros("+294276-12-31T23:59:59.999999Z"), -2);  // out of range
}

TEST(ParseClock, ReadsTimesOfADay) {
  EXPECT_EQ(ParseClock("13:14:15.123")->CountAt(3), 47655123);
  EXPECT_EQ(ParseClock("24:00:00")->CountAt(0), 86400);
  EXPECT_EQ(ParseClock("11:14:15.5Z")->offset_seconds, 0);
  EXPECT_FALSE(ParseClock("1:00:00").has_value());
  EXPECT_FALSE(ParseClock("24:00:00.1").has_value());
}

TEST(ParseDate, TakesTheZOfIsoStrings) {
  EXPECT_EQ(ParseDate("2024-05-17Z"), 19860);
  EXPECT_EQ(ParseDate("0001-01-01"), -719162);
  EXPECT_FALSE(ParseDate("2024-05-17T00:00:00").has_value());
}

TEST(TimeTexts, AreWrittenWithTheDigitsThatThereAre) {
  EXPECT_EQ(ClockText(47655123456, 6), "13:14:15.123456");
  EXPECT_EQ(ClockText(86400000000, 6), "24:00:00");
  EXPECT_EQ(ClockText(-3020399999999, 6), "-838:59:59.999999");
  EXPECT_EQ(ClockText(43200100, 3), "12:00:00.1");
  EXPECT_EQ(ClockText(INT64_MIN, 9).front(), '-');
  EXPECT_EQ(DateTimeText(-1, 6), "1969-12-31T23:59:59.999999");
  EXPECT_EQ(DateTimeText(1715951655000, 3), "2024-05-17T13:14:15");
}

}  // namespace
}  // namespace headrace::ingest
