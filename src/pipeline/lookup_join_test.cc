// Lookup joins: what a row looked up stays until the row itself changes, and goes as it was written.
#include "pipeline/lookup_join.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seeds.h"
#include "pipeline/test_tables.h"
#include "sql/lookup_text.h"

namespace headrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLeft[] =
    "SELECT o.id, o.cust, o.amount, c.plan FROM db.orders AS o LEFT JOIN db.customers FOR SYSTEM_TIME AS OF "
    "o.proc_time AS c ON o.cust = c.id";
constexpr char kInner[] =
    "SELECT o.id, o.cust, o.amount, c.plan FROM db.orders AS o JOIN db.customers FOR SYSTEM_TIME AS OF "
    "PROCTIME() AS c ON o.cust = c.id WHERE c.plan <> 'b' OR o.amount > 3";

class LookupJoin : public ::testing::Test {
 protected:
  void Make(const std::map<std::string, std::string>& orders = {{"changelog-producer", "input"}}) {
    tables_.Make("customers", "id INT, plan STRING", {"id"});
    tables_.Make("orders", "id INT, cust INT, amount INT", {"id"}, orders);
    tables_.Make("log", "id INT, cust INT, amount INT", {});
    tables_.Make("target", "id INT, cust INT, amount INT, plan STRING", {"id"},
                 {{"changelog-producer", "input"}});
    tables_.Make("by_id", "id INT, cust INT, amount INT, plan STRING", {"id"});
    tables_.Make("rows", "id INT, cust INT, amount INT, plan STRING", {});
    tables_.Write("customers", "VALUES (1, 'a', 0), (2, 'b', 0)");
  }
  void Step() { ASSERT_TRUE(tables_.StepAll().ok()); }
  std::vector<std::string> Target() { return tables_.Rows("FROM db.target"); }

  StageTables tables_;
};

TEST_F(LookupJoin, AChangeOfTheTableThatIsLookedUpTriggersNothing) {
  Make();
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 3, 6, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kLeft).ok());
  Step();
  EXPECT_THAT(Target(), ElementsAre("10|1|5|a|", "11|3|6|null|"));
  tables_.Write("customers", "VALUES (1, 'z', 0), (3, 'c', 0)");
  const auto before = tables_.Latest("target")->id;
  Step();
  EXPECT_EQ(tables_.Latest("target")->id, before);
  // The next order sees the customers as they are; the others stay.
  tables_.Write("orders", "VALUES (12, 1, 7, 0)");
  Step();
  EXPECT_THAT(Target(), ElementsAre("10|1|5|a|", "11|3|6|null|", "12|1|7|z|"));
  EXPECT_EQ(tables_.Next("target").at("db.customers"), 3);
  EXPECT_EQ(tables_.Next("target").at("db.orders"), 3);
}

TEST_F(LookupJoin, WhatWasWrittenIsTakenBackAsItIs) {
  Make();
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 1, 6, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kLeft).ok());
  Step();
  tables_.Write("customers", "VALUES (1, 'z', 0)");
  tables_.Write("orders", "VALUES (10, 1, 5, 1), (10, 1, 50, 2), (11, 1, 6, 3)");
  Step();
  EXPECT_THAT(tables_.Changes("target", 2), ElementsAre("10|1|5|a|1|", "10|1|50|z|2|", "11|1|6|a|3|"));
}

TEST_F(LookupJoin, ARowThatFindsNoPartnerGoes) {
  Make({{"changelog-producer", "none"}});
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 2, 1, 0), (12, 9, 9, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kInner).ok());
  Step();
  EXPECT_THAT(Target(), ElementsAre("10|1|5|a|"));
  tables_.Write("orders", "VALUES (10, 9, 5, 0), (11, 2, 4, 0)");
  Step();
  EXPECT_THAT(tables_.Changes("target", 2), ElementsAre("10|1|5|a|3|", "11|2|4|b|0|"));
}

