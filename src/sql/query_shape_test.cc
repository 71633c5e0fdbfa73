// Which queries have a key, which one, and what is said of those that have none.
#include "sql/query_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/duckdb_handle.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<std::vector<std::string>> Columns(const std::string&, const std::string& table) {
  if (table == "orders") return std::vector<std::string>{"id", "customer_id", "amount", "day"};
  if (table == "customers") return std::vector<std::string>{"id", "name", "plan"};
  if (table == "plans") return std::vector<std::string>{"plan", "price"};
  return NotFound("no table ", table);
}

class QueryShape : public ::testing::Test {
 protected:
  void SetUp() override {
    duckdb_database raw = nullptr;
    ASSERT_EQ(duckdb_open(nullptr, &raw), DuckDBSuccess);
    database_.reset(raw);
    auto connection = ConnectDuck(database_.get());
    ASSERT_TRUE(connection.ok());
    connection_ = std::move(connection).ValueUnsafe();
  }

  Result<std::vector<QueryBranch>> Shape(const std::string& query) {
    return ShapeOfQuery(connection_.get(), query, "shop", Columns);
  }
  // The keys as "o.a=c.b, o.x=c.y", or "rows", or the error.
  std::string KeysOf(const std::string& query) {
    const auto branches = Shape(query);
    if (!branches.ok()) return branches.status().message();
    std::string told;
    for (const QueryBranch& branch : *branches) {
      if (!told.empty()) told += " | ";
      if (branch.row_wise) told += "rows";
      for (size_t i = 0; i < branch.keys[0].size(); ++i) {
        if (i > 0) told += ", ";
        for (size_t source = 0; source < branch.sources.size(); ++source)
          told += (source == 0 ? "" : "=") + branch.keys[source][i].text;
      }
    }
    return told;
  }

  DuckDatabase database_;
  DuckConnection connection_;
};

TEST_F(QueryShape, AColumnThatThereIsNotIsNamed) {
  const std::string join = "SELECT o.id FROM orders o JOIN customers c ON ";
  EXPECT_THAT(KeysOf(join + "o.custmer_id = c.id"),
              AllOf(HasSubstr("ON names o.custmer_id (did you mean o.customer_id?)")));
  EXPECT_THAT(KeysOf(join + "customer_id = c.plann"), HasSubstr("c.plann (did you mean c.plan?)"));
  EXPECT_THAT(KeysOf(join + "o.customer_id = x.id"), HasSubstr("ON names x.id"));
  EXPECT_THAT(KeysOf("SELECT o.id FROM orders o, customers c WHERE o.cstomer_id = c.id"),
              HasSubstr("WHERE names o.cstomer_id (did you mean o.customer_id?)"));
  EXPECT_THAT(KeysOf("SELECT count(*) FROM orders GROUP BY dayy"),
              HasSubstr("GROUP BY names dayy (did you mean day?), which no table"));
  EXPECT_THAT(KeysOf("SELECT count(*) FROM orders o GROUP BY date_trunc('day', o.dey)"),
              HasSubstr("GROUP BY names o.dey (did you mean o.day?), which no table"));
  EXPECT_THAT(KeysOf(join + "o.amount > c.id"), HasSubstr("a join without columns that must be equal"));
}

TEST_F(QueryShape, AMissingSideOfAnOuterJoinTiesNothingTogether) {
  // Of rows that no plan is joined to, name and day may differ.
  EXPECT_THAT(
      KeysOf("SELECT o.id FROM orders o JOIN customers c ON o.customer_id = c.id LEFT JOIN plans p ON "
             "p.plan = c.name AND p.plan = o.day"),
      HasSubstr("do not all share one key"));
  EXPECT_EQ(KeysOf("SELECT o.id FROM orders o JOIN customers c ON o.customer_id = c.id LEFT JOIN plans p ON "
                   "p.price = o.day AND p.plan = c.id AND c.name = o.day"),
            "o.customer_id=c.id=p.plan");
  EXPECT_EQ(KeysOf("SELECT o.id FROM orders o LEFT JOIN customers c ON o.customer_id = c.id AND o.id = c.id"),
            "o.customer_id=c.id");
  // What has a value without any row is no key; a column, which has none then, is.
  EXPECT_EQ(KeysOf("SELECT o.id FROM orders o LEFT JOIN customers c ON o.customer_id = c.id WHERE o.day = "
                   "coalesce(c.plan, 'x') AND o.amount = (c.id IS NULL)"),
            "o.customer_id=c.id");
  EXPECT_EQ(
      KeysOf("SELECT o.id FROM orders o LEFT JOIN customers c ON o.customer_id = c.id WHERE o.day = c.plan"),
      "o.customer_id=c.id, o.\"day\"=c.plan");
  EXPECT_EQ(KeysOf("SELECT o.id FROM orders o LEFT JOIN customers c ON o.day = lower(c.plan)"),
            "o.\"day\"=lower(c.plan)");
}

