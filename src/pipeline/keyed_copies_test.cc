// Copies that the planner makes: which, how they are written, and that what is read of them is what the query names.
#include "pipeline/keyed_copies.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "pipeline/test_tables.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::Must;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kJoin[] =
    "SELECT o.id, o.amount, c.tag FROM db.orders o LEFT JOIN db.customers c ON o.cust = c.id";

// One INSERT and the copies that it reads, each a stage.
class CopiedStages {
 public:
  CopiedStages(StageTables* tables, std::string query) : tables_(*tables), query_(std::move(query)) {}

  std::vector<KeyedCopy> Wanted() {
    std::vector<KeyedCopy> copies;
    for (const auto& [table, copy] : Must(Plan({"db.target", {}, query_}, "job", {}, {})).copies_wanted)
      copies.push_back(copy);
    return copies;
  }

  void MakeTables() {
    for (const KeyedCopy& copy : Wanted()) {
      const Table source = Open(copy.source);
      std::string columns;
      for (const DataField& field : source.schema->fields)
        columns += field.name + " " + ToSql(field.type) + ", ";
      const auto& by = source.schema->fields[static_cast<size_t>(source.schema->FieldIndex(copy.column))];
      tables_.Make(copy.name.substr(3), columns + kCopyKeyColumn + " " + ToSql(by.type),
                   {kCopyKeyColumn, "id"}, {{"changelog-producer", "input"}});
    }
  }

  void Start() {
    stages_.clear();
    UniqueColumns unique;
    std::vector<KeyedCopy> copies;
    for (const KeyedCopy& copy : Wanted()) {
      copies.push_back(Must(WithColumns(copy, Open(copy.source), Open(copy.name))));
      StagePlan plan = Must(Plan(InsertOfCopy(copies.back(), Open(copy.name)), copy.name, unique, {}));
      plan.is_copy = true;
      unique[copy.name] = plan.unique_columns;
      stages_.push_back(Must(Stage::Open(plan, &tables_.room(), false)));
    }
    plan_ = Must(Plan({"db.target", {}, query_}, "job", unique, copies));
    stages_.push_back(Must(Stage::Open(plan_, &tables_.room(), false)));
  }

  void Reverse() { std::reverse(stages_.begin(), stages_.end()); }

  void StepAll() {
    for (const auto& stage : stages_) {
      while (Must(stage->Step())) {
      }
      ASSERT_TRUE(stage->Close().ok());
    }
  }

  const StagePlan& plan() const { return plan_; }
  Table Open(const std::string& name) { return Must(tables_.room().open(name, Access::kRead)); }

 private:
  Result<StagePlan> Plan(const InsertText& insert, const std::string& job, const UniqueColumns& unique,
                         const std::vector<KeyedCopy>& copies) {
    HEADRACE_ASSIGN_OR_RETURN(const auto binding, QueryBinding::Open(tables_.room().queries));
    return PlanStage(binding.get(), insert, job, tables_.room(), unique, copies);
  }

  StageTables& tables_;
  const std::string query_;
  StagePlan plan_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

class KeyedCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::map<std::string, std::string> options = {{"changelog-producer", "input"}};
    tables_.Make("orders", "id INT, cust INT, amount INT, tag STRING", {"id"}, options);
    tables_.Make("customers", "id INT, amount INT, tag STRING NOT NULL", {"id"}, options);
    tables_.Make("log", "cust INT, amount INT", {});
  }

  // "db.orders by cust" of each.
  std::vector<std::string> CopiesOf(const std::string& columns, std::vector<std::string> key,
                                    const std::string& query) {
    tables_.Make("target", columns, std::move(key));
    std::vector<std::string> copies;
    for (const KeyedCopy& copy : CopiedStages(&tables_, query).Wanted())
      copies.push_back(copy.source + " by " + copy.column);
    return copies;
  }

  Table Open(const std::string& name) { return Must(tables_.room().open(name, Access::kRead)); }

  StageTables tables_;
};

