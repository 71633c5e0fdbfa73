// Groups that lose their greatest or least value and have a next one: found where the column ends, or by all rows of the groups.
#include "pipeline/lost_extremes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seeds.h"
#include "pipeline/test_tables.h"

namespace headrace::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr char kByDay[] = "SELECT day, count(*), max(made), min(made), sum(id) FROM db.orders GROUP BY day";

// Orders of two days, made one after the other: 400 in one file, and a few after them.
class LostExtremes : public ::testing::Test {
 protected:
  void SetUp() override {
    tables_.Make("orders", "id INT, day STRING, made BIGINT", {"id"},
                 {{"bucket", "1"}, {"changelog-producer", "input"}});
    tables_.Make("target", "day STRING, n BIGINT, last BIGINT, first BIGINT, ids BIGINT", {"day"});
    Write("SELECT i::INT, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i, 0 FROM range(400) t(i)");
    old_ = tables_.DataFiles("orders");
    Write("VALUES (1000, 'a', 1000, 0), (1001, 'a', 1001, 0), (1002, 'b', 1002, 0), (1003, 'b', 1003, 0)");
    ASSERT_TRUE(tables_.OpenStage("target", kByDay).ok());
    ASSERT_TRUE(tables_.StepAll().ok());
  }

  void Write(const std::string& orders) { tables_.Write("orders", orders); }
  std::vector<std::string> AfterStep() {
    const Status stepped = tables_.StepAll();
    EXPECT_TRUE(stepped.ok()) << stepped.message();
    return tables_.Rows("FROM db.target");
  }

  StageTables tables_;
  std::vector<std::string> old_;
};

TEST_F(LostExtremes, AreFoundInTheFilesThatReachTheEndOfTheColumn) {
  for (const std::string& path : old_) tables_.Delete(path);  // whoever reads them fails
  Write("VALUES (1001, 'a', 1001, 3), (1003, 'b', 1003, 3)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|201|1000|0|40800|", "b|201|1002|1|41002|"));
}

TEST_F(LostExtremes, AreFoundAmongAllRowsWhereTheEndHasNone) {
  Write("VALUES (1000, 'a', 1000, 3), (1001, 'a', 1001, 3), (1003, 'b', 1003, 3)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|200|398|0|39800|", "b|201|1002|1|41002|"));
  Write("VALUES (398, 'a', 398, 3), (1003, 'b', 1003, 0)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|199|396|0|39402|", "b|202|1003|1|42005|"));
}

TEST_F(LostExtremes, OfBothEndsAreFound) {
  Write("VALUES (0, 'a', 0, 3), (1001, 'a', 1001, 3)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|200|1000|2|40800|", "b|202|1003|1|42005|"));
}

// The name of the group lies between those of the others, so that statistics do not leave the old file out.
TEST_F(LostExtremes, OfAGroupThatEndsWithThemAreNotLookedFor) {
  for (const std::string& path : old_) tables_.Delete(path);
  Write("VALUES (2000, 'aa', 2000, 0)");
  EXPECT_THAT(AfterStep(), ElementsAre("aa|1|2000|2000|2000|", "a|202|1001|0|41801|", "b|202|1003|1|42005|"));
  Write("VALUES (2000, 'aa', 2000, 3)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|202|1001|0|41801|", "b|202|1003|1|42005|"));
}

TEST_F(LostExtremes, MayBeNoneWhereOnlyNullsAreLeft) {
  Write("VALUES (2000, 'c', 2000, 0), (2001, 'c', NULL, 0)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|202|1001|0|41801|", "b|202|1003|1|42005|", "c|2|2000|2000|4001|"));
  Write("VALUES (2000, 'c', 2000, 3)");
  EXPECT_THAT(AfterStep(), ElementsAre("a|202|1001|0|41801|", "b|202|1003|1|42005|", "c|1|null|null|2001|"));
}

// Of a column that mostly grows, as orders come, are paid later, and go.
TEST(LostExtremesLaw, TheTargetIsTheQueryAfterEveryStep) {
  for (const uint64_t seed : headrace::testing::SeedsToPlay(2)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed));
    Random random(seed);
    StageTables tables;
    tables.Make("orders", "id INT, day STRING, made BIGINT", {"id"}, {{"changelog-producer", "lookup"}});
    tables.Make("target", "day STRING, n BIGINT, last BIGINT, first BIGINT, ids BIGINT", {"day"});
    ASSERT_TRUE(tables.OpenStage("target", kByDay).ok());
    uint64_t made = 0;
    for (int step = 0; step < 25; ++step) {
      std::string rows;
      for (uint64_t i = random.Between(1, random.OneIn(4) ? 40 : 4); i > 0; --i) {
        // The newest ones go most of all.
        const uint64_t id = random.OneIn(3) && made > 4 ? made - random.Below(4) : random.Below(made + 9);
        made += random.Below(2);
        rows += (rows.empty() ? "VALUES (" : ", (") + std::to_string(id) + ", '" + "abc"[random.Below(3)] +
                "', " + (random.OneIn(15) ? "NULL" : std::to_string(made)) + ", " +
                (random.OneIn(3) ? "3)" : "0)");
      }
      tables.Write("orders", rows);
      const Status stepped = tables.StepAll();
      ASSERT_TRUE(stepped.ok()) << stepped.message();
      ASSERT_EQ(tables.Rows("FROM db.target"), tables.Rows(kByDay, tables.Next("target"))) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace headrace::pipeline
