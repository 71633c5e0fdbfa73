#include "write/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntRows;
using ::testing::IsEmpty;
using testing::KindsOf;
using testing::LevelsOf;
using testing::MakeTestTable;
using testing::Must;
using testing::ReadAppended;
using testing::ReadByKey;
using testing::Reopened;
using testing::Row;
using testing::UnreferencedFiles;
using testing::WriteRows;

class Sessions : public testing::SessionCase {
 protected:
  using SessionCase::Open;
  std::unique_ptr<WriteSession> Open(const Table& table, const std::string& user, TaskGroup* compactors) {
    SessionOptions options = OptionsOf(user);
    options.compactors = compactors;
    return Must(WriteSession::Open(table, options));
  }
};

TEST_F(Sessions, RowsWrittenAreCommittedAndTheNewestOfAKeyWins) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10}, {2, 20}, {3, 30}, {1, 11}}).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), 1))), ElementsAre("APPEND"));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 11}, {2, 20}, {3, 30}}));
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, std::nullopt, 2}, {3, 30, 3}}).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 11}, {2, std::nullopt}}));
}

TEST_F(Sessions, NothingWrittenMakesNoSnapshot) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  const auto session = Open(table);
  EXPECT_THAT(Must(CommitRows(session.get(), 1)), IsEmpty());
  PreparedCommit moved = Must(session->PrepareCommit(2, true));
  moved.commit_when_empty = true;
  EXPECT_THAT(KindsOf(Must(session->Commit(moved))), ElementsAre("APPEND"));
}

TEST_F(Sessions, SequenceNumbersGoOnAfterARestart) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  for (int32_t run = 0; run < 3; ++run) {
    const auto session = Open(table, "u" + std::to_string(run));
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, run}, {2, run}}).ok());
    Must(CommitRows(session.get(), 1));
    EXPECT_EQ(ReadByKey(table), (IntRows{{1, run}, {2, run}}));
  }
  std::vector<int64_t> firsts;
  for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
    firsts.push_back(entry.file.min_sequence);
  EXPECT_THAT(firsts, ElementsAre(0, 2, 4));
}

TEST_F(Sessions, ABatchThatIsRefusedLeavesNothing) {
  const Table table = MakeTestTable("id INT, v INT NOT NULL", {"id"}, {{"bucket", "2"}}).table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}}).ok());
  EXPECT_TRUE(IsKind(WriteRows(session.get(), table, {{2, 2}, {3, std::nullopt}}), ErrorKind::kInvalid));
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}}));
}

TEST_F(Sessions, FiveRunsAreCompactedInTheSameCommitUnderItsOwnKind) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const auto session = Open(table);
  std::vector<std::string> kinds;
  for (int32_t i = 1; i <= 6; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, i}, {100, i}}).ok());
    for (const Snapshot& snapshot : Must(CommitRows(session.get(), i)))
      kinds.push_back(std::string(NameOf(snapshot.commit_kind)) + std::to_string(snapshot.commit_identifier));
  }
  EXPECT_THAT(kinds,
              ElementsAre("APPEND1", "APPEND2", "APPEND3", "APPEND4", "APPEND5", "COMPACT5", "APPEND6"));
  EXPECT_EQ(LevelsOf(table), "L0 L5");
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {100, 6}}));
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
}

TEST_F(Sessions, CompactionsBesideTheWriterEndInTheSameRows) {
  TaskGroup compactors(2);
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "4"}}).table;
  const auto session = Open(table, "u", &compactors);
  IntRows expected;
  int compactions = 0;
  for (int32_t i = 1; i <= 30; ++i) {
    std::vector<Row> rows;
    for (int32_t k = 0; k < 20; ++k) rows.push_back({(i * 7 + k * 3) % 50, i});
    for (const Row& row : rows) expected[row.id] = row.v;
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    for (const Snapshot& snapshot : Must(CommitRows(session.get(), i, /*wait=*/i % 3 == 0)))
      compactions += snapshot.commit_kind == CommitKind::kCompact;
    EXPECT_EQ(ReadByKey(table), expected);
  }
  EXPECT_GT(compactions, 3);
}