TEST_F(KeyedCopiesTest, AreStatementsAsSomebodyWouldWriteThem) {
  tables_.Make("target", "id INT, amount INT, tag STRING", {"id"});
  CopiedStages stages(&tables_, kJoin);
  const auto copies = stages.Wanted();
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].name, "db.orders_by_cust");
  EXPECT_EQ(
      TableOfCopy(copies[0], Open("db.orders")).definition,
      "CREATE TABLE `copy` (`id` INT NOT NULL, `cust` INT, `amount` INT, `tag` STRING, `_copy_key` INT NOT "
      "NULL, "
      "PRIMARY KEY (`_copy_key`, `id`) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = 'input')");
  stages.MakeTables();
  stages.Start();
  ASSERT_THAT(stages.plan().copies, SizeIs(1));
  EXPECT_EQ(
      InsertOfCopy(stages.plan().copies[0], Open("db.orders_by_cust")).query,
      R"(SELECT "id", "cust", "amount", "tag", coalesce("cust", CAST(0 AS INTEGER)) FROM "db"."orders")");
  EXPECT_THAT(Explain(stages.plan()), HasSubstr("db.orders_by_cust  by o.cust, read in part"));
}

TEST_F(KeyedCopiesTest, BothSidesOfAJoin) {
  EXPECT_THAT(CopiesOf("a INT, b INT", {"a", "b"},
                       "SELECT o.id, c.id FROM db.orders o JOIN db.customers c ON o.tag = c.tag"),
              ElementsAre("db.customers by tag", "db.orders by tag"));
}

TEST_F(KeyedCopiesTest, NoneOfGroupsThatReadNothing) {
  EXPECT_THAT(CopiesOf("tag STRING, n BIGINT", {"tag"}, "SELECT tag, count(*) FROM db.orders GROUP BY tag"),
              IsEmpty());
}

TEST_F(KeyedCopiesTest, NoneOfTablesWithoutAPrimaryKey) {
  EXPECT_THAT(
      CopiesOf(
          "id INT, n BIGINT", {"id"},
          "SELECT c.id, count(l.cust) FROM db.customers c LEFT JOIN db.log l ON l.cust = c.id GROUP BY c.id"),
      IsEmpty());
}

TEST_F(KeyedCopiesTest, NoneByAnExpressionOrAFloatingNumber) {
  EXPECT_THAT(CopiesOf("cust INT, n BIGINT", {"cust"},
                       "SELECT coalesce(cust, -1), count(DISTINCT amount) FROM db.orders GROUP BY 1"),
              IsEmpty());
  tables_.Make("prices", "id INT, price DOUBLE, cust INT", {"id"});
  EXPECT_EQ(MakeKeyedCopy(Open("db.prices"), "price"), std::nullopt);
}

// Of an order that moves from one SELECT to the other, the table would tell one half and its copy the other.
TEST_F(KeyedCopiesTest, NoneOfATableThatIsReadInTwoWays) {
  EXPECT_THAT(
      CopiesOf(
          "id INT, amount INT, tag STRING", {"id"},
          "SELECT id, amount, 'own' FROM db.orders WHERE cust IS NULL UNION ALL SELECT o.id, o.amount, c.tag "
          "FROM db.orders o JOIN db.customers c ON o.cust = c.id"),
      IsEmpty());
}

TEST_F(KeyedCopiesTest, NoneOfATableThatIsJoinedWithItself) {
  EXPECT_THAT(CopiesOf("a INT, b INT", {"a", "b"},
                       "SELECT a.id, b.id FROM db.orders a JOIN db.orders b ON a.cust = b.id"),
              IsEmpty());
}

TEST_F(KeyedCopiesTest, NoneWithoutAPlaceForItsKeyOrAName) {
  tables_.Make("taken", "id INT, cust INT, _Copy_Key INT", {"id"});
  EXPECT_EQ(MakeKeyedCopy(Open("db.taken"), "cust"), std::nullopt);
  tables_.Make("odd", "id INT, `a/b` INT", {"id"});
  EXPECT_EQ(MakeKeyedCopy(Open("db.odd"), "a/b"), std::nullopt);
}

