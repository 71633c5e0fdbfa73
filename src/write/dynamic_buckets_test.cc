#include "write/dynamic_buckets.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "format/hash_index.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::BatchOf;
using testing::CommitRows;
using testing::DrawRows;
using ::testing::HasSubstr;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::ReadByKey;
using testing::Row;
using testing::TestTable;
using testing::WriteRows;

class DynamicBuckets : public testing::SessionCase {
 protected:
  // Hashes in the index of each bucket of the newest snapshot.
  static std::map<int32_t, std::set<int32_t>> Index(const Table& table) {
    std::map<int32_t, std::set<int32_t>> index;
    const auto latest = Must(ReadLatestSnapshot(table));
    if (!latest.has_value() || !latest->index_manifest.has_value()) return index;
    for (const IndexManifestEntry& entry : Must(ReadIndexManifest(table, *latest->index_manifest))) {
      const std::string path = table.path + "/index/" + entry.file_name;
      const auto hashes = Must(DecodeHashIndex(Must(table.store->ReadAll(path)), path));
      EXPECT_EQ(static_cast<int64_t>(hashes.size()), entry.row_count);
      auto& bucket = index[entry.bucket.value];
      EXPECT_TRUE(bucket.empty()) << "bucket " << entry.bucket << " has two index files";
      bucket.insert(hashes.begin(), hashes.end());
    }
    return index;
  }

  static std::map<int32_t, int> Sizes(const Table& table) {
    std::map<int32_t, int> sizes;
    for (const auto& [bucket, hashes] : Index(table)) sizes[bucket] = static_cast<int>(hashes.size());
    return sizes;
  }

  static std::vector<Row> Rows(int32_t from, int32_t to, int32_t v) {
    std::vector<Row> rows;
    for (int32_t id = from; id < to; ++id) rows.push_back({id, v});
    return rows;
  }
};

TEST_F(DynamicBuckets, AreFilledOneAfterTheOtherAndIndexed) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}, {"dynamic-bucket.target-row-num", "5"}})
          .table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, Rows(0, 12, 1)).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(Sizes(table), (std::map<int32_t, int>{{0, 5}, {1, 5}, {2, 2}}));
  // Known keys change nothing in the index.
  const auto before = *Must(ReadLatestSnapshot(table));
  ASSERT_TRUE(WriteRows(session.get(), table, Rows(3, 9, 2)).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(Must(ReadLatestSnapshot(table))->index_manifest, before.index_manifest);
  for (const ManifestEntry& entry : Must(LiveFiles(table, before))) EXPECT_EQ(entry.total_buckets, -1);
  IntRows expected;
  for (int32_t id = 0; id < 12; ++id) expected[id] = id >= 3 && id < 9 ? 2 : 1;
  EXPECT_EQ(ReadByKey(table), expected);
}

TEST_F(DynamicBuckets, AnotherProcessFindsTheBucketsOfTheKeys) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}, {"dynamic-bucket.target-row-num", "5"}})
          .table;
  for (int32_t run = 0; run < 4; ++run) {
    const auto session = Open(table, "u" + std::to_string(run));
    // Backwards in every other run: without the index keys would go elsewhere.
    std::vector<Row> rows = Rows(0, 8 + run * 3, run);
    if (run % 2 == 1) std::reverse(rows.begin(), rows.end());
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), 1));
  }
  EXPECT_EQ(Sizes(table), (std::map<int32_t, int>{{0, 5}, {1, 5}, {2, 5}, {3, 2}}));
  IntRows expected;
  for (int32_t id = 0; id < 17; ++id) expected[id] = 3;
  EXPECT_EQ(ReadByKey(table), expected);
}

TEST_F(DynamicBuckets, OfOnePartitionKnowNothingOfAnother) {
  const Table table =
      MakeTestTable(
          "id INT, v INT", {"id", "v"},
          {{"bucket", "-1"}, {"dynamic-bucket.target-row-num", "5"}, {"dynamic-bucket.max-buckets", "4"}},
          {"v"})
          .table;
  const auto session = Open(table);
  for (int32_t partition = 1; partition <= 2; ++partition)
    ASSERT_TRUE(WriteRows(session.get(), table, Rows(0, 20, partition)).ok());
  Must(CommitRows(session.get(), 1));
  std::map<std::pair<BinaryRow, BucketId>, int64_t> counts;
  const auto index_manifest = *Must(ReadLatestSnapshot(table))->index_manifest;
  for (const IndexManifestEntry& entry : Must(ReadIndexManifest(table, index_manifest)))
    counts[{entry.partition, entry.bucket}] = entry.row_count;
  EXPECT_EQ(counts.size(), 8u);
  for (const auto& [place, count] : counts) EXPECT_EQ(count, 5);
}