TEST_F(QueryShape, WhatStandsForSeveralRowsOrColumnsIsRefused) {
  EXPECT_THAT(KeysOf("SELECT id, unnest([1, 2]) FROM orders"), HasSubstr("unnest()"));
  EXPECT_THAT(KeysOf("SELECT id, COLUMNS('a|b') + 1 FROM orders"), HasSubstr("name the columns"));
  EXPECT_THAT(KeysOf("SELECT id, amount.* FROM orders"), HasSubstr("name the fields"));
  EXPECT_THAT(KeysOf("SELECT id, age(day) FROM orders"), HasSubstr("age(a, b)"));
  EXPECT_EQ(KeysOf("SELECT id, age(day, day), o.* FROM orders o"), "rows");
}

TEST_F(QueryShape, OfOneTableWithoutGroupsIsRowByRow) {
  EXPECT_EQ(KeysOf("SELECT id, amount * 2 FROM shop.orders WHERE amount > 3"), "rows");
  EXPECT_EQ(KeysOf("SELECT * FROM orders UNION ALL SELECT id, id, 1, day FROM shop.orders"), "rows | rows");
}

TEST_F(QueryShape, OfGroupsIsWhatTheyAreGroupedBy) {
  EXPECT_EQ(KeysOf("SELECT day, sum(amount) FROM orders GROUP BY day"), "orders.\"day\"");
  EXPECT_EQ(KeysOf("SELECT date_trunc('month', o.day) AS m, count(*) FROM orders o GROUP BY m"),
            "date_trunc('month', o.\"day\")");
  EXPECT_EQ(KeysOf("SELECT day, customer_id, count(*) FROM orders GROUP BY 1, 2"),
            "orders.\"day\", orders.customer_id");
  EXPECT_EQ(KeysOf("SELECT day, max(amount) FROM orders GROUP BY ALL"), "orders.\"day\"");
  EXPECT_EQ(KeysOf("SELECT DISTINCT day FROM orders"), "orders.\"day\"");
  EXPECT_EQ(KeysOf("SELECT count(*) FROM orders"), "");
}

