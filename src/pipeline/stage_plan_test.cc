// What a stage's plan says of keys and engines, before anything runs.
#include "pipeline/stage_plan.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/test_tables.h"
#include "pipeline/query_binding.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::Must;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StagePlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Make("orders", "id INT, cust INT, amount INT, tag STRING", {"id"});
    Make("customers", "id INT, plan STRING", {"id"});
    Make("log", "cust INT, amount INT, tag STRING", {});
    room_.open = [this](const std::string& name, Access access) {
      return OpenTableAt(store_, clock_, "/w/db.db/" + name.substr(3), name, access);
    };
    binding_ = Must(QueryBinding::Open({64 << 20, 1, ""}));
  }

  void Make(const std::string& name, const std::string& columns, std::vector<std::string> key,
            std::map<std::string, std::string> options = {}) {
    NewTable table;
    table.fields = Must(ParseColumns(columns));
    options.emplace("bucket", key.empty() ? "-1" : "1");
    table.primary_keys = std::move(key);
    table.options = std::move(options);
    Must(Catalog(store_, clock_, "/w").CreateTable({"db", name}, std::move(table)));
  }

  // "ok", or why not, for a target of these columns and key.
  std::string PlanInto(const std::string& columns, std::vector<std::string> key, const std::string& query,
                       std::map<std::string, std::string> options = {}) {
    const std::string target = "t" + std::to_string(++targets_);
    Make(target, columns, std::move(key), std::move(options));
    const auto plan = PlanStage(binding_.get(), {"db." + target, {}, query}, "job", room_, known_);
    if (plan.ok()) plan_ = *plan;
    return plan.ok() ? "ok" : plan.status().message();
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'700'000'000'000);
  StageRoom room_;
  std::unique_ptr<QueryBinding> binding_;
  StagePlan plan_;
  UniqueColumns known_;
  int targets_ = 0;
};

TEST_F(StagePlanTest, ATargetsKeyTellsTheRowsApart) {
  EXPECT_EQ(PlanInto("id INT, a INT", {"id"}, "SELECT id, amount FROM db.orders"), "ok");
  EXPECT_EQ(PlanInto("id INT, tag STRING", {"id", "tag"}, "SELECT id, tag FROM db.orders"), "ok");
  EXPECT_THAT(PlanInto("a INT, tag STRING", {"tag"}, "SELECT amount, tag FROM db.orders"),
              HasSubstr("let the query give the primary key of each table"));
  EXPECT_THAT(PlanInto("id INT, tag STRING", {"tag"}, "SELECT id, tag FROM db.orders"),
              HasSubstr("two may differ in id alone"));
  EXPECT_EQ(PlanInto("tag STRING, n BIGINT", {"tag"}, "SELECT tag, count(*) FROM db.orders GROUP BY tag"),
            "ok");
  EXPECT_THAT(
      PlanInto("tag STRING, n BIGINT", {"tag"}, "SELECT tag, count(*) FROM db.orders GROUP BY tag, cust"),
      HasSubstr("let the query give every column that it groups by"));
  EXPECT_EQ(PlanInto("id INT, tag STRING, n BIGINT", {"id"},
                     "SELECT id, tag, count(*) FROM db.orders GROUP BY id, tag"),
            "ok");
}

TEST_F(StagePlanTest, TypesThatAreNeverAssignedAreToldWithTheirColumn) {
  Make("measured", "id INT, v DOUBLE, b BOOLEAN, d DATE, made TIMESTAMP(3)", {"id"});
  const auto into = [this](const std::string& type, const std::string& value) {
    return PlanInto("id INT, x " + type, {"id"}, "SELECT id, " + value + " FROM db.measured");
  };
  EXPECT_THAT(into("DATE", "v"),
              AllOf(HasSubstr("column x of db.t"), HasSubstr("is DATE"), HasSubstr("gives DOUBLE")));
  EXPECT_THAT(into("TIMESTAMP(3)", "id"), HasSubstr("gives INT"));
  EXPECT_THAT(into("DATE", "5"), HasSubstr("gives INT"));
  EXPECT_THAT(into("BIGINT", "d"), HasSubstr("gives DATE"));
  EXPECT_THAT(into("DOUBLE", "made"), HasSubstr("gives TIMESTAMP"));
  EXPECT_THAT(into("TIME(3)", "d"), HasSubstr("gives DATE"));
  for (const char* type : {"DATE", "TIMESTAMP(3)", "TIME(3)", "BOOLEAN", "STRING"})
    EXPECT_EQ(into(type, "NULL"), "ok") << type;
  EXPECT_EQ(into("DATE", "'2024-01-01'"), "ok");
  EXPECT_EQ(into("DATE", "made"), "ok");
  EXPECT_EQ(into("TIMESTAMP(3)", "d"), "ok");
  EXPECT_EQ(into("INT", "b"), "ok");
  EXPECT_EQ(into("STRING", "d"), "ok");
}

