// EMIT ON WINDOW CLOSE: which windows are there, and what becomes of late rows.
#include "pipeline/window_close.h"

#include <algorithm>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seeds.h"
#include "pipeline/test_tables.h"
#include "sql/watermark.h"

namespace headrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::map<std::string, std::string> WithWatermark(std::map<std::string, std::string> options = {}) {
  options[kWatermarkRowtime] = "t";
  options[kWatermarkExpression] = "`t` - INTERVAL '5' SECOND";
  options[kWatermarkType] = "TIMESTAMP(3)";
  return options;
}

constexpr char kPerMinute[] =
    "SELECT date_trunc('minute', t), tag, count(*), sum(v) FROM db.log GROUP BY 1, 2";
constexpr char kColumns[] = "start TIMESTAMP(6), tag STRING, n BIGINT, s BIGINT";

class WindowCloses : public ::testing::Test {
 protected:
  WindowCloses() {
    tables_.Make("log", "t TIMESTAMP(3), tag STRING, v INT", {}, WithWatermark());
    tables_.Make("target", kColumns, {"start", "tag"}, {{"changelog-producer", "input"}});
  }
  // A row at a second of the hour, and a step.
  void Add(int second, int value = 1) {
    tables_.Write("log", "VALUES (TIMESTAMP '2026-05-01 10:00:00' + INTERVAL 1 SECOND * " +
                             std::to_string(second) + ", 'a', " + std::to_string(value) + ", 0)");
    const Status stepped = tables_.StepAll();
    ASSERT_TRUE(stepped.ok()) << stepped.message();
  }
  std::vector<std::string> Target() {
    return tables_.Rows("SELECT strftime(start, '%H:%M'), n, s FROM db.target");
  }
  std::string Refused(const std::string& query, const std::string& target = "target") {
    return tables_.OpenStage(target, query, false, true).message();
  }

  StageTables tables_;
};

