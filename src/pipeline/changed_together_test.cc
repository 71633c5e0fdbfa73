// Several sources that changed at once: one commit for all, and of each source no more is read than what the changes of the others concern.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/test_tables.h"

namespace headrace::pipeline {
namespace {

using ::testing::ElementsAre;

class ChangedTogether : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::map<std::string, std::string> input = {{"changelog-producer", "input"}, {"bucket", "1"}};
    tables_.Make("orders", "cust INT, id INT", {"cust", "id"}, input);
    tables_.Make("customers", "id INT, plan STRING", {"id"}, input);
    tables_.Make("target", "cust INT, id INT, plan STRING", {"cust", "id"});
    Write("orders", "VALUES (9, 1, 0), (9, 2, 0)");
    files_ = tables_.DataFiles("orders");
    Write("orders", "VALUES (1, 3, 0), (1, 4, 0)");
    Write("customers", "VALUES (1, 'a', 0), (9, 'a', 0)");
    const Status opened = tables_.OpenStage("target", GetParam());
    ASSERT_TRUE(opened.ok()) << opened.message();
    ASSERT_TRUE(tables_.StepAll().ok());
  }

  void Write(const std::string& table, const std::string& rows) { tables_.Write(table, rows); }

  StageTables tables_;
  std::vector<std::string> files_;  // of the orders of customer 9
};

TEST_P(ChangedTogether, AreOneCommit) {
  Write("orders", "SELECT 9, i::INT, 0 FROM range(10, 3010) t(i)");
  Write("customers", "SELECT i::INT, 'b', 0 FROM range(1, 3001) t(i)");
  const int64_t before = testing::Must(tables_.stage()->State()).steps;
  ASSERT_TRUE(tables_.StepAll().ok());
  EXPECT_EQ(testing::Must(tables_.stage()->State()).steps, before + 1);
  EXPECT_THAT(tables_.Rows("SELECT plan, count(*) FROM db.target GROUP BY plan"), ElementsAre("b|3004|"));
}

// Of a customer who did not change no orders are read but those that came and went: their file is not there.
TEST_P(ChangedTogether, ReadNoOtherRowsOfKeysThatOneOfThemAloneTouched) {
  for (const std::string& path : files_) tables_.Delete(path);
  Write("orders", "VALUES (9, 100, 0), (1, 101, 0), (1, 3, 3)");
  Write("customers", "VALUES (1, 'b', 0)");
  const Status stepped = tables_.StepAll();
  ASSERT_TRUE(stepped.ok()) << stepped.message();
  EXPECT_THAT(tables_.Rows("SELECT id, plan FROM db.target"),
              ElementsAre("100|a|", "101|b|", "1|a|", "2|a|", "4|b|"));
}

// One after the other one of them would be in both tables, whichever came first.
TEST(ChangedTogetherTest, AreRowsThatChangePlacesBetweenTwoTables) {
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
    Joins, ChangedTogether,
    ::testing::Values(
        "SELECT o.cust, o.id, c.plan FROM db.orders o LEFT JOIN db.customers c ON o.cust = c.id",
        "SELECT o.cust, o.id, c.plan FROM db.orders o JOIN db.customers c ON o.cust = c.id",
        "SELECT o.cust, o.id, c.plan FROM db.customers c RIGHT JOIN db.orders o ON o.cust = c.id",
        "SELECT o.cust, o.id, c.plan FROM db.customers c JOIN db.orders o ON o.cust = c.id"));

}  // namespace
}  // namespace headrace::pipeline