TEST_F(StagePlanTest, AJoinsKeyIsThatOfTheTablesWithManyRows) {
  const std::string join = "SELECT o.id, c.plan FROM db.orders o JOIN db.customers c ON o.cust = c.id";
  EXPECT_EQ(PlanInto("id INT, plan STRING", {"id"}, join), "ok");
  EXPECT_THAT(PlanInto("id INT, plan STRING", {"plan"}, join), HasSubstr("two may differ in id alone"));
  EXPECT_THAT(PlanInto("a INT, plan STRING", {"a"},
                       "SELECT l.amount, c.plan FROM db.log l JOIN db.customers c ON l.cust = c.id"),
              HasSubstr("nothing in the answer tells its rows apart"));
}

TEST_F(StagePlanTest, AnAppendTableTakesRowsThatStay) {
  EXPECT_EQ(PlanInto("cust INT, tag STRING", {}, "SELECT cust, tag FROM db.log WHERE amount > 3"), "ok");
  EXPECT_THAT(PlanInto("id INT", {}, "SELECT id FROM db.orders"), HasSubstr("give it a PRIMARY KEY"));
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT", {}, "SELECT tag, count(*) FROM db.log GROUP BY tag"),
              HasSubstr("give it a PRIMARY KEY"));
}

TEST_F(StagePlanTest, AnEngineThatMergesTakesNoNewAnswers) {
  const std::string query = "SELECT tag, count(*), sum(amount) FROM db.orders GROUP BY tag";
  const std::map<std::string, std::string> sums = {{"merge-engine", "aggregation"},
                                                   {"fields.default-aggregate-function", "sum"}};
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag"}, query, sums),
              HasSubstr("this query needs merge-engine=deduplicate"));
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag"}, query, {{"ignore-delete", "true"}}),
              HasSubstr("passes over deletes"));
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag"}, query, {{"sequence.field", "n"}}),
              HasSubstr("leave the option out"));
  const std::string of_log = "SELECT tag, count(*), sum(amount) FROM db.log GROUP BY tag";
  EXPECT_EQ(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag"}, of_log, sums), "ok");
  EXPECT_TRUE(plan_.adds);
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT, s DOUBLE", {"tag"}, of_log, sums),
              HasSubstr("this query needs merge-engine=deduplicate"));
  EXPECT_THAT(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag", "n"}, of_log, sums),
              HasSubstr("this query needs merge-engine=deduplicate"));
  EXPECT_EQ(PlanInto("tag STRING, n BIGINT, s BIGINT", {"tag"}, of_log), "ok");
  EXPECT_FALSE(plan_.adds);
}

TEST_F(StagePlanTest, ColumnsFitTheTarget) {
  EXPECT_THAT(PlanInto("id INT", {"id"}, "SELECT id, amount FROM db.orders"),
              HasSubstr("gives 2 columns where 1"));
  const auto partly =
      PlanStage(binding_.get(), {"db.customers", {"plan"}, "SELECT tag FROM db.orders"}, "job", room_);
  EXPECT_THAT(partly.status().message(), HasSubstr("its primary key column id gets no value"));
  const auto itself = PlanStage(binding_.get(), {"db.orders", {}, "SELECT * FROM db.orders"}, "job", room_);
  EXPECT_THAT(itself.status().message(), HasSubstr("is read by its own query"));
  const auto none = PlanStage(binding_.get(), {"db.orders", {}, "SELECT * FROM db.nothing"}, "job", room_);
  EXPECT_TRUE(IsKind(none.status(), ErrorKind::kNotFound)) << none.status().message();
}

TEST_F(StagePlanTest, AKeyColumnKeepsApartWhatTheQueryTellsApart) {
  Make("events",
       "id INT, made TIMESTAMP(3), seen TIMESTAMP_LTZ(3), amount DECIMAL(10, 2), d DOUBLE, tag STRING",
       {"id"});
  const auto grouped = [&](const std::string& type, const std::string& by) {
    return PlanInto("k " + type + ", n BIGINT", {"k"},
                    "SELECT " + by + " AS k, count(*) FROM db.events GROUP BY 1");
  };
  EXPECT_THAT(grouped("TIMESTAMP(0)", "made"),
              HasSubstr("the key column k TIMESTAMP(0) of db.t1 may make one of values that the query tells "
                        "apart, which are TIMESTAMP(3); give the column that type, or let the query group by "
                        "a CAST to the column's type"));
  EXPECT_EQ(grouped("TIMESTAMP(3)", "made"), "ok");
  EXPECT_EQ(grouped("TIMESTAMP(6)", "made"), "ok");
  EXPECT_EQ(grouped("TIMESTAMP_LTZ(3)", "seen"), "ok");
  EXPECT_THAT(grouped("TIMESTAMP_LTZ(0)", "seen"), HasSubstr("TIMESTAMP(3) WITH LOCAL TIME ZONE"));
  EXPECT_EQ(grouped("TIMESTAMP(0)", "CAST(made AS TIMESTAMP(0))"), "ok");
  EXPECT_EQ(grouped("TIMESTAMP(3)", "CAST(date_trunc('minute', made) AS TIMESTAMP(3))"), "ok");
  EXPECT_THAT(grouped("DATE", "made"), HasSubstr("the key column k DATE"));
  EXPECT_EQ(grouped("DATE", "CAST(made AS DATE)"), "ok");
  EXPECT_THAT(grouped("DECIMAL(10, 1)", "amount"), HasSubstr("DECIMAL(10, 2)"));
  EXPECT_THAT(grouped("BIGINT", "amount"), HasSubstr("DECIMAL(10, 2)"));
  EXPECT_EQ(grouped("DECIMAL(12, 3)", "amount"), "ok");
  EXPECT_THAT(grouped("FLOAT", "d"), HasSubstr("DOUBLE"));
  EXPECT_THAT(grouped("FLOAT", "id"), HasSubstr("which are INT"));
  EXPECT_EQ(grouped("DOUBLE", "id"), "ok");
  EXPECT_EQ(grouped("TINYINT", "id"), "ok") << "what is too large is an error of its row";
  EXPECT_EQ(grouped("VARCHAR(3)", "tag"), "ok") << "so is what is too long";
  EXPECT_THAT(grouped("BIGINT", "tag"), HasSubstr("which are STRING"));
  EXPECT_THAT(PlanInto("id FLOAT, v DOUBLE", {"id"}, "SELECT id, d FROM db.events"),
              HasSubstr("give the column that type"));
  EXPECT_THAT(PlanInto("at TIMESTAMP(0)", {"at"}, "SELECT DISTINCT made FROM db.events"),
              HasSubstr("let the query give a CAST"));
  EXPECT_EQ(PlanInto("id INT, at TIMESTAMP(0)", {"id"}, "SELECT id, made FROM db.events"), "ok")
      << "beside the key values may be cut";
}

