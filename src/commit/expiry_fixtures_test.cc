// Tables of Java Paimon whose snapshots it expired, with tags, branches, consumers and long-lived changelogs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/expiry_story.h"
#include "io/local_store.h"

namespace headrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kTables = std::string(HEADRACE_FIXTURES) + "/time-travel/warehouse/peer.db/";

// A copy in memory that can be changed.
Table CopyOfJavas(const std::string& name) {
  LocalStore disk;
  return Must(OpenTableAt(CopyOf(&disk, kTables + name), std::make_shared<SystemClock>(), kTables + name,
                          "peer." + name, Access::kWrite));
}

std::vector<int64_t> Numbers(const std::vector<SnapshotId>& ids) {
  std::vector<int64_t> numbers;
  for (const SnapshotId id : ids) numbers.push_back(id.value);
  return numbers;
}

Paths LivePaths(const Table& table, const Snapshot& snapshot) {
  Paths paths;
  for (const ManifestEntry& entry : Must(LiveFiles(table, snapshot))) paths.insert(Must(table.PathOf(entry)));
  return paths;
}

TEST(ExpiryOfJavasTables, ItReachesExactlyTheFilesThatJavasOwnExpiryLeft) {
  for (const char* name :
       {"expired", "expired_with_changelog", "tag_of_expired", "consumed", "tagged", "analyzed"}) {
    SCOPED_TRACE(name);
    ExpectExactlyWhatIsReachable(CopyOfJavas(name));
  }
}

TEST(ExpiryOfJavasTables, ItFindsNothingDueWhereJavaHasJustExpired) {
  for (const char* name : {"expired", "expired_with_changelog", "tag_of_expired", "consumed"}) {
    SCOPED_TRACE(name);
    const Table table = CopyOfJavas(name);
    const ExpiryPlan plan = Must(PlanExpiry(table, {.retention = table.options.retention}));
    EXPECT_THAT(plan.snapshots, IsEmpty());
    EXPECT_THAT(plan.changelogs, IsEmpty());
  }
}

TEST(ExpiryOfJavasTables, ItGoesOnDownToOneSnapshotAndKeepsWhatTagsAndBranchesNeed) {
  for (const char* name : {"expired", "expired_with_changelog", "tagged", "tag_of_expired", "branched",
                           "fast_forwarded", "rolled_back", "analyzed"}) {
    SCOPED_TRACE(name);
    const Table table = CopyOfJavas(name);
    const Snapshot latest = *Must(ReadLatestSnapshot(table));
    const Paths rows = LivePaths(table, latest);
    const auto tags = Must(ListTags(table));
    std::vector<Paths> rows_of_tags;
    for (const NamedTag& tag : tags) rows_of_tags.push_back(LivePaths(table, tag.tag.snapshot));
    const Paths needed = ReachablePaths(table);
    const Paths unreachable_before = [&] {
      Paths paths;
      for (const std::string& path : ExpirableFiles(table))
        if (!needed.contains(path)) paths.insert(path);
      return paths;
    }();

    Retention one;
    one.snapshot_min = one.snapshot_max = 1;
    one.changelog_min = one.changelog_max = std::nullopt;
    Must(Expire(table, {.retention = one, .old_changelogs = true}));
    EXPECT_THAT(Numbers(Must(ListSnapshotIds(table))), ElementsAre(latest.id.value));
    EXPECT_EQ(LivePaths(table, latest), rows);
    for (size_t i = 0; i < tags.size(); ++i)
      EXPECT_EQ(LivePaths(table, tags[i].tag.snapshot), rows_of_tags[i]);
    const Paths there = ExpirableFiles(table);
    for (const std::string& path : ReachablePaths(table)) EXPECT_TRUE(there.contains(path)) << path;
    for (const std::string& path : there)
      EXPECT_TRUE(ReachablePaths(table).contains(path) || unreachable_before.contains(path)) << path;
  }
}

TEST(ExpiryOfJavasTables, ItHonoursJavasConsumers) {
  const Table table = CopyOfJavas("consumed");
  const auto consumers = Must(ListConsumers(table));
  ASSERT_EQ(consumers.size(), 2u);
  const SnapshotId held = std::min(consumers[0].next, consumers[1].next);
  EXPECT_EQ(*Must(FindEarliestSnapshotId(table)), held);
  for (const Consumer& consumer : consumers)
    ASSERT_TRUE(table.store->Delete(ConsumerPath(table, consumer.id)).ok());
  Must(Expire(table, {.retention = table.options.retention}));
  EXPECT_EQ(Must(ListSnapshotIds(table)).size(), 1u);
  ExpectExactlyWhatIsReachable(table);
}

TEST(ExpiryOfJavasTables, JavasTagsAreRead) {
  const Table table = CopyOfJavas("tagged");
  std::vector<std::string> names;
  for (const NamedTag& tag : Must(ListTags(table))) names.push_back(tag.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("first", "v2.0", "today", "with-ttl"));
}

}  // namespace
}  // namespace headrace::testing
