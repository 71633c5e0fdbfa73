#include "maintain/rescale.h"

#include <functional>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read/scan.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using ::testing::HasSubstr;
using testing::IntRows;
using ::testing::IsEmpty;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::UnreferencedFiles;
using testing::WriteRows;

class Rescaling : public testing::SessionCase {
 protected:
  Result<RescaleResult> To(const Table& table, int32_t buckets,
                           std::map<std::string, std::string> partition = {}) {
    return Rescale(table, buckets, partition, OptionsOf("rescaler"));
  }

  static IntRows Read(const Table& table, const Snapshot& snapshot) {
    IntRows rows = testing::ScanById(table, snapshot);
    for (const auto& [id, v] : rows) {
      const auto found = Must(FindByKey(table, snapshot, {Value(id)}, {}));
      EXPECT_NE(found, nullptr) << "key " << id << " is not found";
    }
    return rows;
  }
  static IntRows Read(const Table& table) { return Read(table, *Must(ReadLatestSnapshot(table))); }

  static std::map<int32_t, int> Totals(const Table& table) {
    std::map<int32_t, int> totals;
    for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
      ++totals[entry.total_buckets];
    return totals;
  }

  // Ids 0 to 99, most of them written twice, some deleted.
  IntRows Fill(const Table& table) {
    IntRows expected;
    const auto session = Open(table);
    for (int32_t commit = 1; commit <= 4; ++commit) {
      std::vector<Row> rows;
      for (int32_t id = commit; id < 100; id += commit) {
        const bool deletes = commit == 4 && id % 8 == 0;
        rows.push_back({id, commit, static_cast<int8_t>(deletes ? 3 : 0)});
        if (deletes)
          expected.erase(id);
        else
          expected[id] = commit;
      }
      EXPECT_TRUE(WriteRows(session.get(), table, rows).ok());
      Must(CommitRows(session.get(), commit));
    }
    return expected;
  }
};

TEST_F(Rescaling, ATableHasTheSameRowsInOtherBuckets) {
  for (const char* producer : {"none", "input"}) {
    const auto made =
        MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}, {"changelog-producer", producer}});
    const Table& table = made.table;
    const IntRows expected = Fill(table);
    const Snapshot before = *Must(ReadLatestSnapshot(table));
    const RescaleResult result = Must(To(table, 5));
    ASSERT_EQ(result.snapshots.size(), 1u);
    EXPECT_EQ(result.snapshots[0].commit_kind, CommitKind::kOverwrite);
    EXPECT_EQ(result.rows, static_cast<int64_t>(expected.size()));
    EXPECT_TRUE(result.option_changed);
    const Table after = testing::Reopened(table, made.store);
    EXPECT_EQ(after.options.bucket, 5);
    EXPECT_EQ(Read(after), expected);
    EXPECT_EQ(Read(table, before), expected);  // a reader of the old snapshot goes on
    EXPECT_EQ(Totals(after).size(), 1u);
    EXPECT_EQ(Totals(after)[5], result.files_after);
    EXPECT_THAT(UnreferencedFiles(after), IsEmpty());
    // It goes on as any other.
    const auto session = Open(after, "next");
    ASSERT_TRUE(WriteRows(session.get(), after, {{1, 77}, {500, 5}, {2, 0, 3}}).ok());
    Must(CommitRows(session.get(), 1));
    IntRows more = expected;
    more[1] = 77;
    more[500] = 5;
    more.erase(2);
    EXPECT_EQ(Read(after), more);
    EXPECT_THAT(Must(To(after, 5)).snapshots, IsEmpty());
  }
}

TEST_F(Rescaling, AWriterOfTheOldNumberFailsByNameAndIsToldTheRemedy) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  const IntRows expected = Fill(made.table);
  const auto late = Open(made.table, "late");
  ASSERT_TRUE(WriteRows(late.get(), made.table, {{1, 1}, {2, 2}}).ok());
  Must(To(made.table, 3));
  const Status failed = CommitRows(late.get(), 1).status();
  EXPECT_TRUE(IsKind(failed, ErrorKind::kCommitConflict)) << failed.message();
  const Status refused = WriteRows(Open(made.table, "later").get(), made.table, {{1, 1}});
  EXPECT_THAT(refused.message(), HasSubstr("headrace rescale TABLE --buckets 2"));
  EXPECT_EQ(Read(testing::Reopened(made.table, made.store)), expected);
}

