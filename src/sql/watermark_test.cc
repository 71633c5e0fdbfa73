// Watermarks as Flink says them.
#include "sql/watermark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

int64_t DelayOf(const char* expression) {
  const auto delay = WatermarkDelay(expression, "at");
  return delay.ok() ? *delay : -1;
}

TEST(Watermarks, AreTheColumnLessAnInterval) {
  EXPECT_EQ(DelayOf("at"), 0);
  EXPECT_EQ(DelayOf("`at`"), 0);
  EXPECT_EQ(DelayOf("`at` - INTERVAL '5' SECOND"), 5000);
  EXPECT_EQ(DelayOf("`at` - INTERVAL '0.001' SECOND"), 1);
  EXPECT_EQ(DelayOf("AT - interval '300' second(3)"), 300'000);
  EXPECT_EQ(DelayOf("at - INTERVAL '1.5' SECOND(2, 3)"), 1500);
  EXPECT_EQ(DelayOf("at - INTERVAL '10' MINUTES"), 600'000);
  EXPECT_EQ(DelayOf("at - INTERVAL '2' DAY"), 172'800'000);
  for (const char* other :
       {"", "b", "at + INTERVAL '5' SECOND", "at - INTERVAL '5' MONTH", "at - INTERVAL 5 SECOND",
        "at - INTERVAL '-5' SECOND", "at - INTERVAL '' SECOND", "at - INTERVAL '1.2345' SECOND",
        "at - INTERVAL '999999999' DAY", "at - INTERVAL '5' SECOND - b", "f(at)", "at -"})
    EXPECT_EQ(DelayOf(other), -1) << other;
}

TEST(Watermarks, AreReadOfFlinksOptions) {
  const auto none = WatermarkOf({{"bucket", "1"}});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const auto some =
      WatermarkOf({{kWatermarkRowtime, "at"}, {kWatermarkExpression, "`at` - INTERVAL '5' SECOND"}});
  ASSERT_TRUE(some.ok() && some->has_value());
  EXPECT_EQ((*some)->rowtime, "at");
  EXPECT_EQ((*some)->delay_ms, 5000);
  EXPECT_FALSE(WatermarkOf({{kWatermarkRowtime, "at"}}).ok());
}

}  // namespace
}  // namespace headrace
