// A scan with conditions on the key reads fewer pages and has the rows that the whole scan has: of tables of every engine, files on several levels.
#include "read/wanted_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "base/random.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/physical_columns.h"
#include "read/scan.h"
#include "read/split_rows.h"
#include "write/session.h"

namespace headrace {
namespace {

using headrace::testing::MakeTestTable;
using headrace::testing::Must;
using headrace::testing::TestTable;

constexpr uint64_t kGroups = 4000;
constexpr uint64_t kInGroup = 8;

// A row of (k, n, v).
struct Numbers {
  int64_t k = 0;
  int32_t n = 0;
  std::optional<int64_t> v;

  auto operator<=>(const Numbers&) const = default;
};

class WantedKeysOf : public ::testing::TestWithParam<std::map<std::string, std::string>> {
 protected:
  void SetUp() override {
    std::map<std::string, std::string> options = GetParam();
    options["bucket"] = "2";
    options["num-sorted-run.compaction-trigger"] = "100";
    options["write-only"] = "true";
    made_ = MakeTestTable("k BIGINT, n INT, v BIGINT", {"k", "n"}, options);
  }

  void Write(uint64_t rows, bool compact, bool full) {
    const auto session = Must(WriteSession::Open(
        made_.table, {.commit_user = "writer" + std::to_string(++writers_), .budget = &budget_}));
    arrow::Int64Builder k, v;
    arrow::Int32Builder n;
    arrow::Int8Builder kinds;
    for (uint64_t row = 0; row < rows; ++row) {
      const bool is_delete = deletes_ && random_.OneIn(10);
      ASSERT_TRUE(k.Append(static_cast<int64_t>(random_.Below(kGroups)) - 100).ok());
      ASSERT_TRUE(n.Append(static_cast<int32_t>(random_.Below(kInGroup))).ok());
      ASSERT_TRUE(v.Append(static_cast<int64_t>(random_.Below(1000))).ok());
      ASSERT_TRUE(kinds.Append(static_cast<int8_t>(is_delete ? RowKind::kDelete : RowKind::kInsert)).ok());
    }
    const auto batch =
        arrow::RecordBatch::Make(ToArrowSchema(made_.table.schema->fields), static_cast<int64_t>(rows),
                                 {Must(k.Finish()), Must(n.Finish()), Must(v.Finish())});
    ASSERT_TRUE(session->Write(batch, Must(kinds.Finish())).ok());
    if (compact) {
      ASSERT_TRUE(session->Compact(full).ok());
    }
    const PreparedCommit prepared = Must(session->PrepareCommit(1, true));
    ASSERT_TRUE(session->Commit(prepared).ok());
  }

  // Sorted; `read` counts them before they are filtered.
  std::vector<Numbers> Rows(const std::vector<RowCondition>& conditions, bool by_key, int64_t* read) {
    const Table& table = made_.table;
    const Snapshot latest = Must(ReadLatestSnapshot(table)).value();
    ScanOptions options;
    if (by_key) options.conditions = conditions;
    auto splits = Must(PlanScan(table, latest));
    const auto reader = Must(OpenSplits(table, std::move(splits), options, std::nullopt));
    std::vector<Numbers> rows;
    for (const auto& batch : Must(reader->ToRecordBatches())) {
      const auto& k = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& n = static_cast<const arrow::Int32Array&>(*batch->column(1));
      const auto& v = static_cast<const arrow::Int64Array&>(*batch->column(2));
      *read += batch->num_rows();
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const bool meets = std::all_of(conditions.begin(), conditions.end(), [&](const RowCondition& each) {
          return Meets(Value(k.Value(i)), each);
        });
        if (meets)
          rows.push_back({k.Value(i), n.Value(i), v.IsNull(i) ? std::nullopt : std::optional(v.Value(i))});
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  std::vector<RowCondition> RandomConditions() {
    using Is = RowCondition::Is;
    const auto value = [&] { return Value(static_cast<int64_t>(random_.Below(kGroups + 20)) - 110); };
    const auto values = [&](uint64_t count) {
      std::vector<Value> some;
      for (; count > 0; --count) some.push_back(value());
      return some;
    };
    switch (random_.Below(5)) {
      case 0: return {{"k", Is::kEqual, {value()}}};
      case 1: return {{"k", Is::kIn, values(random_.Between(1, 6))}};
      case 2: return {{"k", Is::kLess, {Value(int64_t{-60})}}, {"k", Is::kNotNull, {}}};
      case 3: return {{"k", Is::kGreaterOrEqual, {Value(int64_t{3800})}}, {"k", Is::kIn, values(5)}};
      default: {
        const int64_t from = static_cast<int64_t>(random_.Below(kGroups));
        return {{"k", Is::kGreater, {Value(from)}}, {"k", Is::kLessOrEqual, {Value(from + 50)}}};
      }
    }
  }

  TestTable made_;
  MemoryBudget budget_{64 << 20};
  Random random_{11};
  bool deletes_ = !GetParam().contains("merge-engine") || GetParam().at("merge-engine") == "deduplicate";
  int writers_ = 0;
};

TEST_P(WantedKeysOf, ATableAreReadInPart) {
  Write(15000, false, false);
  Write(15000, true, true);  // rewritten: a file alone would go down as it is, with the pages of level 0
  Write(3000, true, false);
  Write(500, false, false);
  Write(50, false, false);
  int64_t read = 0, whole = 0;
  for (int i = 0; i < 25; ++i) {
    const std::vector<RowCondition> conditions = RandomConditions();
    EXPECT_EQ(Rows(conditions, true, &read), Rows(conditions, false, &whole)) << i;
  }
  EXPECT_LT(read * 2, whole);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, WantedKeysOf,
    ::testing::Values(std::map<std::string, std::string>{},
                      std::map<std::string, std::string>{{"changelog-producer", "lookup"}},
                      std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"}},
                      std::map<std::string, std::string>{{"merge-engine", "partial-update"}},
                      std::map<std::string, std::string>{{"merge-engine", "aggregation"},
                                                         {"fields.v.aggregate-function", "sum"}},
                      std::map<std::string, std::string>{{"sequence.field", "v"}}));

}  // namespace
}  // namespace headrace
