// Sources have their turns: one that always has changes keeps no other one out; what cannot be taken by turns is taken together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/test_tables.h"

namespace headrace::pipeline {
namespace {

using ::testing::ElementsAre;

class StageTurns : public ::testing::TestWithParam<const char*> {};

TEST_P(StageTurns, EachSourceHasItsTurnWhileAnotherGoesOnChanging) {
  StageTables tables;
  const std::map<std::string, std::string> input = {{"changelog-producer", "input"}};
  tables.Make("orders", "id INT, cust INT", {"id"}, input);
  tables.Make("customers", "id INT, plan STRING", {"id"}, input);
  tables.Make("target", "id INT, plan STRING", {"id"});
  tables.Write("orders", "VALUES (1, 1, 0)");
  tables.Write("customers", "VALUES (1, 'a', 0)");
  ASSERT_TRUE(tables.OpenStage("target", GetParam()).ok());
  ASSERT_TRUE(tables.StepAll().ok());
  tables.Write("customers", "VALUES (1, 'b', 0)");
  for (int id = 2; id < 5; ++id) {
    tables.Write("orders", "VALUES (" + std::to_string(id) + ", 9, 0)");
    ASSERT_TRUE(tables.stage()->Step().ok());
  }
  EXPECT_THAT(tables.Rows("SELECT plan FROM db.target WHERE id = 1"), ElementsAre("b|"));
}

// What many changes of one source touch would otherwise all be read for a few of the other.
TEST_P(StageTurns, WhereMuchHasChangedEachIsACommit) {
  StageTables tables;
  const std::map<std::string, std::string> input = {{"changelog-producer", "input"}};
  tables.Make("orders", "id INT, cust INT", {"id"}, input);
  tables.Make("customers", "id INT, plan STRING", {"id"}, input);
  tables.Make("target", "id INT, plan STRING", {"id"});
  tables.Write("orders", "VALUES (1, 1, 0)");
  tables.Write("customers", "VALUES (1, 'a', 0)");
  ASSERT_TRUE(tables.OpenStage("target", GetParam()).ok());
  ASSERT_TRUE(tables.StepAll().ok());
  for (int round = 0; round < 3; ++round) {
    const std::string plan = std::to_string(round);
    tables.Write("orders", "SELECT CAST(1300 * " + plan + " + i AS INT), 1, 0 FROM range(2, 1302) t(i)");
    tables.Write("customers", "VALUES (1, '" + plan + "', 0)");
    const int64_t before = testing::Must(tables.stage()->State()).steps;
    ASSERT_TRUE(testing::Must(tables.stage()->Step()));
    EXPECT_EQ(testing::Must(tables.stage()->State()).steps, before + 2);
    EXPECT_FALSE(testing::Must(tables.stage()->Step()));
    EXPECT_THAT(tables.Rows("SELECT count(*) FROM db.target WHERE plan = '" + plan + "'"),
                ElementsAre(std::to_string(1300 * (round + 1) + 1) + "|"));
  }
}

// By turns one of them would be in both tables, whichever came first.
TEST(StageTurnsTest, RowsThatChangePlacesBetweenTwoTablesAreTakenTogether) {
  StageTables tables;
  const std::map<std::string, std::string> input = {{"changelog-producer", "input"}};
  for (const char* name : {"a", "b", "target"}) tables.Make(name, "id INT, x STRING", {"id"}, input);
  tables.Write("a", "VALUES (1, 'a1', 0)");
  tables.Write("b", "VALUES (2, 'b2', 0)");
  ASSERT_TRUE(tables.OpenStage("target", "SELECT id, x FROM db.a UNION ALL SELECT id, x FROM db.b").ok());
  ASSERT_TRUE(tables.StepAll().ok());
  tables.Write("a", "VALUES (1, 'a1', 3)");
  tables.Write("b", "VALUES (1, 'b1', 0)");
  tables.Write("b", "VALUES (2, 'b2', 3)");
  tables.Write("a", "VALUES (2, 'a2', 0)");
  const Status stepped = tables.StepAll();
  ASSERT_TRUE(stepped.ok()) << stepped.message();
  EXPECT_THAT(tables.Rows("FROM db.target"), ElementsAre("1|b1|", "2|a2|"));
}

INSTANTIATE_TEST_SUITE_P(
    Joins, StageTurns,
    ::testing::Values("SELECT o.id, c.plan FROM db.orders o LEFT JOIN db.customers c ON o.cust = c.id",
                      "SELECT o.id, c.plan FROM db.orders o JOIN db.customers c ON o.cust = c.id",
                      "SELECT o.id, c.plan FROM db.customers c RIGHT JOIN db.orders o ON o.cust = c.id",
                      "SELECT o.id, c.plan FROM db.customers c JOIN db.orders o ON o.cust = c.id"));

}  // namespace
}  // namespace headrace::pipeline