TEST_F(QueryShape, ACastThatMakesOneOfWindowsLeavesThemUnfit) {
  const auto unfit = [&](const std::string& group) {
    const auto branches = Shape("SELECT " + group + ", count(*) FROM orders GROUP BY 1");
    if (!branches.ok()) return branches.status().message();
    return branches->at(0).windows.empty() ? std::string("none") : branches->at(0).windows[0].unfit;
  };
  for (const char* const group :
       {"time_bucket(INTERVAL '500 milliseconds', day)",
        "CAST(time_bucket(INTERVAL '500 milliseconds', day) AS TIMESTAMP(3))",
        "CAST(time_bucket(INTERVAL '500 microseconds', day) AS TIMESTAMP)",
        "CAST(time_bucket(INTERVAL '500 microseconds', day) AS TIMESTAMP(6))",
        "CAST(time_bucket(INTERVAL '500 microseconds', day) AS TIMESTAMP_NS)",
        "CAST(time_bucket(INTERVAL '2 seconds', day) AS TIMESTAMP(0))",
        "CAST(time_bucket(INTERVAL '2 seconds', day, INTERVAL '1 second') AS TIMESTAMP_S)",
        "CAST(time_bucket(INTERVAL '2 days', day) AS DATE)",
        "CAST(time_bucket(INTERVAL '2 months', day, TIMESTAMP '2000-02-01') AS DATE)",
        "CAST(date_trunc('second', day) AS TIMESTAMP_S)", "CAST(date_trunc('day', day) AS DATE)",
        "date_trunc('quarter', day)", "time_bucket(INTERVAL '1 month', day, INTERVAL '27 days')"})
    EXPECT_EQ(unfit(group), "") << group;
  for (const char* const group :
       {"CAST(time_bucket(INTERVAL '500 milliseconds', day) AS TIMESTAMP(0))",
        "TRY_CAST(time_bucket(INTERVAL '1500 milliseconds', day) AS TIMESTAMP_S)",
        "CAST(time_bucket(INTERVAL '2 seconds', day, INTERVAL '250 milliseconds') AS TIMESTAMP_S)",
        "CAST(time_bucket(INTERVAL '2 seconds', day, TIMESTAMP '2020-01-01 00:00:00.25') AS TIMESTAMP_S)",
        "CAST(time_bucket(INTERVAL '500 microseconds', day) AS TIMESTAMP(2))",
        "CAST(time_bucket(INTERVAL '12 hours', day) AS DATE)",
        "CAST(time_bucket(INTERVAL '1 day', day, INTERVAL '1 hour') AS DATE)",
        "CAST(date_trunc('hour', day) AS DATE)"})
    EXPECT_THAT(unfit(group),
                AllOf(HasSubstr("makes one of windows that begin apart"), HasSubstr("leave the CAST out")))
        << group;
  // February ends before the window that begins on the 31st of January would.
  for (const char* const group : {"time_bucket(INTERVAL '1 month', day, INTERVAL '30 days')",
                                  "time_bucket(INTERVAL '1 day', day, INTERVAL '1 month')"})
    EXPECT_THAT(unfit(group), HasSubstr("write an offset that shifts all of them alike")) << group;
  for (const char* const group : {"CAST(date_trunc('hour', day) AS VARCHAR)",
                                  "CAST(date_trunc('hour', day) AS TIMESTAMP WITH TIME ZONE)"})
    EXPECT_EQ(unfit(group), "none") << group;
}

TEST_F(QueryShape, OfWindowsIsWhatAllOfThemArePartitionedBy) {
  EXPECT_EQ(
      KeysOf(
          "SELECT id, day FROM orders QUALIFY row_number() OVER (PARTITION BY day ORDER BY amount, id) <= 3"),
      "orders.\"day\"");
  EXPECT_EQ(KeysOf("SELECT id, sum(amount) OVER (PARTITION BY day, customer_id), rank() OVER (PARTITION BY "
                   "day ORDER BY id) FROM orders"),
            "orders.\"day\"");
}

TEST_F(QueryShape, OfJoinsIsWhatAllTheirTablesShare) {
  EXPECT_EQ(KeysOf("SELECT o.id, c.plan FROM orders o JOIN customers c ON o.customer_id = c.id"),
            "o.customer_id=c.id");
  EXPECT_EQ(
      KeysOf("SELECT o.id FROM orders o LEFT JOIN customers c ON c.id = customer_id AND c.plan = 'pro'"),
      "o.customer_id=c.id");
  EXPECT_EQ(KeysOf("SELECT o.id FROM orders o, customers c WHERE o.customer_id = c.id AND o.amount > 3"),
            "o.customer_id=c.id");
  EXPECT_EQ(KeysOf("SELECT a.id FROM customers a JOIN plans USING (plan)"), "a.plan=\"plans\".plan");
  EXPECT_EQ(
      KeysOf(
          "SELECT o.customer_id, count(*) FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY 1"),
      "o.customer_id=c.id");
}

