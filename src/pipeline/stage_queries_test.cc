// The SQL of a step, run over tables whose columns have any names.
#include "pipeline/stage_queries.h"

#include <map>
#include <string>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include "catalog/test_tables.h"
#include "sql/query_session.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::Must;

class NoTables final : public Relations {
 public:
  Result<std::shared_ptr<Relation>> Open(const RelationName&) override { return NotFound("none"); }
};

// Of the two rows of an update that come to the table, the later one counts: were the row before last, its key would be gone.
TEST(StageQueries, TheRowBeforeComesBeforeTheRowAfterWhateverTheColumnsAreCalled) {
  NoTables none;
  const auto session = Must(QuerySession::Open({256 << 20, 2, ""}, &none));
  TableSchema target;
  target.fields = Must(ParseColumns("side INT, id BIGINT, kind INT, \"$other\" INT"));
  target.primary_keys = {"side", "id"};
  const auto run = [&](const std::string& statement) {
    const auto answer = Must(session->Query(statement));
    std::shared_ptr<arrow::RecordBatch> batch;
    do {
      ASSERT_TRUE(answer.rows->ReadNext(&batch).ok());
    } while (batch != nullptr);
  };
  const std::string rows = "SELECT 1 AS side, i AS id, i::INT AS kind, ";
  run(MakeTemporary("$old", rows + "1 AS \"$other\" FROM range(20000) t(i)"));
  run(MakeTemporary("$new", rows + "2 AS \"$other\" FROM range(20000) t(i)"));
  const auto answer = Must(session->Query(ChangesOfAnswerQuery(target, /*before=*/true)));
  std::map<int64_t, int> seen;  // by id: how many rows of it have come
  std::shared_ptr<arrow::RecordBatch> batch;
  while (answer.rows->ReadNext(&batch).ok() && batch != nullptr) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      const auto id = std::stoll(Must(batch->column(1)->GetScalar(row))->ToString());
      const auto kind = Must(batch->column(4)->GetScalar(row))->ToString();
      ASSERT_EQ(kind, seen[id]++ == 0 ? "1" : "2") << "of id " << id;
    }
  }
  EXPECT_EQ(seen.size(), 20000u);
}

// The greatest value of a group went: only where none came that is as great, and the group has rows still, is it looked for. So with the least.
TEST(StageQueries, AnExtremeThatWentIsLostUnlessAsGoodAOneCame) {
  struct Case {
    std::string was, came, went;
    bool is_lost;
  };
  const std::vector<Case> cases = {
      {"9", "10", "9", false},  {"9", "9", "9", false},    {"9", "8", "9", true},
      {"9", "NULL", "9", true}, {"9", "NULL", "8", false}, {"9", "10", "NULL", false},
      {"9", "8", "8", false},   {"NULL", "10", "9", true},
  };
  NoTables none;
  const auto session = Must(QuerySession::Open({256 << 20, 1, ""}, &none));
  const auto answer = [&](const std::string& statement, int column) {
    const auto asked = Must(session->Query(statement));
    std::shared_ptr<arrow::RecordBatch> batch;
    std::string value;
    while (asked.rows->ReadNext(&batch).ok() && batch != nullptr)
      value = Must(batch->column(column)->GetScalar(0))->ToString();
    return value;
  };
  TableSchema target;
  target.fields = Must(ParseColumns("g INT NOT NULL, extreme INT, n BIGINT"));
  target.primary_keys = {"g"};
  StagePlan plan;
  plan.columns = {"g", "extreme", "n"};
  QueryBranch branch;
  branch.outputs.resize(3);
  branch.outputs[0].is_group = true;
  branch.outputs[2].folds = Folds::kCountAll;
  for (const Folds folds : {Folds::kMax, Folds::kMin}) {
    branch.outputs[1].folds = folds;
    for (const Case& c : cases) {
      for (const bool stays : {true, false}) {
        const auto row = [&](const std::string& name, const std::string& value, int count) {
          const std::string sign = folds == Folds::kMin ? "-" : "";
          (void)answer(MakeTemporary(name, "SELECT 1 AS g, CAST(" + sign + value + " AS INT) AS extreme, " +
                                               std::to_string(count) + " AS n"),
                       0);
        };
        row("$old", c.was, stays ? 2 : 0);
        row("$came", c.came, 1);
        row("$went", c.went, 1);
        row("$extremes", "NULL", 0);
        EXPECT_EQ(answer(LostExtremesQuery(plan, branch, target), 1), c.is_lost && stays ? "true" : "false")
            << c.was << " was, " << c.came << " came, " << c.went << " went, "
            << (folds == Folds::kMax ? "greatest" : "least") << (stays ? "" : ", the group with it");
      }
    }
  }
}

}  // namespace
}  // namespace headrace::pipeline
