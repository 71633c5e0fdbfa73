#include "write/cross_partition.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "read/scan.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using testing::DrawRows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::ScanById;
using testing::WriteRows;

// The key is "id", the partition is "v": an update of a row moves it.
class CrossPartition : public testing::SessionCase {
 protected:
  static Table Make(std::map<std::string, std::string> options = {}) {
    options.emplace("bucket", "-1");
    return MakeTestTable("id INT, v INT", {"id"}, std::move(options), {"v"}).table;
  }
};

TEST_F(CrossPartition, AKeyThatMovesIsDeletedWhereItWas) {
  const Table table = Make();
  auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10}, {2, 10}, {1, 11}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 11}, {2, 10}}));
  // The next process reads where the keys are.
  session = Open(table, "next");
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 12}, {3, 12}, {1, 10}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 10}, {2, 12}, {3, 12}}));
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 12, 3}, {3, 13, 1}, {3, 13, 2}}).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 10}, {3, 13}}));
}

TEST_F(CrossPartition, OfTwoWritersTheLaterFailsByName) {
  const Table table = Make();
  const auto one = Open(table, "one");
  auto two = Open(table, "two");
  ASSERT_TRUE(WriteRows(one.get(), table, {{1, 1}}).ok());
  ASSERT_TRUE(WriteRows(two.get(), table, {{1, 2}}).ok());
  Must(CommitRows(one.get(), 1));
  const Status failed = CommitRows(two.get(), 1).status();
  EXPECT_TRUE(IsKind(failed, ErrorKind::kCommitConflict)) << failed.message();
  EXPECT_THAT(failed.message(), HasSubstr("one writing job at a time"));
  two = Open(table, "two");
  ASSERT_TRUE(WriteRows(two.get(), table, {{1, 2}}).ok());
  Must(CommitRows(two.get(), 1));
  // The first has not written since: it reads the keys again.
  ASSERT_TRUE(WriteRows(one.get(), table, {{1, 3}, {2, 3}}).ok());
  Must(CommitRows(one.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 3}, {2, 3}}));
}

TEST_F(CrossPartition, ACompactionBesideTheWriterIsNoWriter) {
  const Table table = Make();
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}, {2, 1}}).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 2}}).ok());
  const auto compactor = Open(table, "compactor");
  ASSERT_TRUE(compactor->Compact(true).ok());
  Must(CommitRows(compactor.get(), 1));
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 2}, {2, 1}}));
}

TEST_F(CrossPartition, AnIndexThatDoesNotFitTheBudgetIsToldByName) {
  const Table table = Make();
  MemoryBudget small(3 << 20);
  const auto session = Must(WriteSession::Open(
      table, {.commit_user = "u", .budget = &small, .compactors = nullptr, .pool = nullptr}));
  Status status;
  for (int32_t from = 0; status.ok() && from < 200000; from += 5000) {
    std::vector<Row> rows;
    for (int32_t id = from; id < from + 5000; ++id) rows.push_back({id, 1});
    status = WriteRows(session.get(), table, rows);
  }
  EXPECT_TRUE(IsKind(status, ErrorKind::kOverBudget)) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("give a larger memory budget"));
}

TEST_F(CrossPartition, RandomWritesWithRestartsAreAMap) {
  const uint64_t seed = 99;
  SCOPED_TRACE(seed);
  Random random(seed);
  const Table table =
      Make({{"dynamic-bucket.target-row-num", "7"}, {"num-sorted-run.compaction-trigger", "3"}});
  auto session = Open(table);
  IntRows model;
  for (int32_t commit = 1; commit <= 40; ++commit) {
    if (random.OneIn(4)) session = Open(table);
    const std::vector<Row> rows = DrawRows(
        &random, 25, 100, 5, [&] { return static_cast<int32_t>(random.Below(4)); }, &model);
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), commit));
    ASSERT_EQ(ScanById(table), model) << "commit " << commit;
  }
}

TEST_F(CrossPartition, CannotIgnoreTheDeletesThatMovesAreMadeOf) {
  NewTable table;
  table.fields = Must(ParseColumns("id INT, v INT"));
  table.primary_keys = {"id"};
  table.partition_keys = {"v"};
  table.options = {{"bucket", "-1"}, {"ignore-delete", "true"}};
  const Status refused = MakeTableSchema(table, 1).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("ignore-delete"));
  table.options = {{"bucket", "2"}};
  EXPECT_THAT(MakeTableSchema(table, 1).status().message(), HasSubstr("only 'bucket' = '-1' is possible"));
}

}  // namespace
}  // namespace headrace
