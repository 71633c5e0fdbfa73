// Rows of many keys: no more than a page's are in memory at once.
#include "pipeline/touched_keys.h"

#include <algorithm>
#include <string>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/physical_columns.h"
#include "write/session.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::MakeTestTable;
using headrace::testing::Must;

constexpr int32_t kRows = 50'000;
constexpr int64_t kRowBytes = 1000;

class TouchedKeysOfMany : public ::testing::Test {
 protected:
  TouchedKeysOfMany() { room_.budget = &budget_; }

  void Fill(const Table& table) {
    SessionOptions options;
    options.commit_user = "writer";
    options.budget = &budget_;
    const auto session = Must(WriteSession::Open(table, options));
    arrow::Int32Builder ids;
    arrow::StringBuilder texts;
    for (int32_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(ids.Append(id).ok());
      ASSERT_TRUE(texts.Append(std::to_string(id) + std::string(kRowBytes, 'x')).ok());
    }
    const auto rows = arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), kRows,
                                               {Must(Result(ids.Finish())), Must(Result(texts.Finish()))});
    ASSERT_TRUE(session->Write(rows, nullptr).ok());
    ASSERT_TRUE(session->Commit(Must(session->PrepareCommit(1, true))).ok());
  }
  static int64_t CountOf(StageWork* work, const std::string& query) {
    const auto counted = Must(work->Batches("SELECT count(*) FROM (" + query + ")"));
    return static_cast<const arrow::Int64Array&>(*counted.at(0)->column(0)).Value(0);
  }

  MemoryBudget budget_{256 << 20};
  StageRoom room_;
};

TEST_F(TouchedKeysOfMany, AreGoneThroughByPages) {
  const Table table = MakeTestTable("id INT, text STRING", {"id"}, {{"bucket", "2"}}).table;
  Fill(table);
  StageWork work(StagePlan(), &room_, table);
  work.session = Must(QuerySession::Open({128 << 20, 2, ::testing::TempDir()}, &work.relations));
  const auto snapshot = Must(ReadLatestSnapshot(table));
  // One key that there is not, and none twice.
  const TouchedKeys keys =
      Must(TouchedKeys::Of(&work, "SELECT i AS id FROM range(" + std::to_string(kRows + 1) + ") t(i)"));
  EXPECT_EQ(keys.count(), kRows + 1);
  EXPECT_GT(keys.pages(), 2);
  EXPECT_FALSE(Must(keys.HoldNull()));
  const int64_t before = arrow::default_memory_pool()->bytes_allocated();
  int64_t rows = 0, most_bytes = 0;
  for (int64_t page = 0; page < keys.pages(); ++page) {
    ASSERT_TRUE(keys.PutRows(page, "rows", table, snapshot).ok());
    most_bytes = std::max(most_bytes, arrow::default_memory_pool()->bytes_allocated() - before);
    rows += CountOf(&work, "SELECT *" + std::string(" FROM paimon('$.rows')"));
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_LT(most_bytes, kRows * kRowBytes / 2);
  const std::string all = Must(keys.RowsIn("rows", table, snapshot));
  EXPECT_EQ(CountOf(&work, "SELECT DISTINCT id" + all), kRows);
  EXPECT_LT(arrow::default_memory_pool()->bytes_allocated() - before, kRows * kRowBytes / 2);
}

TEST_F(TouchedKeysOfMany, AFewStayInMemory) {
  const Table table = MakeTestTable("id INT, text STRING", {"id"}, {{"bucket", "2"}}).table;
  Fill(table);
  StageWork work(StagePlan(), &room_, table);
  work.session = Must(QuerySession::Open({128 << 20, 2, ::testing::TempDir()}, &work.relations));
  const TouchedKeys keys =
      Must(TouchedKeys::Of(&work, "SELECT * FROM (VALUES (7), (CAST(NULL AS INT))) t(id)"));
  EXPECT_EQ(keys.count(), 2);
  EXPECT_EQ(keys.pages(), 1);
  EXPECT_TRUE(Must(keys.HoldNull()));
  const TouchedKeys one = Must(TouchedKeys::Of(&work, "SELECT 7"));
  const std::string rows = Must(one.RowsIn("rows", table, Must(ReadLatestSnapshot(table))));
  EXPECT_EQ(CountOf(&work, "SELECT *" + rows), 1);
  EXPECT_EQ(CountOf(&work, "SELECT *" + Must(one.RowsIn("rows", table, std::nullopt))), 0);
}

}  // namespace
}  // namespace headrace::pipeline
