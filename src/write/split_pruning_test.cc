// A scan with conditions on values leaves files out and has the rows that the whole scan has: of tables of every engine, files on several levels.
#include "read/split_pruning.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "base/random.h"
#include "base/test_seeds.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/physical_columns.h"
#include "read/changes.h"
#include "read/column_ends.h"
#include "read/split_rows.h"
#include "write/session.h"

namespace headrace {
namespace {

using headrace::testing::MakeTestTable;
using headrace::testing::Must;
using headrace::testing::TestTable;

using KeyAndValue = std::pair<int64_t, std::optional<int64_t>>;

int64_t FilesIn(const std::vector<Split>& splits) {
  int64_t files = 0;
  for (const Split& split : splits) files += static_cast<int64_t>(split.files.size());
  return files;
}

// Sorted: those that meet the condition.
std::vector<KeyAndValue> RowsOf(const Table& table, std::vector<Split> splits,
                                const RowCondition& condition) {
  const auto reader = Must(OpenSplits(table, std::move(splits), {}, std::nullopt));
  std::vector<KeyAndValue> rows;
  for (const auto& batch : Must(reader->ToRecordBatches())) {
    const auto& k = static_cast<const arrow::Int64Array&>(*batch->column(0));
    const auto& v = static_cast<const arrow::Int64Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const Value value = v.IsNull(i) ? Value() : Value(v.Value(i));
      if (Meets(value, condition))
        rows.emplace_back(k.Value(i), v.IsNull(i) ? std::nullopt : std::optional(v.Value(i)));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Rows of (k, v) in one bucket. Values grow with time but for some: most conditions meet few files.
class ValuesOf {
 public:
  ValuesOf(const std::map<std::string, std::string>& given, uint64_t seed) : random_(seed) {
    std::map<std::string, std::string> options = given;
    options["bucket"] = "1";
    options["num-sorted-run.compaction-trigger"] = "4";
    const auto engine = options.find("merge-engine");
    deletes_ = engine == options.end();
    made_ = MakeTestTable("k BIGINT, v BIGINT", {"k"}, options);
  }

  const Table& table() const { return made_.table; }
  Snapshot latest() const { return Must(ReadLatestSnapshot(made_.table)).value(); }

  void Write() {
    const auto session = Must(WriteSession::Open(
        made_.table, {.commit_user = "writer" + std::to_string(++writers_), .budget = &budget_}));
    arrow::Int64Builder k, v;
    arrow::Int8Builder kinds;
    const uint64_t rows = random_.Between(1, random_.OneIn(4) ? 60 : 6);
    // Neighbours, so that files are apart on a level as well.
    const uint64_t from = random_.OneIn(2) ? 0 : random_.Below(kKeys), keys = random_.OneIn(2) ? kKeys : 8;
    for (uint64_t row = 0; row < rows; ++row) {
      ASSERT_TRUE(k.Append(static_cast<int64_t>(from + random_.Below(keys))).ok());
      ASSERT_TRUE((random_.OneIn(12) ? v.AppendNull() : v.Append(NextValue())).ok());
      const bool is_delete = deletes_ && random_.OneIn(6);
      ASSERT_TRUE(kinds.Append(static_cast<int8_t>(is_delete ? RowKind::kDelete : RowKind::kInsert)).ok());
    }
    const auto batch =
        arrow::RecordBatch::Make(ToArrowSchema(made_.table.schema->fields), static_cast<int64_t>(rows),
                                 {Must(k.Finish()), Must(v.Finish())});
    ASSERT_TRUE(session->Write(batch, Must(kinds.Finish())).ok());
    if (random_.OneIn(2)) {
      ASSERT_TRUE(session->Compact(random_.OneIn(8)).ok());
    }
    ASSERT_TRUE(session->Commit(Must(session->PrepareCommit(1, true))).ok());
  }

  RowCondition RandomCondition() {
    using Is = RowCondition::Is;
    const Value value(static_cast<int64_t>(random_.Below(static_cast<uint64_t>(time_) + 2)));
    static constexpr Is kIs[] = {Is::kEqual, Is::kLess, Is::kLessOrEqual, Is::kGreater, Is::kGreaterOrEqual};
    if (random_.OneIn(8)) return {"v", Is::kNull, {}};
    return {"v", kIs[random_.Below(5)], {value}};
  }

 private:
  static constexpr uint64_t kKeys = 60;

  int64_t NextValue() {
    return random_.OneIn(10) ? static_cast<int64_t>(random_.Below(static_cast<uint64_t>(time_) + 1))
                             : ++time_;
  }

  TestTable made_;
  MemoryBudget budget_{64 << 20};
  Random random_;
  bool deletes_ = false;
  int64_t time_ = 0;
  int writers_ = 0;
};

class SplitPruning : public ::testing::TestWithParam<std::map<std::string, std::string>> {};

TEST_P(SplitPruning, LeavesOutNoFileThatHasAWantedRowOrHidesOne) {
  int64_t left_out = 0;
  for (const uint64_t seed : testing::SeedsToPlay(2)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed));
    ValuesOf values(GetParam(), seed);
    for (int step = 0; step < 16; ++step) {
      values.Write();
      const Snapshot latest = values.latest();
      for (int i = 0; i < 4; ++i) {
        const RowCondition condition = values.RandomCondition();
        for (const bool stream : {false, true}) {
          const auto plan = [&](std::vector<RowCondition> only) {
            return Must(stream ? PlanStreamVisibleState(values.table(), latest, std::move(only))
                               : PlanScan(values.table(), latest, ScanView::kCurrent, std::move(only)));
          };
          const auto whole = plan({}), part = plan({condition});
          left_out += FilesIn(whole) - FilesIn(part);
          ASSERT_EQ(RowsOf(values.table(), part, condition), RowsOf(values.table(), whole, condition))
              << "step " << step << ", condition " << static_cast<int>(condition.is) << ", stream " << stream;
        }
      }
    }
  }
  EXPECT_GT(left_out, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, SplitPruning,
    ::testing::Values(std::map<std::string, std::string>{},
                      std::map<std::string, std::string>{{"sequence.field", "v"}},
                      std::map<std::string, std::string>{{"merge-engine", "partial-update"}},
                      std::map<std::string, std::string>{{"merge-engine", "aggregation"},
                                                         {"fields.v.aggregate-function", "max"}},
                      std::map<std::string, std::string>{{"merge-engine", "first-row"}},
                      std::map<std::string, std::string>{{"changelog-producer", "lookup"}},
                      std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"}}));

// What is beyond the end is in few files, and none is beyond it that is not.
TEST(EndOfColumn, IsAValueThatFewFilesMayBeBeyond) {
  int64_t found = 0;
  for (const uint64_t seed : testing::SeedsToPlay(2)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed));
    ValuesOf values({}, seed);
    for (int step = 0; step < 16; ++step) {
      values.Write();
      const Snapshot latest = values.latest();
      for (const bool greatest : {true, false}) {
        const auto end = Must(EndOfColumn(values.table(), latest, "v", greatest));
        if (!end) continue;
        ++found;
        EXPECT_EQ(end->is, greatest ? RowCondition::Is::kGreater : RowCondition::Is::kLess);
        const FilePruner pruner(values.table(), {*end});
        int64_t rows = 0, beyond = 0;
        for (const ManifestEntry& entry : Must(LiveFiles(values.table(), latest))) {
          rows += entry.file.row_count;
          if (Must(pruner.MayHoldAsItIs(entry.file))) beyond += entry.file.row_count;
        }
        ASSERT_LE(beyond, rows / 8);
      }
    }
  }
  EXPECT_GT(found, 0);
}

TEST(EndOfColumn, IsNoneOfATableWhoseFilesAllReachIt) {
  ValuesOf values({}, 1);
  values.Write();
  EXPECT_FALSE(Must(EndOfColumn(values.table(), values.latest(), "v", true)).has_value());
  EXPECT_TRUE(IsKind(EndOfColumn(values.table(), values.latest(), "w", true).status(), ErrorKind::kNotFound));
}

}  // namespace
}  // namespace headrace