TEST_F(Sessions, AWriteOnlyTableIsNeverCompactedByItsWriterButOnRequest) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"write-only", "true"}}).table;
  const auto session = Open(table);
  for (int32_t i = 1; i <= 12; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, i}}).ok());
    EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), i))), ElementsAre("APPEND"));
  }
  const auto compactor = Open(table, "compactor");
  ASSERT_TRUE(compactor->Compact(true).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(compactor.get(), 1))), ElementsAre("COMPACT"));
  EXPECT_EQ(LevelsOf(table), "L5");
}

TEST_F(Sessions, AFullCompactionTakesBufferedRowsAndAllBuckets) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "3"}}).table;
  const auto session = Open(table);
  std::vector<Row> rows;
  for (int32_t i = 0; i < 30; ++i) rows.push_back({i, i});
  ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, -1}, {2, 2, 3}}).ok());
  ASSERT_TRUE(session->Compact(true).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), 2))), ElementsAre("APPEND", "COMPACT"));
  EXPECT_EQ(LevelsOf(table), "L5 L5 L5");
  EXPECT_EQ(Must(ReadLatestSnapshot(table))->total_record_count, 29);
  EXPECT_EQ(ReadByKey(table).size(), 29u);
  // Again there is nothing to do.
  ASSERT_TRUE(session->Compact(true).ok());
  EXPECT_THAT(Must(CommitRows(session.get(), 3)), IsEmpty());
}

TEST_F(Sessions, FullCompactionsComeEveryNthCommit) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"full-compaction.delta-commits", "3"}}).table;
  const auto session = Open(table);
  for (int32_t i = 1; i <= 6; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, i}}).ok());
    Must(CommitRows(session.get(), i));
    EXPECT_EQ(LevelsOf(table), i % 3 == 0   ? "L5"
                               : i % 3 == 1 ? (i == 1 ? "L0" : "L0 L5")
                                            : (i == 2 ? "L0 L0" : "L0 L0 L5"));
  }
}

TEST_F(Sessions, FullCompactionsReachBucketsThatHaveBeenIdleSince) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "4"}, {"full-compaction.delta-commits", "4"}}).table;
  const auto session = Open(table);
  std::vector<Row> all;
  for (int32_t i = 0; i < 40; ++i) all.push_back({i, i});
  ASSERT_TRUE(WriteRows(session.get(), table, all).ok());
  Must(CommitRows(session.get(), 1));
  for (int32_t i = 2; i <= 4; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{7, i}}).ok());
    Must(CommitRows(session.get(), i));
  }
  EXPECT_EQ(LevelsOf(table), "L5 L5 L5 L5");
}

TEST_F(Sessions, AMissingFileOfTheNewestSnapshotIsCorruption) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  const Table& table = made.table;
  const auto session = Open(table);
  for (int32_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, i}}).ok());
    Must(CommitRows(session.get(), i));
  }
  const auto live = Must(LiveFiles(table, *Must(ReadLatestSnapshot(table))));
  ASSERT_TRUE(made.store->Delete(Must(table.PathOf(live[0]))).ok());
  ASSERT_TRUE(session->Compact(true).ok());
  const Status damaged = session->PrepareCommit(3, true).status();
  EXPECT_TRUE(IsKind(damaged, ErrorKind::kCorruption)) << damaged;
  EXPECT_THAT(damaged.message(), HasSubstr(live[0].file.name));
}

TEST_F(Sessions, PartitionsHaveBucketsOfTheirOwn) {
  const Table table = MakeTestTable("id INT, v INT", {"id", "v"}, {{"bucket", "2"}}, {"v"}).table;
  const auto session = Open(table);
  for (int32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}, {2, 2}, {3, 3}, {4, 1}}).ok());
    Must(CommitRows(session.get(), i));
  }
  std::set<std::string> folders;
  for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
    folders.insert(
        Must(table.BucketDirectory(entry.partition, entry.bucket)).substr(table.path.size() + 1, 4));
  EXPECT_THAT(folders, ElementsAre("v=1/", "v=2/", "v=3/"));
}