TEST_F(StagePlanTest, WhatDuckDBDoesNotUnderstandIsToldBeforeAnythingRuns) {
  EXPECT_THAT(PlanInto("id INT, v INT", {"id"}, "SELECT id, rowid FROM db.orders"),
              AllOf(HasSubstr("planning INSERT INTO db.t1"), HasSubstr("\"rowid\" not found")));
  EXPECT_THAT(PlanInto("id INT, v INT", {"id"}, "SELECT id, no_such(amount) FROM db.orders"),
              HasSubstr("no_such does not exist"));
  EXPECT_THAT(PlanInto("id INT, v INT", {"id"}, "SELECT id, amount + tag FROM db.orders"), HasSubstr("+"));
  EXPECT_THAT(PlanInto("id INT, v INT", {"id"},
                       "SELECT o.id, c.id FROM db.orders o JOIN db.customers c ON o.tag = c.id"),
              HasSubstr("say by CAST what both are compared as"));
}

TEST_F(StagePlanTest, ASourceMustTellWhenItsRowsAreShown) {
  Make("hidden", "id INT, v INT", {"id"}, {{"deletion-vectors.enabled", "true"}});
  EXPECT_THAT(PlanInto("id INT, v INT", {"id"}, "SELECT id, v FROM db.hidden"),
              HasSubstr("'changelog-producer' = 'lookup'"));
}

TEST_F(StagePlanTest, ACopyUnderAnotherKeyKeepsItsSourcesKey) {
  ASSERT_EQ(PlanInto("no INT, cust INT, amount INT", {"cust", "no"},
                     "SELECT id, cust, amount FROM db.orders WHERE amount > 0"),
            "ok");
  EXPECT_THAT(plan_.unique_columns, ::testing::ElementsAre("no"));
  const std::string copy = plan_.target;
  const std::string join =
      "SELECT o.no, c.plan FROM " + copy + " AS o LEFT JOIN db.customers AS c ON o.cust = c.id";
  EXPECT_THAT(PlanInto("no INT, plan STRING", {"no"}, join), HasSubstr("tells its rows apart"));
  known_[copy] = plan_.unique_columns = {"no"};
  EXPECT_EQ(PlanInto("no INT, plan STRING", {"no"}, join), "ok");
  EXPECT_THAT(Explain(plan_),
              AllOf(HasSubstr("by o.cust, read in part"), HasSubstr("by c.id, its primary key")));
  EXPECT_THAT(PlanInto("no INT, plan STRING", {"plan"}, join), HasSubstr("two may differ in no"));
  // Row by row the copy's own order counts, in which a row that moves may come before it goes.
  EXPECT_THAT(PlanInto("no INT, cust INT", {"no"}, "SELECT no, cust FROM " + copy),
              HasSubstr("two may differ in cust"));
  ASSERT_EQ(PlanInto("no INT, cust INT", {"cust", "no"}, "SELECT no, cust FROM " + copy), "ok");
  EXPECT_THAT(plan_.unique_columns, ::testing::ElementsAre("no"));
  ASSERT_EQ(PlanInto("no INT, cust INT, two INT", {"no", "cust", "two"},
                     "SELECT no, cust, 1 FROM " + copy + " UNION ALL SELECT no, cust, 2 FROM " + copy),
            "ok");
  EXPECT_THAT(plan_.unique_columns, ::testing::IsEmpty());
}

}  // namespace
}  // namespace headrace::pipeline