TEST_F(LookupJoin, RowsWithoutAKeyGoThroughInTheirOrder) {
  Make();
  tables_.Write("log", "VALUES (1, 1, 1, 0), (1, 2, 2, 0)");
  const std::string query =
      "SELECT l.*, c.plan FROM db.log l LEFT JOIN db.customers FOR SYSTEM_TIME AS OF l.at c ON c.id = l.cust";
  ASSERT_TRUE(tables_.OpenStage("by_id", query).ok());
  Step();
  EXPECT_THAT(tables_.Rows("FROM db.by_id"), ElementsAre("1|2|2|b|"));
  tables_.Write("customers", "VALUES (1, 'y', 0)");
  tables_.Write("log", "VALUES (1, 2, 3, 0), (1, 1, 4, 0), (2, 1, 5, 0)");
  Step();
  EXPECT_THAT(tables_.Rows("FROM db.by_id"), ElementsAre("1|1|4|y|", "2|1|5|y|"));
  ASSERT_TRUE(tables_.OpenStage("rows", query).ok());
  Step();
  tables_.Write("customers", "VALUES (1, 'x', 0)");
  tables_.Write("log", "VALUES (2, 1, 5, 0)");
  Step();
  EXPECT_THAT(tables_.Rows("FROM db.rows"),
              ElementsAre("1|1|1|y|", "1|1|4|y|", "1|2|2|b|", "1|2|3|b|", "2|1|5|x|", "2|1|5|y|"));
}

TEST_F(LookupJoin, RebuildIsTheWholeAnswerByTheTableAsItIsNow) {
  Make();
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 2, 6, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kLeft).ok());
  Step();
  tables_.Write("customers", "VALUES (1, 'z', 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kLeft, /*rebuild=*/true).ok());
  Step();
  EXPECT_THAT(tables_.Changes("target", 2), ElementsAre("10|1|5|a|1|", "10|1|5|z|2|"));
}

TEST_F(LookupJoin, SeveralTablesAreLookedUpForOneRow) {
  Make();
  tables_.Make("days", "year INT, day INT, name STRING", {"year", "day"});
  tables_.Write("days", "VALUES (2026, 5, 'mon', 0), (2026, 6, 'tue', 0)");
  tables_.Make("wide", "id INT, plan STRING, name STRING", {"id"});
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 9, 6, 0), (12, 2, 7, 0)");
  ASSERT_TRUE(
      tables_
          .OpenStage("wide",
                     "SELECT o.id, c.plan, d.name FROM db.orders o LEFT JOIN db.customers FOR "
                     "SYSTEM_TIME AS OF PROCTIME() AS c ON o.cust = c.id JOIN db.days FOR SYSTEM_TIME AS "
                     "OF PROCTIME() d ON d.day = o.amount AND d.year = 2020 + o.id - o.id + 6")
          .ok());
  Step();
  EXPECT_THAT(tables_.Rows("FROM db.wide"), ElementsAre("10|a|mon|", "11|null|tue|"));
}

TEST_F(LookupJoin, AnOverwrittenSourceIsTheDifferenceOfItsRows) {
  Make();
  tables_.Write("log", "VALUES (1, 1, 1, 0)");
  ASSERT_TRUE(tables_
                  .OpenStage("rows",
                             "SELECT l.*, c.plan FROM db.log l LEFT JOIN db.customers FOR SYSTEM_TIME AS OF "
                             "PROCTIME() AS c ON c.id = l.cust")
                  .ok());
  Step();
  tables_.Overwrite("log");
  EXPECT_THAT(tables_.StepAll().message(), HasSubstr("db.log was overwritten"));
  tables_.Write("orders", "VALUES (10, 1, 5, 0), (11, 2, 6, 0)");
  ASSERT_TRUE(tables_.OpenStage("target", kLeft).ok());
  Step();
  tables_.Write("customers", "VALUES (1, 'z', 0)");
  tables_.Overwrite("orders");
  Step();
  EXPECT_THAT(tables_.Changes("target", 2), ElementsAre("10|1|5|a|3|", "11|2|6|b|3|"));
}