// Commits by another writer while the rescale runs: between reading and publishing.
class WriteBehindTheBack final : public Clock {
 public:
  explicit WriteBehindTheBack(std::function<void()> act) : act_(std::move(act)) {}
  int64_t NowMs() override {
    if (act_) std::exchange(act_, nullptr)();
    return 1'700'000'000'000;
  }
  int64_t LocalNowMs() override { return NowMs(); }
  void SleepMs(int64_t) override {}

 private:
  std::function<void()> act_;
};

TEST_F(Rescaling, RowsThatCameMeanwhileMakeItFailByName) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  IntRows expected = Fill(made.table);
  Table watched = made.table;
  watched.clock = std::make_shared<WriteBehindTheBack>([&] {
    const auto other = Open(made.table, "other");
    ASSERT_TRUE(WriteRows(other.get(), made.table, {{1000, 1}}).ok());
    Must(CommitRows(other.get(), 1));
  });
  const Status failed = To(watched, 3).status();
  EXPECT_TRUE(IsKind(failed, ErrorKind::kCommitConflict)) << failed.message();
  expected[1000] = 1;
  EXPECT_EQ(Read(made.table), expected);
  EXPECT_EQ(Totals(made.table).count(3), 0u);
  EXPECT_EQ(testing::Reopened(made.table, made.store).options.bucket, 2);
}

TEST_F(Rescaling, APartitionAloneIsReadAndFoundByItsOwnNumber) {
  const auto made = MakeTestTable("id INT, v INT", {"id", "v"}, {{"bucket", "2"}}, {"v"});
  const auto session = Open(made.table);
  std::vector<Row> rows;
  for (int32_t id = 0; id < 60; ++id) rows.push_back({id, id % 2});
  ASSERT_TRUE(WriteRows(session.get(), made.table, rows).ok());
  Must(CommitRows(session.get(), 1));
  const RescaleResult result = Must(To(made.table, 4, {{"v", "1"}}));
  EXPECT_EQ(result.partitions, 1);
  EXPECT_EQ(result.rows, 30);
  EXPECT_FALSE(result.option_changed);
  const Snapshot latest = *Must(ReadLatestSnapshot(made.table));
  for (int32_t id = 0; id < 60; ++id)
    EXPECT_NE(Must(FindByKey(made.table, latest, {Value(id), Value(id % 2)}, {})), nullptr) << id;
  // The other partition is written on; this one is refused until the option is its number.
  ASSERT_TRUE(WriteRows(session.get(), made.table, {{100, 0}}).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_THAT(WriteRows(session.get(), made.table, {{101, 1}}).message(), HasSubstr("rescale"));
}

TEST_F(Rescaling, AnAppendTableKeepsItsRows) {
  const auto made = MakeTestTable("id INT, v INT", {}, {{"bucket", "2"}, {"bucket-key", "id"}});
  const auto session = Open(made.table);
  std::vector<Row> rows;
  for (int32_t id = 0; id < 50; ++id) rows.push_back({id, id});
  ASSERT_TRUE(WriteRows(session.get(), made.table, rows).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(Must(To(made.table, 3)).rows, 50);
  EXPECT_EQ(testing::ReadAppended(testing::Reopened(made.table, made.store)).size(), 50u);
}

TEST_F(Rescaling, WhatHasNoNumberOfBucketsIsRefused) {
  for (const char* bucket : {"-1", "-2"}) {
    const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", bucket}});
    EXPECT_TRUE(IsKind(To(made.table, 3).status(), ErrorKind::kUnsupported)) << bucket;
  }
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  EXPECT_THAT(To(made.table, 0).status().message(), HasSubstr("at least 1"));
  EXPECT_THAT(To(made.table, 2, {{"v", "1"}}).status().message(), HasSubstr("'v' is no partition column"));
}

}  // namespace
}  // namespace headrace
