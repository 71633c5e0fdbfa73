// Law: commits of many writers equal some serial order, namely that of their snapshots.
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <gtest/gtest.h>

#include "base/random.h"
#include "read/scan.h"
#include "write/test_rows.h"

namespace headrace {
namespace {

using testing::CommitRows;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::WriteRows;

IntRows Scan(const Table& table) {
  IntRows rows;
  const auto reader = Must(OpenScan(table, *Must(ReadLatestSnapshot(table)), {}));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (reader->ReadNext(&batch).ok() && batch != nullptr) {
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const bool fresh =
          rows.emplace(ids.Value(i), values.IsNull(i) ? std::nullopt : std::optional(values.Value(i))).second;
      EXPECT_TRUE(fresh) << "key " << ids.Value(i) << " comes twice";
    }
  }
  return rows;
}

TEST(ManyWriters, OfOverlappingKeysEqualTheirCommitsInTheOrderOfSnapshots) {
  constexpr int kThreads = 8;
  // All of them by make crash: sanitizers take a while.
  const int32_t commits = std::getenv("HEADRACE_CRASH_ALL") != nullptr ? 100 : 25;
  Table table =
      MakeTestTable("id INT, v INT", {"id"},
                    {{"bucket", "2"}, {"commit.max-retries", "1000"}, {"commit.max-retry-wait", "60 ms"}})
          .table;
  table.clock = std::make_shared<SystemClock>();
  MemoryBudget budget(64 << 20);
  std::mutex mutex;
  std::map<int64_t, std::vector<Row>> by_snapshot;
  const auto write = [&](int t) {
    const auto session = Must(WriteSession::Open(table, {.commit_user = "user-" + std::to_string(t),
                                                         .budget = &budget,
                                                         .compactors = nullptr,
                                                         .pool = nullptr}));
    Random random(static_cast<uint64_t>(t));
    for (int32_t i = 1; i <= commits; ++i) {
      std::vector<Row> rows = {{1000 + t * 100 + i, i}};  // one key of its own, five shared ones
      for (int k = 0; k < 5; ++k)
        rows.push_back({static_cast<int32_t>(random.Below(20)), t * 1000 + i,
                        static_cast<int8_t>(random.OneIn(6) ? 3 : 0)});
      ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
      const auto snapshots = CommitRows(session.get(), i);
      ASSERT_TRUE(snapshots.ok()) << snapshots.status();
      std::lock_guard lock(mutex);
      by_snapshot[snapshots->front().id.value] = rows;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(write, t);
  for (std::thread& thread : threads) thread.join();

  ASSERT_EQ(by_snapshot.size(), static_cast<size_t>(kThreads * commits));
  const auto ids = Must(ListSnapshotIds(table));
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i].value, static_cast<int64_t>(i + 1));
  IntRows expected;
  for (const auto& [id, rows] : by_snapshot) {
    for (const Row& row : rows) {
      expected.erase(row.id);
      if (row.kind == 0) expected[row.id] = row.v;
    }
  }
  EXPECT_EQ(Scan(table), expected);
  // The same winners once every version of a key has met every other.
  const auto session = Must(WriteSession::Open(
      table, {.commit_user = "compactor", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
  ASSERT_TRUE(session->Compact(true).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(Scan(table), expected);
}

}  // namespace
}  // namespace headrace
