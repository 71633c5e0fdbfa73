// Sessions beside other writers, and over a store that fails: what is committed, what is dropped, what is made again.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using ::testing::ElementsAre;
using testing::IntRows;
using ::testing::IsEmpty;
using testing::KindsOf;
using testing::LevelsOf;
using testing::MakeTestTable;
using testing::Must;
using testing::ReadByKey;
using testing::Reopened;
using testing::Row;
using testing::UnreferencedFiles;
using testing::WriteRows;

class RacingSessions : public testing::SessionCase {};

// ---- several writers --------------------------------------------------------------------------------------------------

TEST_F(RacingSessions, TheLaterOfTwoCommitsFromOneBaseWins) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"changelog-producer", "input"}}).table;
  const auto first = Open(table, "first"), second = Open(table, "second");
  ASSERT_TRUE(WriteRows(first.get(), table, {{1, 8}, {2, 8}, {3, 8}}).ok());
  ASSERT_TRUE(WriteRows(second.get(), table, {{1, 9}}).ok());
  Must(CommitRows(second.get(), 1));
  Must(CommitRows(first.get(), 1));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 8}, {2, 8}, {3, 8}}));
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
  // Both go on from there.
  ASSERT_TRUE(WriteRows(second.get(), table, {{1, 99}}).ok());
  Must(CommitRows(second.get(), 2));
  ASSERT_TRUE(WriteRows(first.get(), table, {{2, 88}}).ok());
  Must(CommitRows(first.get(), 2));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 99}, {2, 88}, {3, 8}}));
  ASSERT_TRUE(first->Compact(true).ok());
  Must(CommitRows(first.get(), 3));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 99}, {2, 88}, {3, 8}}));
}

TEST_F(RacingSessions, ACompactionThatLosesIsDroppedAndItsRowsGoOn) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const auto writer = Open(table, "writer"), compactor = Open(table, "compactor");
  for (int32_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(WriteRows(writer.get(), table, {{i, i}}).ok());
    Must(CommitRows(writer.get(), i));
  }
  // Both compact the same files; the compactor is first.
  ASSERT_TRUE(WriteRows(writer.get(), table, {{5, 5}}).ok());
  const PreparedCommit prepared = Must(writer->PrepareCommit(5, true));
  ASSERT_FALSE(prepared.changes[0].change.compact.empty());
  ASSERT_TRUE(compactor->Compact(true).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(compactor.get(), 1))), ElementsAre("COMPACT"));
  EXPECT_THAT(KindsOf(Must(writer->Commit(prepared))), ElementsAre("APPEND"));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}));
  EXPECT_EQ(LevelsOf(table), "L0 L5");
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
  for (int32_t i = 6; i <= 12; ++i) {
    ASSERT_TRUE(WriteRows(writer.get(), table, {{i, i}}).ok());
    Must(CommitRows(writer.get(), i));
  }
  EXPECT_EQ(ReadByKey(table).size(), 12u);
}

TEST_F(RacingSessions, ADeleteCompactedAwayByALoserIsNotLost) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  {
    const auto setup = Open(table, "setup");
    ASSERT_TRUE(WriteRows(setup.get(), table, {{1, 1}, {2, 2}}).ok());
    Must(CommitRows(setup.get(), 1));
  }
  const auto deleter = Open(table, "deleter"), inserter = Open(table, "inserter");
  ASSERT_TRUE(WriteRows(deleter.get(), table, {{1, 1, 3}}).ok());
  ASSERT_TRUE(deleter->Compact(true).ok());  // the delete is applied and gone
  const PreparedCommit prepared = Must(deleter->PrepareCommit(1, true));
  ASSERT_TRUE(WriteRows(inserter.get(), table, {{1, 111}}).ok());
  Must(CommitRows(inserter.get(), 1));
  Must(deleter->Commit(prepared));
  EXPECT_EQ(ReadByKey(table), (IntRows{{2, 2}}));
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
}

TEST_F(RacingSessions, RowsWrittenBetweenPrepareAndCommitSurviveALostRace) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const auto ours = Open(table, "ours"), other = Open(table, "other");
  ASSERT_TRUE(WriteRows(ours.get(), table, {{1, 1}}).ok());
  const PreparedCommit prepared = Must(ours->PrepareCommit(1, true));
  ASSERT_TRUE(WriteRows(ours.get(), table, {{1, 2}, {5, 5}}).ok());
  ASSERT_TRUE(WriteRows(other.get(), table, {{1, 100}, {2, 100}, {3, 100}}).ok());
  Must(CommitRows(other.get(), 1));
  Must(ours->Commit(prepared));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 100}, {3, 100}}));
  Must(CommitRows(ours.get(), 2));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 2}, {2, 100}, {3, 100}, {5, 5}}));
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
}

