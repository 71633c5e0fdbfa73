// Snapshots that end by themselves after a session's commits.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "commit/expiry.h"
#include "io/fault_store.h"
#include "write/test_rows.h"

namespace headrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::map<std::string, std::string> kKeepTwo = {{"bucket", "1"},
                                                     {"snapshot.num-retained.min", "2"},
                                                     {"snapshot.num-retained.max", "2"}};

class SessionExpiry : public ::testing::Test {
 protected:
  std::unique_ptr<WriteSession> Open(const Table& table) {
    return Must(WriteSession::Open(table, {.commit_user = "u", .budget = &budget_}));
  }
  void CommitMany(WriteSession* session, const Table& table, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(WriteRows(session, table, {{.id = i % 3, .v = i}}).ok());
      Must(CommitRows(session, ++identifier_));
    }
  }

  void WriteAtOnce(std::shared_ptr<Store> store);

  MemoryBudget budget_{64 << 20};
  int64_t identifier_ = 0;
};

void SessionExpiry::WriteAtOnce(std::shared_ptr<Store> store) {
  auto options = kKeepTwo;
  options["commit.max-retries"] = "1000";  // the clock is not real: nobody waits
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, options, {}, std::move(store));
  std::vector<Status> told;
  std::mutex mutex;
  const auto write = [&](int writer) {
    MemoryBudget budget(64 << 20);
    const auto session = Must(
        WriteSession::Open(made.table, {.commit_user = "u" + std::to_string(writer), .budget = &budget}));
    for (int i = 0; i < 30; ++i) {
      const Status written = WriteRows(session.get(), made.table, {{.id = writer * 100 + i, .v = i}});
      const Status committed = written.ok() ? CommitRows(session.get(), i + 1).status() : written;
      const std::lock_guard lock(mutex);
      for (const Status& status : {committed, session->expiry()})
        if (!status.ok()) told.push_back(status);
    }
  };
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer) threads.emplace_back(write, writer);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(told, ::testing::IsEmpty());
  Must(Expire(made.table, {.retention = made.table.options.retention}));
  EXPECT_THAT(Must(ListSnapshotIds(made.table)), SizeIs(2));
  EXPECT_THAT(ReadByKey(made.table), SizeIs(90));
}

TEST_F(SessionExpiry, EachCommitLeavesAsManySnapshotsAsTheTableAllows) {
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, kKeepTwo);
  const auto session = Open(made.table);
  CommitMany(session.get(), made.table, 9);
  EXPECT_TRUE(session->expiry().ok());
  EXPECT_THAT(Must(ListSnapshotIds(made.table)), SizeIs(2));
  EXPECT_EQ(ReadByKey(made.table), (IntRows{{0, 6}, {1, 7}, {2, 8}}));
  EXPECT_THAT(UnreferencedFiles(made.table), SizeIs(::testing::Lt(8)));
}

TEST_F(SessionExpiry, AWriteOnlyTableLeavesItToOthers) {
  auto options = kKeepTwo;
  options["write-only"] = "true";
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, options);
  CommitMany(Open(made.table).get(), made.table, 5);
  EXPECT_THAT(Must(ListSnapshotIds(made.table)), SizeIs(5));
}

TEST_F(SessionExpiry, WhatIsMerelyOldWaitsForTen) {
  const TestTable made = MakeTestTable(
      "id INT, v INT", {"id"},
      {{"bucket", "1"}, {"snapshot.num-retained.min", "1"}, {"snapshot.time-retained", "100 min"}});
  const auto session = Open(made.table);
  std::vector<size_t> counts;
  size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    made.clock->Advance(60'000);
    CommitMany(session.get(), made.table, 1);
    const size_t count = Must(ListSnapshotIds(made.table)).size();
    if (!counts.empty() && count + 5 < counts.back()) most = std::max(most, counts.back());
    counts.push_back(count);
  }
  EXPECT_GT(most, 100u) << "those within their time stay";
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 145u)
      << "two snapshots a commit at times, and ten that wait";
}

// Now and then one of them is held up for long between two operations, as on a machine with much else to do.
TEST_F(SessionExpiry, SeveralWritersExpireAtOnceHoweverTheyAreHeldUp) {
  const auto store = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  std::atomic<uint64_t> operations{0};
  store->SetHook([&](StoreOperation operation, const std::string&) {
    const bool often = operation == StoreOperation::kDelete || operation == StoreOperation::kPublish;
    if (Random(++operations).OneIn(often ? 6 : 60)) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
  WriteAtOnce(store);
}

TEST_F(SessionExpiry, SeveralWritersExpireAtOnce) { WriteAtOnce(nullptr); }

// The commit was acknowledged: its outcome cannot be taken back because of old snapshots.
TEST_F(SessionExpiry, ItsFailureIsToldAndTheCommitStands) {
  const auto faulty = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, kKeepTwo, {}, faulty);
  const auto session = Open(made.table);
  CommitMany(session.get(), made.table, 2);
  faulty->SetPlan(
      {.kind = FaultKind::kFail, .at = 0, .counts = [](StoreOperation operation, const std::string& path) {
         return operation == StoreOperation::kList && path.ends_with("/tag");
       }});
  CommitMany(session.get(), made.table, 1);
  EXPECT_TRUE(faulty->fired());
  EXPECT_TRUE(IsKind(session->expiry(), ErrorKind::kIo)) << session->expiry();
  EXPECT_THAT(session->expiry().message(), HasSubstr("nothing was deleted"));
  EXPECT_THAT(Must(ListSnapshotIds(made.table)), ElementsAre(SnapshotId(1), SnapshotId(2), SnapshotId(3)));
  CommitMany(session.get(), made.table, 1);
  EXPECT_TRUE(session->expiry().ok()) << "the next commit tries again";
  EXPECT_THAT(Must(ListSnapshotIds(made.table)), SizeIs(2));
}

}  // namespace
}  // namespace headrace::testing
