// A manifest list that was cut off where it reads well must not become the truth by the next commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/io/interfaces.h>

#include "catalog/snapshots.h"
#include "commit/test_changes.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using testing::MakeTestTable;
using testing::Must;

TEST(Commit, IsNotBuiltUponAManifestListThatIsShorterThanItsSnapshotSays) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  Must(Commit(table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  Must(Commit(table,
              CommitOf("u", 2, {ChangeOf(0, {{.name = "b", .first_sequence = 10, .last_sequence = 19}})})));
  const Snapshot latest = *Must(ReadLatestSnapshot(table));
  const std::string shorter = Must(EncodeManifestList({}, table.options.manifest_encoding));
  ASSERT_FALSE(Must(ReadManifestList(table, latest.base_manifest_list)).empty());
  ASSERT_TRUE(table.store->Replace(ManifestPath(table, latest.base_manifest_list), shorter).ok());

  const Status status =
      Commit(table,
             CommitOf("u", 3, {ChangeOf(0, {{.name = "c", .first_sequence = 20, .last_sequence = 29}})}))
          .status();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), ::testing::HasSubstr(latest.base_manifest_list));
  EXPECT_EQ(Must(FindLatestSnapshotId(table)), latest.id);
}

}  // namespace
}  // namespace headrace
