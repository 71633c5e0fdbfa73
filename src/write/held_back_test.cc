// A bucket whose sum overflows is held back from compaction by name; its rows and every other bucket go on.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/test_sessions.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using testing::CommitRows;
using ::testing::HasSubstr;
using testing::MakeTestTable;
using testing::Must;
using testing::WriteRows;

class HeldBack : public testing::SessionCase {
 protected:
  Table TableOf(std::map<std::string, std::string> more) {
    std::map<std::string, std::string> options = {
        {"bucket", "2"}, {"merge-engine", "aggregation"}, {"fields.v.aggregate-function", "sum"}};
    options.insert(more.begin(), more.end());
    return MakeTestTable("id INT, v INT", {"id"}, options).table;
  }

  static constexpr int32_t kMost = 2147483647;
  static auto Overflows() {
    return AllOf(HasSubstr("bucket "),
                 HasSubstr("key (id=1): column 'v': the sum 2147483647 + 5 overflows INT"));
  }
};

// Of each bucket, whether it has files in level 0.
std::map<int32_t, bool> LevelZeroByBucket(const Table& table) {
  std::map<int32_t, bool> has;
  const auto latest = Must(ReadLatestSnapshot(table));
  for (const ManifestEntry& entry : Must(LiveFiles(table, *latest))) {
    bool& level_zero = has[entry.bucket.value];
    level_zero = level_zero || entry.file.level == Level(0);
  }
  return has;
}

TEST_F(HeldBack, ABucketThatOverflowsKeepsItsFilesAndIsNamedWithEveryCommitThatTries) {
  for (const char* producer : {"none", "lookup", "full-compaction"}) {
    SCOPED_TRACE(producer);
    TaskGroup compactors(2);
    const Table table = TableOf({{"changelog-producer", producer}});
    SessionOptions options = OptionsOf("u");
    options.compactors = &compactors;
    const auto session = Must(WriteSession::Open(table, options));
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, kMost}, {2, 1}, {3, 1}, {4, 1}}).ok());
    Must(CommitRows(session.get(), 1));
    EXPECT_TRUE(session->held_back().ok()) << session->held_back();
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, 5}, {2, 1}, {3, 1}, {4, 1}}).ok());
    if (std::string(producer) == "none") {
      ASSERT_TRUE(session->Compact(/*full=*/true).ok());
    }
    EXPECT_EQ(Must(CommitRows(session.get(), 2)).size(), 2u) << "the other bucket's compaction is committed";
    EXPECT_EQ(KindOf(session->held_back()), ErrorKind::kInvalid);
    EXPECT_THAT(session->held_back().message(), Overflows());
    const std::map<int32_t, bool> level_zero = LevelZeroByBucket(table);
    ASSERT_EQ(level_zero.size(), 2u) << "the keys lie in both buckets";
    EXPECT_NE(level_zero.at(0), level_zero.at(1));

    // A commit that has nothing for the bucket tries again where a changelog is owed, and says so.
    Must(CommitRows(session.get(), 3));
    EXPECT_EQ(session->held_back().ok(), std::string(producer) == "none") << session->held_back();
    ASSERT_TRUE(WriteRows(session.get(), table, {{2, 1}, {3, 1}, {4, 1}}).ok());
    EXPECT_FALSE(Must(CommitRows(session.get(), 4)).empty());
  }
}

}  // namespace
}  // namespace headrace