TEST_F(KeyedCopiesTest, AStatementThatReadsACopyIsAnotherOne) {
  tables_.Make("target", "id INT, amount INT, tag STRING", {"id"});
  ASSERT_TRUE(tables_.OpenStage("target", kJoin).ok());
  const std::string without = tables_.stage()->plan().hash;
  CopiedStages stages(&tables_, kJoin);
  stages.MakeTables();
  stages.Start();
  EXPECT_NE(stages.plan().hash, without);
}

TEST_F(KeyedCopiesTest, ACopyHoldsNothingElse) {
  tables_.Make("target", "id INT, amount INT, tag STRING", {"id"});
  CopiedStages stages(&tables_, kJoin);
  stages.MakeTables();
  tables_.Write("orders", "SELECT 1, 5, 3, 'a', 0");
  tables_.Write("orders_by_cust", "SELECT 99, 7, 1, 'x', 7, 0");
  stages.Start();
  stages.StepAll();
  EXPECT_THAT(tables_.Rows("SELECT id FROM db.orders_by_cust"), ElementsAre("1|"));
  EXPECT_THAT(tables_.Rows("SELECT id FROM db.target"), ElementsAre("1|"));
}

TEST_F(KeyedCopiesTest, NothingIsAnsweredFromACopyThatIsNotMadeYet) {
  tables_.Make("target", "id INT, amount INT, tag STRING", {"id"});
  CopiedStages stages(&tables_, kJoin);
  stages.MakeTables();
  tables_.Write("orders", "SELECT 1, 5, 3, 'a', 0");
  stages.Start();
  stages.Reverse();
  stages.StepAll();  // the target, and then the copy
  EXPECT_EQ(tables_.Latest("target"), std::nullopt);
  stages.Reverse();
  stages.StepAll();
  EXPECT_THAT(tables_.Rows("SELECT id FROM db.target"), ElementsAre("1|"));
}

TEST_F(KeyedCopiesTest, ColumnsOfOtherTypesAreTold) {
  const KeyedCopy copy = *MakeKeyedCopy(Open("db.orders"), "cust");
  tables_.Make("narrow", "id INT, cust INT, amount SMALLINT, tag STRING, _copy_key INT", {"_copy_key", "id"});
  EXPECT_THAT(
      WithColumns(copy, Open("db.orders"), Open("db.narrow")).status().message(),
      HasSubstr(
          "column amount of db.orders is INT by now, and amount of its copy db.orders_by_cust is SMALLINT; "
          "let the copy follow: headrace alter db.orders_by_cust retype amount 'INT'"));
  tables_.Make("narrow_key", "id INT, cust INT, amount INT, tag STRING, _copy_key SMALLINT",
               {"_copy_key", "id"});
  EXPECT_THAT(WithColumns(copy, Open("db.orders"), Open("db.narrow_key")).status().message(),
              HasSubstr("drop the copy, and say --rebuild"));
}

TEST_F(KeyedCopiesTest, ATableOfThatNameThatIsNoCopyIsTold) {
  const KeyedCopy copy = *MakeKeyedCopy(Open("db.orders"), "cust");
  EXPECT_THAT(WithColumns(copy, Open("db.orders"), Open("db.customers")).status().message(),
              HasSubstr("table db.orders_by_cust is there and is no copy of db.orders by cust"));
}

TEST_F(KeyedCopiesTest, ColumnsOfBothAreRead) {
  tables_.Make("older", "id INT, gone STRING, cust INT, tag STRING, _copy_key INT", {"_copy_key", "id"});
  const KeyedCopy copy =
      Must(WithColumns(*MakeKeyedCopy(Open("db.orders"), "cust"), Open("db.orders"), Open("db.older")));
  EXPECT_THAT(copy.columns, ElementsAre("id", "cust", "tag"));
}

struct Query {
  const char* target;
  std::vector<std::string> key;
  const char* sql;
  size_t copies;
};