TEST_F(DynamicBuckets, OfTwoWritersWithNewKeysTheLaterFailsByNameAndLosesNothing) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}}).table;
  const auto one = Open(table, "one");
  auto two = Open(table, "two");
  ASSERT_TRUE(WriteRows(one.get(), table, {{1, 1}, {2, 1}}).ok());
  ASSERT_TRUE(WriteRows(two.get(), table, {{2, 2}, {3, 2}}).ok());
  Must(CommitRows(one.get(), 1));
  const Status failed = CommitRows(two.get(), 1).status();
  EXPECT_TRUE(IsKind(failed, ErrorKind::kCommitConflict)) << failed.message();
  EXPECT_THAT(failed.message(), HasSubstr("dynamic buckets has one writing job at a time"));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 1}}));
  // Opened anew it finds the keys.
  two = Open(table, "two");
  ASSERT_TRUE(WriteRows(two.get(), table, {{2, 2}, {3, 2}}).ok());
  Must(CommitRows(two.get(), 1));
  EXPECT_EQ(ReadByKey(table), (IntRows{{1, 1}, {2, 2}, {3, 2}}));
  EXPECT_EQ(Sizes(table), (std::map<int32_t, int>{{0, 3}}));
}

TEST_F(DynamicBuckets, TakeTurnsBetweenWritersThatDoNotOverlap) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}, {"dynamic-bucket.target-row-num", "3"}})
          .table;
  const auto one = Open(table, "one");
  const auto two = Open(table, "two");
  IntRows expected;
  for (int32_t i = 0; i < 6; ++i) {
    WriteSession* session = i % 2 == 0 ? one.get() : two.get();
    ASSERT_TRUE(WriteRows(session, table, Rows(i, i + 4, i)).ok());
    Must(CommitRows(session, i + 1));
    for (int32_t id = i; id < i + 4; ++id) expected[id] = i;
  }
  EXPECT_EQ(ReadByKey(table), expected);
  EXPECT_EQ(Sizes(table), (std::map<int32_t, int>{{0, 3}, {1, 3}, {2, 3}}));
}

TEST_F(DynamicBuckets, ThatArePreparedAreKnownBeforeTheirCommit) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}, {"dynamic-bucket.target-row-num", "3"}})
          .table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, Rows(0, 5, 1)).ok());
  const PreparedCommit first = Must(session->PrepareCommit(1, true));
  ASSERT_TRUE(WriteRows(session.get(), table, Rows(0, 7, 2)).ok());
  Must(session->Commit(first));
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(Sizes(table), (std::map<int32_t, int>{{0, 3}, {1, 3}, {2, 1}}));
  EXPECT_EQ(ReadByKey(table).size(), 7u);
  EXPECT_EQ(ReadByKey(table)[0], 2);
}

TEST_F(DynamicBuckets, AnIndexThatDoesNotFitTheBudgetIsToldByName) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-1"}}).table;
  MemoryBudget small(2 << 20);
  const auto session = Must(WriteSession::Open(
      table, {.commit_user = "u", .budget = &small, .compactors = nullptr, .pool = nullptr}));
  Status status;
  for (int32_t from = 0; status.ok() && from < 600000; from += 20000)
    status = WriteRows(session.get(), table, Rows(from, from + 20000, 1));
  EXPECT_TRUE(IsKind(status, ErrorKind::kOverBudget)) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("the key index of table"));
}

TEST_F(DynamicBuckets, OfRandomWritesWithRestartsAreAMap) {
  const uint64_t seed = 42;
  SCOPED_TRACE(seed);
  Random random(seed);
  const Table table = MakeTestTable("id INT, v INT", {"id"},
                                    {{"bucket", "-1"},
                                     {"dynamic-bucket.target-row-num", "17"},
                                     {"num-sorted-run.compaction-trigger", "3"}})
                          .table;
  auto session = Open(table);
  IntRows model;
  for (int32_t commit = 1; commit <= 60; ++commit) {
    if (random.OneIn(4)) session = Open(table);
    const std::vector<Row> rows = DrawRows(
        &random, 30, 200, 4, [&] { return commit; }, &model);
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), commit));
    ASSERT_EQ(ReadByKey(table), model) << "commit " << commit;
  }
  std::set<int32_t> all;
  for (const auto& [bucket, hashes] : Index(table)) {
    EXPECT_LE(hashes.size(), 17u);
    for (const int32_t hash : hashes) EXPECT_TRUE(all.insert(hash).second) << "in two buckets";
  }
}

}  // namespace
}  // namespace headrace