TEST_F(QueryShape, TellsOutputsThatAreColumnsAndGroups) {
  const auto branches = Shape(
      "SELECT o.day, upper(c.plan) AS p, c.name FROM orders o JOIN customers c ON o.customer_id = c.id");
  ASSERT_TRUE(branches.ok()) << branches.status().message();
  const QueryBranch& branch = branches->front();
  EXPECT_EQ(branch.outputs[0].source, 0);
  EXPECT_EQ(branch.outputs[0].column, "day");
  EXPECT_EQ(branch.outputs[1].source, -1);
  EXPECT_EQ(branch.outputs[2].source, 1);
  EXPECT_EQ(branch.linear, (std::vector<bool>{true, true}));
  const auto outer = Shape("SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer_id = c.id");
  ASSERT_TRUE(outer.ok()) << outer.status().message();
  EXPECT_EQ(outer->front().linear, (std::vector<bool>{true, false}));
  const auto grouped = Shape("SELECT count(*), day FROM orders GROUP BY day, customer_id");
  ASSERT_TRUE(grouped.ok()) << grouped.status().message();
  EXPECT_FALSE(grouped->front().outputs[0].is_group);
  EXPECT_TRUE(grouped->front().outputs[1].is_group);
  EXPECT_EQ(grouped->front().groups, 2u);
  EXPECT_EQ(grouped->front().linear, std::vector<bool>{false});
}

TEST_F(QueryShape, TellsWhichGroupsFold) {
  const auto folds = [&](const std::string& query) {
    const auto branches = Shape(query);
    EXPECT_TRUE(branches.ok()) << branches.status().message();
    return branches.ok() && branches->front().folds;
  };
  EXPECT_TRUE(
      folds("SELECT day, count(*), sum(amount), min(amount), max(id), count(id) FROM orders GROUP BY day"));
  EXPECT_TRUE(folds("SELECT count(*), upper(day) FROM orders WHERE amount > 3 GROUP BY upper(day)"));
  EXPECT_FALSE(folds("SELECT day, sum(amount) FROM orders GROUP BY day"));
  EXPECT_FALSE(folds("SELECT day, count(*), avg(amount) FROM orders GROUP BY day"));
  EXPECT_FALSE(folds("SELECT day, count(*), count(DISTINCT id) FROM orders GROUP BY day"));
  EXPECT_FALSE(folds("SELECT day, count(*) FILTER (amount > 1) FROM orders GROUP BY day"));
  EXPECT_FALSE(folds("SELECT day, count(*) FROM orders GROUP BY day HAVING count(*) > 1"));
  EXPECT_FALSE(folds("SELECT day, count(*) + 1 FROM orders GROUP BY day"));
  EXPECT_FALSE(folds("SELECT count(*) FROM orders"));
}

TEST_F(QueryShape, WritesTextsOverSources) {
  const auto rows = Shape("SELECT *, upper(orders.day) FROM shop.orders WHERE shop.orders.amount > 3");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->front().text,
            "SELECT *, upper(orders.\"day\") FROM \"$\".\"source 0\" AS orders WHERE (orders.amount > 3)");
  EXPECT_EQ(rows->front().text_over_changes,
            "SELECT orders.id, orders.customer_id, orders.amount, orders.\"day\", upper(orders.\"day\"), "
            "orders.\"$kind\" FROM \"$\".\"source 0\" AS orders WHERE (orders.amount > 3)");
  const auto joined = Shape("SELECT a.id FROM orders a JOIN orders b ON a.id = b.customer_id");
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ(joined->front().text,
            "SELECT a.id FROM \"$\".\"source 0\" AS a INNER JOIN \"$\".\"source 1\" AS b ON ((a.id = "
            "b.customer_id))");
}

TEST_F(QueryShape, OrdersByAllColumnsWhereEqualRowsWouldBeChosenFrom) {
  const auto text = [&](const std::string& query) {
    const auto branches = Shape(query);
    EXPECT_TRUE(branches.ok()) << branches.status().message();
    return branches.ok() ? branches->front().text : "";
  };
  const std::string all = "orders.id, orders.customer_id, orders.amount, orders.\"day\"";
  EXPECT_THAT(
      text("SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY day ORDER BY amount DESC) = 1"),
      HasSubstr("ORDER BY amount DESC, " + all));
  EXPECT_THAT(text("SELECT day, arg_max(id, amount) FROM orders GROUP BY day"), HasSubstr("ORDER BY " + all));
  EXPECT_THAT(text("SELECT id, rank() OVER (PARTITION BY day ORDER BY amount) FROM orders"),
              HasSubstr("ORDER BY amount)"));
  // A frame's first row is that of its order, and the frame stays what it is.
  EXPECT_THAT(text("SELECT id, first_value(customer_id) OVER (PARTITION BY day ORDER BY amount) FROM orders"),
              AllOf(HasSubstr("customer_id ORDER BY amount, " + all), HasSubstr("ORDER BY amount)")));
  EXPECT_THAT(text("SELECT id, nth_value(customer_id, 2 ORDER BY id) OVER (PARTITION BY day) FROM orders"),
              HasSubstr("ORDER BY id, " + all));
  EXPECT_THAT(text("SELECT id, arg_max(id, amount) OVER (PARTITION BY day) FROM orders"),
              HasSubstr("ORDER BY " + all));
  EXPECT_THAT(text("SELECT id, string_agg(id, ',') OVER (PARTITION BY day ORDER BY amount) FROM orders"),
              HasSubstr("ORDER BY amount, " + all));
  // Which rows a frame of so many rows has is told by the order of the window.
  EXPECT_THAT(text("SELECT id, sum(amount) OVER (PARTITION BY day ORDER BY amount ROWS UNBOUNDED PRECEDING) "
                   "FROM orders"),
              HasSubstr("ORDER BY amount, " + all));
  EXPECT_THAT(text("SELECT id, sum(amount) OVER (PARTITION BY day ORDER BY amount) FROM orders"),
              HasSubstr("ORDER BY amount)"));
}

