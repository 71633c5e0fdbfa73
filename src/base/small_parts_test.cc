// Clock, random numbers, UUIDs, the build's name.
#include <regex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/random.h"
#include "base/text.h"
#include "base/uuid.h"

namespace headrace {
namespace {

TEST(NearestName, IsTheOneOfFewestChangesOrNone) {
  const std::vector<std::string> names = {"changelog-producer", "bucket", "bucket-key"};
  EXPECT_EQ(NearestName(names, "changelog-producr"), "changelog-producer");
  EXPECT_EQ(NearestName(names, "buckte"), "bucket");
  EXPECT_EQ(NearestName(names, "bucketkey"), "bucket-key");
  EXPECT_EQ(NearestName(names, "no.such"), "");
  EXPECT_EQ(NearestName({}, "x"), "");
  EXPECT_EQ(NearestName({"ab"}, ""), "");
}

TEST(Clock, TellsTheTimeOfTheMachine) {
  SystemClock clock;
  const int64_t begin = clock.NowMs();
  EXPECT_GT(begin, 1'600'000'000'000);
  clock.SleepMs(15);
  EXPECT_GE(clock.NowMs() - begin, 14);
  clock.SleepMs(-5);
}

TEST(Clock, TellsWhatALocalWallClockShows) {
  const char* const zone = getenv("TZ");
  const std::string before = zone == nullptr ? "" : zone;
  SystemClock clock;
  setenv("TZ", "IST-5:30", 1);  // half past five hours east
  tzset();
  const int64_t difference = clock.LocalNowMs() - clock.NowMs();
  setenv("TZ", before.c_str(), 1);
  if (zone == nullptr) unsetenv("TZ");
  tzset();
  EXPECT_NEAR(static_cast<double>(difference), 5.5 * 3600 * 1000, 1000);
}

TEST(Clock, MovesByHandOnly) {
  ManualClock clock(1000, 3'600'000);
  EXPECT_EQ(clock.NowMs(), 1000);
  clock.SleepMs(500);
  clock.Advance(1);
  EXPECT_EQ(clock.NowMs(), 1501);
  EXPECT_EQ(clock.LocalNowMs(), 3'601'501);
  clock.SetMs(7);
  EXPECT_EQ(clock.NowMs(), 7);
}

TEST(Random, RepeatsForASeedAndStaysInItsBounds) {
  Random a(42);
  Random b(42);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = a.Next();
    EXPECT_EQ(value, b.Next());
    seen.insert(value);
    EXPECT_LT(a.Below(7), 7u);
    b.Below(7);
    const int64_t between = a.Between(-3, 3);
    b.Between(-3, 3);
    EXPECT_TRUE(between >= -3 && between <= 3);
    const double unit = a.Unit();
    b.Unit();
    EXPECT_TRUE(unit >= 0 && unit < 1);
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(a.Below(0), 0u);
  EXPECT_EQ(a.Between(5, 5), 5);
  a.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

TEST(Uuid, HasTheFormOfVersionFour) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  UuidSource seeded(7);
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) {
    for (const std::string& uuid : {NewUuid(), seeded.Next()}) {
      EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
      seen.insert(uuid);
    }
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Uuid, RepeatsForASeed) {
  UuidSource a(99);
  UuidSource b(99);
  UuidSource from_system;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(from_system.Next(), from_system.Next());
}

TEST(Text, JoinsPartsWithASeparatorBetweenThem) {
  EXPECT_EQ(Joined({}), "");
  EXPECT_EQ(Joined({"a"}), "a");
  EXPECT_EQ(Joined({"a", "", "b"}, ","), "a,,b");
}

TEST(Text, CountsTheBytesOfOneWellFormedCharacter) {
  const struct {
    std::string_view text;
    size_t bytes;
  } cases[] = {{"", 0},
               {"az", 1},
               {"\x7F", 1},
               {"\x80", 0},
               {"\xC1\xBF", 0},  // overlong
               {"\xC2\x80", 2},
               {"\xC2", 0},
               {"\xE0\x9F\xBF", 0},  // overlong
               {"\xE0\xA0\x80", 3},
               {"\xED\x9F\xBF", 3},
               {"\xED\xA0\x80", 0},  // a surrogate
               {"\xEF\xBF\xBDx", 3},
               {"\xF0\x8F\xBF\xBF", 0},  // overlong
               {"\xF0\x9F\xA6\x80", 4},
               {"\xF0\x9F\xA6", 0},
               {"\xF4\x8F\xBF\xBF", 4},
               {"\xF4\x90\x80\x80", 0},  // above U+10FFFF
               {"\xFF", 0}};
  for (const auto& one : cases) {
    EXPECT_EQ(Utf8CharacterBytes(one.text), one.bytes) << testing::PrintToString(one.text);
  }
}

TEST(BuildInfo, NamesTheVersion) {
  EXPECT_TRUE(std::regex_match(std::string(BuildVersion()), std::regex("\\d+\\.\\d+\\.\\d+")));
  EXPECT_EQ(std::string(BuildCreator()), "headrace " + std::string(BuildVersion()));
}

}  // namespace
}  // namespace headrace