TEST_F(LookupJoin, WhatCannotBeLookedUpIsRefusedByName) {
  Make();
  tables_.Make("names", "id INT, name STRING, more STRING", {"id", "name"});
  tables_.Make("by_plan", "id INT, plan STRING", {"id", "plan"});
  const auto refused = [&](const std::string& target, const std::string& query) {
    return tables_.OpenStage(target, query).message();
  };
  const std::string select = "SELECT o.id, o.cust, o.amount, c.plan FROM db.orders o ";
  EXPECT_THAT(
      refused("target",
              select +
                  "LEFT JOIN db.customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON CAST(o.cust AS VARCHAR) "
                  "= c.plan"),
      HasSubstr("goes by its primary key (id) alone"));
  EXPECT_THAT(refused("target",
                      "SELECT o.id, o.cust, o.amount, n.more FROM db.orders o LEFT JOIN db.names FOR "
                      "SYSTEM_TIME AS OF PROCTIME() AS n ON o.cust = n.id"),
              HasSubstr("goes by its primary key (id, name) alone"));
  EXPECT_THAT(refused("target",
                      "SELECT o.id, o.cust, o.amount, 'x' FROM db.orders o LEFT JOIN db.log FOR "
                      "SYSTEM_TIME AS OF PROCTIME() AS n ON o.cust = n.id"),
              HasSubstr("and it has none"));
  for (const char* from : {"LEFT JOIN db.customers AS c FOR SYSTEM_TIME AS OF PROCTIME() ON o.cust = c.id",
                           "LEFT JOIN db.customers c FOR SYSTEM_TIME AS OF PROCTIME() ON o.cust = c.id"})
    EXPECT_THAT(refused("target", select + from), HasSubstr("before its alias")) << from;
  EXPECT_THAT(
      refused("target",
              "SELECT o.id, o.cust, o.amount, 'x' FROM db.orders FOR SYSTEM_TIME AS OF PROCTIME() AS o"),
      HasSubstr("a table that is joined"));
  EXPECT_THAT(refused("target",
                      "SELECT o.id, o.cust, o.amount, c.plan FROM db.customers FOR SYSTEM_TIME AS OF "
                      "PROCTIME() AS c JOIN db.orders o ON o.cust = c.id"),
              HasSubstr("a table that is joined"));
  EXPECT_THAT(
      refused("target", select + "RIGHT JOIN db.customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.cust "
                                 "= c.id"),
      HasSubstr("by a RIGHT join"));
  EXPECT_THAT(
      refused("target", select + "LEFT JOIN db.customers FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01' AS c "
                                 "ON o.cust = c.id"),
      HasSubstr("not as of another time"));
  EXPECT_THAT(refused("by_plan",
                      "SELECT o.id, c.plan FROM db.orders o JOIN db.customers FOR SYSTEM_TIME AS OF "
                      "PROCTIME() AS c ON o.cust = c.id"),
              HasSubstr("column plan of the primary key of db.by_plan is given what was looked up"));
  EXPECT_THAT(refused("target",
                      "SELECT o.cust, 1, count(*), 'x' FROM db.orders o JOIN db.customers FOR SYSTEM_TIME "
                      "AS OF PROCTIME() AS c ON o.cust = c.id GROUP BY o.cust"),
              HasSubstr("GROUP BY, DISTINCT and window functions of a lookup join"));
  EXPECT_THAT(refused("target", std::string(kLeft) + " UNION ALL " + kLeft), HasSubstr("in a UNION ALL"));
  EXPECT_THAT(refused("rows", kLeft), HasSubstr("give it a PRIMARY KEY"));
  EXPECT_THAT(
      refused("target", select + "LEFT JOIN db.customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON c.id = "
                                 "CAST(o.cust AS VARCHAR)"),
      HasSubstr(": a text and none; write CAST("));
  EXPECT_THAT(refused("target",
                      "SELECT o.id, o.cust, o.amount, 'x' FROM db.orders o JOIN db.orders FOR SYSTEM_TIME "
                      "AS OF PROCTIME() AS c ON o.cust = c.id"),
              HasSubstr("looked up for its own rows"));
}

// The law: after each commit the rows of orders that changed have the query's answer at the position, and all others what they had; the changelog tells
// exactly that.
class LookupLaw : public ::testing::TestWithParam<const char*> {};