TEST_F(QueryShape, KnowsTheMacrosThatAreAggregates) {
  EXPECT_EQ(KeysOf("SELECT day, geomean(amount) FROM orders GROUP BY day"), "orders.\"day\"");
  EXPECT_EQ(KeysOf("SELECT weighted_avg(amount, id) FROM orders"), "");
}

TEST_F(QueryShape, RefusesByNameWhatCannotBeMaintained) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"SELECT id, now() FROM orders", "now() changes by itself"},
      {"PIVOT orders ON day USING sum(amount)",
       "PIVOT and UNPIVOT are not maintained; write the columns out"},
      {"SELECT * FROM orders PIVOT (sum(amount) FOR customer_id IN (1, 2))", "PIVOT and UNPIVOT are not"},
      {"UNPIVOT orders ON id, amount INTO NAME n VALUE v", "PIVOT and UNPIVOT are not maintained"},
      {"VALUES (1, 2)", "insert them once by headrace sql"},
      {"SELECT id, current_date FROM orders", "changes by itself"},
      {"SELECT id, random() FROM orders", "random() changes by itself"},
      {"SELECT id, ago(INTERVAL 1 DAY) FROM orders", "ago() changes by itself"},
      {"SELECT o.id, row_number() OVER (PARTITION BY c.id ORDER BY o.id) FROM orders o LEFT JOIN customers c "
       "ON o.customer_id = c.id",
       "other columns than those it is joined by"},
      {"SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers)", "subquery"},
      {"SELECT id FROM (SELECT * FROM orders)", "subquery in FROM"},
      {"WITH x AS (SELECT 1) SELECT id FROM orders", "WITH is not maintained"},
      {"SELECT id FROM orders LIMIT 3", "QUALIFY"},
      {"SELECT id FROM orders ORDER BY id", "ORDER BY"},
      {"SELECT day, any_value(id) FROM orders GROUP BY day", "any_value() depends on the order"},
      {"SELECT day, count(*) FROM orders GROUP BY ROLLUP (day)", "ROLLUP"},
      {"SELECT * FROM orders UNION SELECT * FROM orders", "UNION ALL is"},
      {"SELECT o.id FROM orders o JOIN customers c ON o.customer_id > c.id", "must be equal"},
      {"SELECT o.id FROM orders o CROSS JOIN customers c", "must be equal"},
      {"SELECT o.id FROM orders o JOIN customers c ON o.customer_id = c.id JOIN plans p ON p.plan = c.plan",
       "do not all share one key"},
      {"SELECT c.plan, sum(o.amount) FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.plan",
       "other columns than those it is joined by"},
      {"SELECT o.id FROM orders o SEMI JOIN customers c ON o.customer_id = c.id", "SEMI joins"},
      {"SELECT * FROM range(3)", "function in FROM"},
      {"SELECT id FROM nothing", "no table nothing"},
      {"DELETE FROM orders", "Only SELECT"},
  };
  for (const auto& [query, reason] : refused) EXPECT_THAT(KeysOf(query), HasSubstr(reason)) << query;
}

}  // namespace
}  // namespace headrace