const std::vector<Query>& Queries() {
  static const std::vector<Query> queries = {
      {"id INT, amount INT, tag STRING", {"id"}, kJoin, 1},
      {"id INT, cust INT, amount INT, tag STRING, ctag STRING",
       {"id"},
       "SELECT o.*, c.tag FROM db.orders o LEFT JOIN db.customers c ON o.cust = c.id",
       1},
      {"a INT, b INT, s INT",
       {"a", "b"},
       "SELECT o.id, c.id, o.amount FROM db.orders o JOIN db.customers c ON o.tag = c.tag",
       2},
      {"id INT, side INT, tag STRING",
       {"id", "side"},
       "SELECT o.id, 1, c.tag FROM db.orders o JOIN db.customers c ON o.cust = c.id UNION ALL SELECT o.id, "
       "2, o.tag FROM "
       "db.orders o LEFT JOIN db.customers c ON o.cust = c.id WHERE c.tag IS NULL",
       1},
      {"id INT, cust INT, place BIGINT",
       {"id"},
       "SELECT id, cust, row_number() OVER (PARTITION BY cust ORDER BY amount DESC NULLS LAST, id) AS place "
       "FROM "
       "db.orders QUALIFY place <= 2",
       1},
      {"tag STRING, n BIGINT",
       {"tag"},
       "SELECT tag, count(DISTINCT amount) FROM db.customers GROUP BY tag",
       1},
  };
  return queries;
}

// Random changes of orders and customers: what they hold is known here, so that an update and a delete tell the row before.
class Changes {
 public:
  explicit Changes(uint64_t seed) : random_(seed) {}

  void Make(StageTables* tables) {
    const bool orders = !random_.OneIn(3);
    std::string rows;
    for (int i = static_cast<int>(random_.Between(1, 5)); i > 0; --i) {
      const int id = static_cast<int>(random_.Below(15));
      std::string& known = (orders ? orders_ : customers_)[id];
      const bool gone = !known.empty() && random_.OneIn(3);
      if (!gone)
        known = std::to_string(id) + (orders ? ", " + Number(6) : "") + ", " + Number(9) + ", " + Tag(orders);
      rows += (rows.empty() ? "SELECT " : " UNION ALL SELECT ") + known + (gone ? ", 3" : ", 0");
      if (gone) known.clear();
    }
    tables->Write(orders ? "orders" : "customers", rows);
  }

  Random& random() { return random_; }

 private:
  std::string Number(uint64_t below) {
    return random_.OneIn(4) ? "CAST(NULL AS INT)" : std::to_string(random_.Below(below));
  }
  std::string Tag(bool may_be_null) {
    static const char* const kTags[] = {"''", "'a'", "'b'", "'c'"};
    return may_be_null && random_.OneIn(4) ? "CAST(NULL AS VARCHAR)" : kTags[random_.Below(4)];
  }

  Random random_;
  std::map<int, std::string> orders_, customers_;
};

class KeyedCopiesLaw : public ::testing::TestWithParam<size_t> {};

TEST_P(KeyedCopiesLaw, TheTargetIsTheQueryOverWhatItNames) {
  const Query& query = Queries()[GetParam()];
  const char* one = std::getenv("HEADRACE_SEED");
  const uint64_t seed = one != nullptr ? std::strtoull(one, nullptr, 10) : 100 + GetParam();
  SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed) + " " + query.sql);
  StageTables tables;
  const std::map<std::string, std::string> options = {{"changelog-producer", "input"}};
  tables.Make("orders", "id INT, cust INT, amount INT, tag STRING", {"id"}, options);
  tables.Make("customers", "id INT, amount INT, tag STRING NOT NULL", {"id"}, options);
  tables.Make("target", query.target, query.key, options);
  CopiedStages stages(&tables, query.sql);
  ASSERT_THAT(stages.Wanted(), SizeIs(query.copies));
  stages.MakeTables();
  stages.Start();
  ASSERT_THAT(stages.plan().copies, SizeIs(query.copies));
  Changes changes(seed);
  for (int round = 0; round < 15; ++round) {
    for (uint64_t i = changes.random().Below(3); i > 0; --i) changes.Make(&tables);
    if (changes.random().OneIn(4)) stages.Start();
    ASSERT_NO_FATAL_FAILURE(stages.StepAll());
    ASSERT_EQ(tables.Rows("FROM db.target"), tables.Rows(query.sql)) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Queries, KeyedCopiesLaw, ::testing::Range<size_t>(0, Queries().size()));

}  // namespace
}  // namespace headrace::pipeline