TEST_P(LookupLaw, RowsThatChangedAreAnsweredAtThePositionAndTheOthersStay) {
  static const char* const kProducers[] = {"none", "input", "lookup", "full-compaction"};
  for (const uint64_t seed : testing::SeedsToPlay(1)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed) + " " + GetParam());
    Random random(seed);
    StageTables tables;
    const auto producer = [&] {
      return std::map<std::string, std::string>{{"changelog-producer", kProducers[random.Below(4)]}};
    };
    tables.Make("customers", "id INT, plan STRING", {"id"}, {{"changelog-producer", "input"}});
    tables.Make("orders", "id INT, cust INT, amount INT", {"id"}, producer());
    tables.Make("target", "id INT, cust INT, amount INT, plan STRING", {"id"},
                {{"changelog-producer", "input"}});
    const auto change = [&](const std::string& table, const std::string& values) {
      const std::string id = std::to_string(random.Below(8));
      tables.Write(table, "VALUES (" + id + ", " + values + ", " + (random.OneIn(4) ? "3)" : "0)"));
    };
    const std::string plain = headrace::testing::Must(TakeLookups(GetParam())).query;  // as DuckDB knows it
    std::map<std::string, std::string> expected, orders;                               // by id
    std::map<std::string, std::string> replayed;
    int64_t replayed_to = 0;
    const auto by_id = [](const std::vector<std::string>& rows) {
      std::map<std::string, std::string> of;
      for (const std::string& row : rows) of[row.substr(0, row.find('|'))] = row;
      return of;
    };
    const auto check = [&] {
      if (!tables.Position("target")) return;
      const auto next = tables.Next("target");
      const auto is = by_id(tables.Rows("FROM db.orders", next));
      const auto answer = by_id(tables.Rows(plain, next));
      std::set<std::string> changed;
      for (const auto& [id, row] : orders) {
        if (!is.contains(id) || is.at(id) != row) changed.insert(id);
      }
      for (const auto& [id, row] : is) {
        if (!orders.contains(id) || orders.at(id) != row) changed.insert(id);
      }
      for (const std::string& id : changed) {
        expected.erase(id);
        if (answer.contains(id)) expected[id] = answer.at(id);
      }
      orders = is;
      ASSERT_EQ(by_id(tables.Rows("FROM db.target")), expected);
      for (const std::string& row : tables.Changes("target", replayed_to + 1)) {
        const char kind = row[row.size() - 2];
        const std::string of = row.substr(0, row.size() - 2), id = row.substr(0, row.find('|'));
        if (kind == '1' || kind == '3') {
          ASSERT_EQ(replayed[id], of) << row;
          replayed.erase(id);
        } else {
          ASSERT_TRUE(replayed.emplace(id, of).second) << row;
        }
      }
      replayed_to = tables.Latest("target")->id.value;
      ASSERT_EQ(replayed, expected);
    };
    for (int round = 0; round < 20; ++round) {
      for (uint64_t i = random.Below(4); i > 0; --i) {
        if (random.OneIn(2)) {
          change("customers", "'" + std::string(1, static_cast<char>('a' + random.Below(3))) + "'");
        } else {
          change("orders", std::to_string(random.Below(8)) + ", " + std::to_string(random.Below(9)));
        }
      }
      tables.room().most_rows_a_step = random.OneIn(2) ? 1 : 100;
      if (tables.stage() == nullptr || random.OneIn(4)) {
        ASSERT_TRUE(tables.OpenStage("target", GetParam()).ok());
      }
      if (random.OneIn(3)) {
        tables.faults().SetPlan({.kind = random.OneIn(2) ? FaultKind::kFail : FaultKind::kTearAndStop,
                                 .at = static_cast<int64_t>(random.Below(100))});
        (void)tables.stage()->Step();
        tables.faults().SetPlan({});
        ASSERT_NO_FATAL_FAILURE(check()) << "after the failure of round " << round;
        ASSERT_TRUE(tables.OpenStage("target", GetParam()).ok());
      }
      while (true) {
        const auto stepped = tables.stage()->Step();
        ASSERT_TRUE(stepped.ok()) << stepped.status().message();
        if (!*stepped) break;
        ASSERT_NO_FATAL_FAILURE(check()) << "round " << round;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Queries, LookupLaw, ::testing::Values(kLeft, kInner));

}  // namespace
}  // namespace headrace::pipeline