TEST_F(Sessions, AppendTablesKeepEveryRowInOrder) {
  const Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "1"}, {"bucket-key", "v"}}).table;
  const auto session = Open(table);
  std::vector<int32_t> expected;
  for (int32_t i = 0; i < 12; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, 1}, {i, 2}}).ok());
    expected.insert(expected.end(), {i, i});
    Must(CommitRows(session.get(), i + 1));
    EXPECT_EQ(ReadAppended(table), expected);
  }
  EXPECT_LT(Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))).size(), 12u);
}

TEST_F(Sessions, AppendTablesWithoutBucketsPutEverythingIntoBucketZero) {
  const Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}}).table;
  const auto session = Open(table);
  for (int32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, 1}, {i + 100, 2}}).ok());
    Must(CommitRows(session.get(), i + 1));
    EXPECT_EQ(ReadAppended(table).size(), static_cast<size_t>(2 * i + 2));
  }
  const auto live = Must(LiveFiles(table, *Must(ReadLatestSnapshot(table))));
  EXPECT_LT(live.size(), 8u);  // small files are packed on the way
  for (const ManifestEntry& entry : live) {
    EXPECT_EQ(entry.bucket, BucketId(0));
    EXPECT_EQ(entry.total_buckets, -1);
  }
}

TEST_F(Sessions, AWriteOnlyAppendTableIsPackedOnRequest) {
  const Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}, {"write-only", "true"}}).table;
  const auto session = Open(table);
  for (int32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(WriteRows(session.get(), table, {{i, 1}}).ok());
    EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), i + 1))), ElementsAre("APPEND"));
  }
  ASSERT_TRUE(session->Compact(true).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), 9))), ElementsAre("COMPACT"));
  EXPECT_EQ(Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))).size(), 1u);
  EXPECT_EQ(ReadAppended(table).size(), 8u);
}

TEST_F(Sessions, APartitionKeepsTheNumberOfBucketsOfItsFiles) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  const auto session = Open(made.table);
  ASSERT_TRUE(WriteRows(session.get(), made.table, {{1, 1}}).ok());
  Must(CommitRows(session.get(), 1));
  TableSchema rescaled = *made.table.schema;
  rescaled.id = SchemaId(1);
  rescaled.options["bucket"] = "4";
  ASSERT_TRUE(made.store->Replace(made.table.path + "/schema/schema-1", SerializeTableSchema(rescaled)).ok());
  const Table table = Reopened(made.table, made.store);
  const Status refused = WriteRows(Open(table).get(), table, {{1, 1}});
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("2 buckets"));
}

TEST_F(Sessions, BuffersStayInsideTheBudgetAndTheLargestFlushesFirst) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  MemoryBudget small(256 << 10);
  IntRows expected;
  {
    const auto session = Must(WriteSession::Open(
        table, {.commit_user = "u", .budget = &small, .compactors = nullptr, .pool = nullptr}));
    for (int32_t i = 0; i < 40; ++i) {
      std::vector<Row> rows;
      for (int32_t k = 0; k < 1000; ++k) rows.push_back({i * 500 + k, i});
      for (const Row& row : rows) expected[row.id] = row.v;
      ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
      EXPECT_LE(small.used(), small.limit());
    }
    Must(CommitRows(session.get(), 1));
    EXPECT_EQ(small.used(), 0);
  }
  EXPECT_GT(small.peak(), 0);
  EXPECT_EQ(ReadByKey(table), expected);
}