TEST_F(WindowCloses, AWindowComesOnceTheWatermarkHasPassedItsEnd) {
  tables_.Write("log", "VALUES (TIMESTAMP '2026-05-01 10:00:01', 'a', 1, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kPerMinute, false, true).ok());
  Add(30, 2);
  EXPECT_THAT(Target(), IsEmpty());
  Add(64, 7);  // 10:00:59 is what is surely whole
  EXPECT_THAT(Target(), IsEmpty());
  Add(65, 8);  // and now 10:01:00
  EXPECT_THAT(Target(), ElementsAre("10:00|2|3|"));
  EXPECT_EQ(tables_.Position("target")->watermark, 1'777'629'660'000);
  EXPECT_EQ(tables_.Latest("target")->watermark, 1'777'629'660'000);
  Add(600);
  EXPECT_THAT(Target(), ElementsAre("10:00|2|3|", "10:01|2|15|"));
}

TEST_F(WindowCloses, ALateRowCorrectsItsWindow) {
  ASSERT_TRUE(tables_.OpenStage("target", kPerMinute, false, true).ok());
  Add(10, 1);
  Add(200, 1);
  EXPECT_THAT(Target(), ElementsAre("10:00|1|1|"));
  Add(20, 5);  // late
  EXPECT_THAT(Target(), ElementsAre("10:00|2|6|"));
  Add(70, 9);  // of a closed window that had no rows
  EXPECT_THAT(Target(), ElementsAre("10:00|2|6|", "10:01|1|9|"));
  EXPECT_EQ(tables_.Changes("target").size(), 4u);
}

TEST_F(WindowCloses, TheWatermarkOutlivesTheProcess) {
  ASSERT_TRUE(tables_.OpenStage("target", kPerMinute, false, true).ok());
  Add(10, 1);
  Add(70, 1);
  ASSERT_TRUE(tables_.OpenStage("target", kPerMinute, false, true).ok());
  Add(15, 1);
  EXPECT_THAT(Target(), ElementsAre("10:00|2|2|"));
  EXPECT_THAT(tables_.OpenStage("target", kPerMinute).message(), HasSubstr("another statement"));
}

TEST_F(WindowCloses, WindowsOfMonthsAndBucketsEndWhereTheyEnd) {
  tables_.Make("months", "start TIMESTAMP(3), n BIGINT", {"start"});
  ASSERT_TRUE(tables_
                  .OpenStage("months",
                             "SELECT CAST(date_trunc('month', t) AS TIMESTAMP(3)) AS m, count(*) FROM db.log "
                             "GROUP BY m",
                             false, true)
                  .ok());
  const auto add = [&](const char* time) {
    tables_.Write("log", std::string("VALUES (TIMESTAMP '") + time + "', 'a', 1, 0)");
    ASSERT_TRUE(tables_.StepAll().ok());
  };
  add("2026-01-31 23:59:59");
  add("2026-02-01 00:00:04");
  EXPECT_THAT(tables_.Rows("FROM db.months"), IsEmpty());
  add("2026-02-01 00:00:05");
  EXPECT_THAT(tables_.Rows("FROM db.months"), ElementsAre("2026-01-01 00:00:00.000|1|"));
  add("2026-03-01 00:00:05");
  EXPECT_THAT(tables_.Rows("FROM db.months"),
              ElementsAre("2026-01-01 00:00:00.000|1|", "2026-02-01 00:00:00.000|2|"));
}

TEST_F(WindowCloses, WhatCannotCloseIsRefusedByName) {
  tables_.Make("plain", "t TIMESTAMP(3), u TIMESTAMP(3), v INT", {});
  tables_.Make("two", "t TIMESTAMP(3), u TIMESTAMP(3), v INT", {}, WithWatermark());
  tables_.Make(
      "odd", "t TIMESTAMP(3), v INT", {},
      {{kWatermarkRowtime, "t"}, {kWatermarkExpression, "f(`t`)"}, {kWatermarkType, "TIMESTAMP(3)"}});
  tables_.Make("counts", "k TIMESTAMP(6), n BIGINT", {"k"});
  EXPECT_THAT(Refused("SELECT date_trunc('hour', t), count(*) FROM db.plain GROUP BY 1", "counts"),
              HasSubstr("needs the watermark of db.plain, which declares none"));
  EXPECT_THAT(Refused("SELECT t, count(*) FROM db.log GROUP BY 1", "counts"),
              HasSubstr("needs a window of t, the time of db.log's watermark"));
  EXPECT_THAT(Refused("SELECT date_trunc('hour', u), count(*) FROM db.two GROUP BY 1", "counts"),
              HasSubstr("needs a window of t"));
  EXPECT_THAT(Refused("SELECT t, v FROM db.log", "counts"), HasSubstr("needs a window"));
  EXPECT_THAT(
      Refused("SELECT CAST(time_bucket(INTERVAL '500 milliseconds', t) AS TIMESTAMP(0)), count(*) FROM "
              "db.log GROUP BY 1",
              "counts"),
      AllOf(HasSubstr("EMIT ON WINDOW CLOSE closes a window a size after its beginning"),
            HasSubstr("TIMESTAMP_S cuts their beginnings; leave the CAST out")));
  // It changes meanwhile, and there is nothing to close.
  EXPECT_TRUE(tables_
                  .OpenStage("counts",
                             "SELECT CAST(time_bucket(INTERVAL '500 milliseconds', t) AS TIMESTAMP(0)), "
                             "count(*) FROM db.log GROUP BY 1")
                  .ok());
  EXPECT_THAT(Refused("SELECT date_trunc('hour', t), count(*) FROM db.odd GROUP BY 1", "counts"),
              HasSubstr("a watermark is the column, or the column less an interval"));
  EXPECT_THAT(
      Refused("SELECT date_trunc('hour', a.t), count(*) FROM db.two a JOIN db.log b ON date_trunc('hour', "
              "a.t) = date_trunc('hour', b.t) GROUP BY 1",
              "counts"),
      HasSubstr("goes by the watermark of one table"));
}

TEST_F(WindowCloses, ARowtimeThatIsAWordOfSqlIsQuotedInHints) {
  std::map<std::string, std::string> options = {
      {kWatermarkRowtime, "at"}, {kWatermarkExpression, "`at`"}, {kWatermarkType, "TIMESTAMP(3)"}};
  tables_.Make("words", "at TIMESTAMP(3), v INT", {}, options);
  tables_.Make("counts", "k TIMESTAMP(6), n BIGINT", {"k"});
  EXPECT_THAT(Refused("SELECT \"at\", count(*) FROM db.words GROUP BY 1", "counts"),
              HasSubstr("GROUP BY date_trunc('hour', \"at\") or time_bucket(INTERVAL '5 minutes', \"at\")"));
  EXPECT_EQ(Refused("SELECT date_trunc('hour', \"at\"), count(*) FROM db.words GROUP BY 1", "counts"), "");
  options[kWatermarkExpression] = "f(`at`)";
  tables_.Make("odd", "at TIMESTAMP(3), v INT", {}, options);
  EXPECT_THAT(Refused("SELECT date_trunc('hour', \"at\"), count(*) FROM db.odd GROUP BY 1", "counts"),
              HasSubstr("the column less an interval: `at` - INTERVAL '5' SECOND"));
}

TEST_F(WindowCloses, AWatermarkOfALocalTimeIsRefusedWithItsType) {
  tables_.Make("local", "t TIMESTAMP_LTZ(3), v INT", {}, WithWatermark());
  tables_.Make("counts", "k TIMESTAMP(6), n BIGINT", {"k"});
  EXPECT_THAT(
      Refused("SELECT date_trunc('hour', t), count(*) FROM db.local GROUP BY 1", "counts"),
      HasSubstr("is of t, which is a TIMESTAMP(3) WITH LOCAL TIME ZONE, and windows are of a TIMESTAMP"));
}

// The law: after each commit the target is the query over the source at the position, of the windows that end at or before the watermark there; and that is
// the greatest time seen by then, less the delay.
// By the changelog producer of the source; "append": it has no primary key.
constexpr const char* kProducers[] = {"append", "none", "input", "lookup", "full-compaction"};
class WindowLaw : public ::testing::TestWithParam<size_t> {};

// A group whose windows have a length in milliseconds.
struct LawWindow {
  const char* group;
  int64_t size_ms;
  const char* type = "TIMESTAMP(6)";  // of the target's column
};
constexpr LawWindow kLawWindows[] = {
    {"time_bucket(INTERVAL '20 seconds', t)", 20'000},
    {"CAST(time_bucket(INTERVAL '500 milliseconds', t) AS TIMESTAMP(3))", 500},
    {"CAST(time_bucket(INTERVAL '1500 milliseconds', t, INTERVAL '250 milliseconds') AS TIMESTAMP)", 1500},
    {"CAST(time_bucket(INTERVAL '3 seconds', t, INTERVAL '1 second') AS TIMESTAMP(0))", 3000, "TIMESTAMP(0)"},
    {"CAST(date_trunc('minute', t) AS TIMESTAMP_S)", 60'000},
    {"CAST(date_trunc('second', t) AS TIMESTAMP_NS)", 1000, "TIMESTAMP(9)"},
    {"CAST(date_trunc('day', t) AS DATE)", 86'400'000, "DATE"},
};

TEST_P(WindowLaw, TheTargetIsTheQueryOfTheWindowsThatAreClosed) {
  for (const uint64_t seed : testing::SeedsToPlay(2)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed));
    Random random(seed);
    StageTables tables;
    const bool keyed = GetParam() != 0;
    // Two seeds of all producers see all windows.
    const LawWindow& window = kLawWindows[(seed + 2 * GetParam()) % std::size(kLawWindows)];
    const std::string query =
        std::string("SELECT ") + window.group + ", tag, count(*), sum(v) FROM db.log GROUP BY 1, 2";
    SCOPED_TRACE(query);
    // Some windows close whatever their size.
    const int64_t pace_ms = std::clamp<int64_t>(window.size_ms / 2, 1500, 12'000'000);
    auto options = WithWatermark();
    if (keyed) options["changelog-producer"] = kProducers[GetParam()];
    tables.Make("log", "id INT, t TIMESTAMP(3), tag STRING, v INT",
                keyed ? std::vector<std::string>{"id"} : std::vector<std::string>{}, options);
    tables.Make("target", "start " + std::string(window.type) + ", tag STRING, n BIGINT, s BIGINT",
                {"start", "tag"}, {{"changelog-producer", random.OneIn(2) ? "input" : "none"}});
    // Whatever type the beginning has.
    const std::string columns = "CAST(start AS TIMESTAMP), tag, n, s";
    std::optional<int64_t> watermark;
    const auto check = [&] {
      const auto position = tables.Position("target");
      if (!position) return;
      const std::string closed = position->watermark ? "start + INTERVAL " + std::to_string(window.size_ms) +
                                                           " MILLISECOND <= make_timestamp(" +
                                                           std::to_string(*position->watermark * 1000) + ")"
                                                     : "FALSE";
      ASSERT_EQ(
          tables.Rows("SELECT " + columns + " FROM db.target"),
          tables.Rows("SELECT " + columns + " FROM (" + query + ") AS w(start, tag, n, s) WHERE " + closed,
                      tables.Next("target")));
      if (watermark) {
        ASSERT_TRUE(position->watermark && *position->watermark >= *watermark);
      }
      watermark = position->watermark;
      const auto greatest = tables.Rows("SELECT epoch_ms(max(t)) - 5000 FROM db.log", tables.Next("target"));
      if (greatest[0] != "null|") {
        ASSERT_GE(*watermark, std::stoll(greatest[0]));
      }
    };
    int64_t now = 0;
    for (int round = 0; round < 16; ++round) {
      for (uint64_t i = random.Below(3); i > 0; --i) {
        std::string rows;
        for (uint64_t row = random.Between(1, 4); row > 0; --row) {
          now += static_cast<int64_t>(random.Below(static_cast<uint64_t>(pace_ms)));
          const int64_t at =
              random.OneIn(4) ? now - static_cast<int64_t>(random.Below(static_cast<uint64_t>(pace_ms * 8)))
                              : now;
          const std::string time =
              random.OneIn(12)
                  ? "CAST(NULL AS TIMESTAMP)"
                  : "TIMESTAMP '2026-05-01 10:00:00' + INTERVAL 1 MILLISECOND * " + std::to_string(at);
          rows += (rows.empty() ? "(" : ", (") + std::to_string(random.Below(15)) + ", " + time + ", '" +
                  std::string(1, static_cast<char>('a' + random.Below(2))) + "', " +
                  std::to_string(random.Below(9)) + (keyed && random.OneIn(5) ? ", 3)" : ", 0)");
        }
        tables.Write("log", "VALUES " + rows);
      }
      tables.room().most_rows_a_step = random.OneIn(2) ? 1 : 100;
      if (tables.stage() == nullptr || random.OneIn(4)) {
        const Status opened = tables.OpenStage("target", query, false, true);
        ASSERT_TRUE(opened.ok()) << opened.message();
      }
      if (random.OneIn(3)) {
        tables.faults().SetPlan({.kind = random.OneIn(2) ? FaultKind::kFail : FaultKind::kTearAndStop,
                                 .at = static_cast<int64_t>(random.Below(100))});
        (void)tables.stage()->Step();
        tables.faults().SetPlan({});
        ASSERT_NO_FATAL_FAILURE(check()) << "after the failure of round " << round;
        ASSERT_TRUE(tables.OpenStage("target", query, false, true).ok());
      }
      const Status stepped = tables.StepAll();
      ASSERT_TRUE(stepped.ok()) << stepped.message();
      ASSERT_NO_FATAL_FAILURE(check()) << "round " << round;
      if (keyed ? random.OneIn(8) : random.OneIn(10)) tables.Overwrite("log");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, WindowLaw, ::testing::Range<size_t>(0, std::size(kProducers)),
                         [](const auto& source) {
                           std::string name = kProducers[source.param];
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace headrace::pipeline