TEST_F(RacingSessions, ManyWritersOfTheSameKeysEqualTheirCommitsInOrder) {
  constexpr int kThreads = 8, kCommits = 6;
  auto made =
      MakeTestTable("id INT, v INT", {"id"},
                    {{"bucket", "2"}, {"commit.max-retries", "1000"}, {"commit.max-retry-wait", "4 ms"}});
  Table table = made.table;
  table.clock = std::make_shared<SystemClock>();
  std::map<int64_t, std::vector<Row>> by_snapshot;
  std::mutex mutex;
  const auto write = [&](int t) {
    const auto session = Open(table, "user-" + std::to_string(t));
    Random random(static_cast<uint64_t>(t));
    for (int32_t i = 1; i <= kCommits; ++i) {
      std::vector<Row> rows = {{1000 + t * 100 + i, i}};
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

  ASSERT_EQ(by_snapshot.size(), static_cast<size_t>(kThreads * kCommits));
  const auto ids = Must(ListSnapshotIds(table));
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i].value, static_cast<int64_t>(i + 1));
  IntRows expected;
  for (const auto& [id, rows] : by_snapshot)
    for (const Row& row : rows) {
      expected.erase(row.id);
      if (row.kind == 0) expected[row.id] = row.v;
    }
  EXPECT_EQ(ReadByKey(table), expected);
}

// ---- faults -------------------------------------------------------------------------------------------------------------

TEST_F(RacingSessions, ACommitWhoseOutcomeIsUnknownIsCommittedAgainWithoutDoubling) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  const auto faults = std::make_shared<FaultStore>(made.store);
  const Table table = Reopened(made.table, faults);
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}}).ok());
  const PreparedCommit prepared = Must(session->PrepareCommit(1, true));
  faults->SetPlan({.kind = FaultKind::kPublishDoneAndStop, .at = 0, .counts = {}});
  const Status unknown = session->Commit(prepared).status();
  EXPECT_TRUE(IsKind(unknown, ErrorKind::kCommitUnknown)) << unknown;
  faults->SetPlan({});
  EXPECT_THAT(KindsOf(Must(session->Commit(prepared))), ElementsAre("APPEND"));
  EXPECT_EQ(Must(FindLatestSnapshotId(table)), SnapshotId(1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 2}}).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 2}}));
}

TEST_F(RacingSessions, ASnapshotReplacedByAnotherEngineIsCommittedAnewWithTheNextCommit) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  const Table& table = made.table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}}).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 2}}).ok());
  Must(CommitRows(session.get(), 2));
  Snapshot javas = Must(ReadSnapshot(table, SnapshotId(1)));
  javas.id = SnapshotId(2);
  javas.uuid.reset();
  javas.commit_user = "java";
  ASSERT_TRUE(made.store->Replace(SnapshotPath(table, SnapshotId(2)), SerializeSnapshot(javas)).ok());
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}}));
  ASSERT_TRUE(WriteRows(session.get(), table, {{3, 3}}).ok());
  Must(CommitRows(session.get(), 3));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 2}, {3, 3}}));
}

TEST_F(RacingSessions, AFaultAtAnyOperationLosesNoAcknowledgedRowAndKeepsNoOther) {
  int64_t runs = 0;
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kStop}) {
    bool fired = true;
    // A step of seven visits all kinds of operation and keeps the test short.
    for (int64_t at = 0; fired; at += 7, ++runs) {
      SCOPED_TRACE(std::string(NameOf(kind)) + " at " + std::to_string(at));
      const auto made = MakeTestTable("id INT, v INT", {"id"},
                                      {{"bucket", "1"}, {"num-sorted-run.compaction-trigger", "2"}});
      const auto faults = std::make_shared<FaultStore>(made.store);
      const Table table = Reopened(made.table, faults);
      faults->SetPlan({.kind = kind, .at = at, .counts = {}});
      IntRows before, acknowledged;
      auto opened = WriteSession::Open(
          table, {.commit_user = "u", .budget = &budget_, .compactors = nullptr, .pool = nullptr});
      for (int32_t i = 1; opened.ok() && i <= 4; ++i) {
        before = acknowledged;
        acknowledged[i] = i;
        acknowledged[0] = i;
        if (!WriteRows(opened->get(), table, {{i, i}, {0, i}}).ok() || !CommitRows(opened->get(), i).ok())
          break;
        before = acknowledged;
      }
      opened = Status::Invalid("gone");
      fired = faults->fired();
      const IntRows found = ReadByKey(made.table);
      EXPECT_TRUE(found == before || found == acknowledged) << ::testing::PrintToString(found);
      // A new process goes on.
      const auto again = Open(made.table, "v");
      ASSERT_TRUE(WriteRows(again.get(), made.table, {{0, 77}}).ok());
      Must(CommitRows(again.get(), 1));
      EXPECT_EQ(ReadByKey(made.table)[0], 77);
    }
  }
  EXPECT_GT(runs, 20);
}

}  // namespace
}  // namespace headrace