TEST_F(Sessions, ACompactionOfNewRunsIsNotLostWhenKeysWereDeletedAndCameBack) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"num-sorted-run.compaction-trigger", "3"}})
          .table;
  const auto session = Open(table);
  std::vector<Row> many;
  for (int32_t k = 0; k < 50'000; ++k) many.push_back({k, k * 7919});
  ASSERT_TRUE(WriteRows(session.get(), table, many).ok());
  ASSERT_TRUE(session->Compact(true).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_EQ(LevelsOf(table), "L3");
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 0, 3}, {2, 0, 3}}).ok());
  Must(CommitRows(session.get(), 2));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10}, {2, 20}}).ok());
  EXPECT_THAT(KindsOf(Must(CommitRows(session.get(), 3))), ElementsAre("APPEND", "COMPACT"));
  EXPECT_EQ(LevelsOf(table), "L2 L3");
  EXPECT_EQ(ReadByKey(table).size(), 50'000u);
  EXPECT_EQ(ReadByKey(table)[1], 10);
}

TEST_F(Sessions, RowsBeyondTheBudgetWaitOnDiskAndACommitStillAddsOneFileABucket) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "4"}, {"write-only", "true"}}).table;
  MemoryBudget small(256 << 10);
  LocalScratch scratch(::testing::TempDir());
  IntRows expected;
  const auto session = Must(WriteSession::Open(
      table,
      {.commit_user = "u", .budget = &small, .compactors = nullptr, .scratch = &scratch, .pool = nullptr}));
  int64_t most_on_disk = 0;
  for (int64_t commit = 1; commit <= 2; ++commit) {
    for (int32_t i = 0; i < 40; ++i) {
      std::vector<Row> rows;
      for (int32_t k = 0; k < 1000; ++k) rows.push_back({i * 500 + k, i});
      for (const Row& row : rows) expected[row.id] = row.v;
      ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
      EXPECT_LE(small.used(), small.limit());
      most_on_disk = std::max(most_on_disk, scratch.bytes_in_use());
    }
    Must(CommitRows(session.get(), commit));
    EXPECT_EQ(scratch.bytes_in_use(), 0);
    EXPECT_EQ(ReadByKey(table), expected);
  }
  EXPECT_GT(most_on_disk, 0);
  EXPECT_EQ(LevelsOf(table), "L0 L0 L0 L0 L0 L0 L0 L0");
}

TEST_F(Sessions, WithoutAPlaceForRowsTheErrorNamesTheFolderAndWhatWasCommittedStays) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  MemoryBudget small(64 << 10);
  LocalScratch scratch("/nowhere/to/be/found");
  const auto session = Must(WriteSession::Open(
      table,
      {.commit_user = "u", .budget = &small, .compactors = nullptr, .scratch = &scratch, .pool = nullptr}));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}}).ok());
  Must(CommitRows(session.get(), 1));
  std::vector<Row> rows;
  for (int32_t k = 0; k < 50'000; ++k) rows.push_back({k, k});
  const Status status = WriteRows(session.get(), table, rows);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), ::testing::HasSubstr("/nowhere/to/be/found"));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}}));
}

TEST_F(Sessions, ABatchLargerThanTheBudgetIsWrittenInPieces) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  MemoryBudget small(64 << 10);
  const auto session = Must(WriteSession::Open(
      table, {.commit_user = "u", .budget = &small, .compactors = nullptr, .pool = nullptr}));
  std::vector<Row> rows;
  for (int32_t k = 0; k < 50'000; ++k) rows.push_back({k, k});
  ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ReadByKey(table).size(), 50'000u);
}

TEST_F(Sessions, WhatWasNotPreparedIsDeletedWithItsSession) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"write-buffer-size", "1 kb"}}).table;
  {
    const auto session = Open(table);
    for (int32_t i = 0; i < 20; ++i)
      ASSERT_TRUE(WriteRows(session.get(), table, std::vector<Row>(100, Row{i, i})).ok());
  }
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
  EXPECT_EQ(Must(FindLatestSnapshotId(table)), std::nullopt);
}

}  // namespace
}  // namespace headrace
