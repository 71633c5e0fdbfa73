#include "commit/expiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/expiry_story.h"
#include "io/fault_store.h"
#include "io/store_path.h"

namespace headrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Expiring, EndsSnapshotsAndDeletesWhatOnlyTheyNeeded) {
  Make(kKeepTwo);
  Append("a");
  Append("b");
  CompactInto("c");
  Append("d");
  EXPECT_TRUE(Has("bucket-0/a"));
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(plan.snapshots, ElementsAre(SnapshotId(1), SnapshotId(2)));
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_FALSE(Has("bucket-0/a") || Has("bucket-0/b"));
  EXPECT_TRUE(Has("bucket-0/c") && Has("bucket-0/d"));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/snapshot/EARLIEST")), "3");
  ExpectExactlyWhatIsReachable(table());
  EXPECT_TRUE(ExpireNow().empty());
}

TEST_F(Expiring, WhereNothingIsDueTheEarliestIsTold) {
  Make({});
  Append("a");
  Append("b");
  EXPECT_TRUE(ExpireNow().empty());
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/snapshot/EARLIEST")), "1");
}

TEST_F(Expiring, AFileMovedToAnotherLevelStays) {
  Make(kKeepTwo);
  Append("a");
  Upgrade("a");
  Append("b");
  Append("c");
  ExpireNow();
  EXPECT_TRUE(Has("bucket-0/a"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ATagKeepsItsRowsAfterItsSnapshotEnded) {
  Make(kKeepTwo);
  Append("a");
  Append("b");
  SetTag(table(), "v1", 2);
  CompactInto("c");
  Append("d");
  CompactInto("e");
  Append("f");
  const ExpiryPlan plan = ExpireNow();
  EXPECT_EQ(plan.files_kept, 2);
  EXPECT_THAT(plan.keepers, ElementsAre("tag v1"));
  EXPECT_TRUE(Has("bucket-0/a") && Has("bucket-0/b"));
  EXPECT_FALSE(Has("bucket-0/c") || Has("bucket-0/d"));
  const Snapshot tagged = Must(ListTags(table())).front().tag.snapshot;
  EXPECT_EQ(Must(LiveFiles(table(), tagged)).size(), 2u);
  ExpectExactlyWhatIsReachable(table());
}

// Java's own expiry does not look at branches; ours does.
TEST_F(Expiring, ABranchKeepsWhatItsSnapshotsAndTagsNeed) {
  Make(kKeepTwo);
  Append("a");
  const std::string first = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(1))));
  Put(table(), "branch/branch-dev/snapshot/snapshot-1", first);
  Put(table(), "branch/branch-dev/tag/tag-start", first);
  CompactInto("b");
  const std::string second = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(2))));
  Put(table(), "branch/branch-late/tag/tag-second", second);
  CompactInto("c");
  CompactInto("d");
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_TRUE(Has("bucket-0/a") && Has("bucket-0/b") && Has("bucket-0/c"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ATagThatCannotBeReadStopsItBeforeAnythingIsDeleted) {
  Make(kKeepTwo);
  for (const char* name : {"a", "b"}) Append(name);
  CompactInto("c");
  Append("d");
  Put(table(), "tag/tag-broken", "{\"version\" : 3, ");
  const Paths before = AllFiles(table().store.get(), table().path);
  const Status status = TryExpire();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tag-broken"));
  EXPECT_EQ(AllFiles(table().store.get(), table().path), before);
}

// It reads well, and as fewer manifests than there are: what it no longer names would be deleted.
TEST_F(Expiring, AManifestListOfATagThatIsShorterThanItWasStopsIt) {
  Make(kKeepTwo);
  Append("a");
  Append("b");
  SetTag(table(), "v1", 2);
  CompactInto("c");
  Append("d");
  const std::string list = Must(ListTags(table())).front().tag.snapshot.base_manifest_list;
  ASSERT_FALSE(Must(ReadManifestList(table(), list)).empty());
  const std::string shorter = Must(EncodeManifestList({}, table().options.manifest_encoding));
  ASSERT_TRUE(table().store->Replace(ManifestPath(table(), list), shorter).ok());
  const Paths before = AllFiles(table().store.get(), table().path);
  const Status status = TryExpire();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr(list));
  EXPECT_EQ(AllFiles(table().store.get(), table().path), before);
}

TEST_F(Expiring, AManifestOfATagThatIsGoneStopsItToo) {
  Make(kKeepTwo);
  Append("a");
  SetTag(table(), "v1", 1);
  CompactInto("b");
  Append("c");
  const Snapshot tagged = Must(ListTags(table())).front().tag.snapshot;
  ASSERT_TRUE(table().store->Delete(ManifestPath(table(), tagged.delta_manifest_list)).ok());
  const Paths before = AllFiles(table().store.get(), table().path);
  const Status status = TryExpire();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tag v1"));
  EXPECT_EQ(AllFiles(table().store.get(), table().path), before);
}

TEST_F(Expiring, AConsumerThatCannotBeReadStopsIt) {
  Make(kKeepTwo);
  for (const char* name : {"a", "b", "c", "d"}) Append(name);
  ASSERT_TRUE(table().store->Replace(ConsumerPath(table(), "x"), "{}").ok());
  EXPECT_TRUE(IsKind(TryExpire(), ErrorKind::kCorruption));
  EXPECT_THAT(Snapshots(), ElementsAre(1, 2, 3, 4));
}

TEST_F(Expiring, AConsumerHoldsWhatItHasNotReadUntilItIsIdle) {
  Make(With(kKeepTwo, {{"consumer.expiration-time", "1 h"}}), std::make_shared<MemoryStore>());
  for (const char* name : {"a", "b", "c", "d"}) Append(name);
  SetConsumer(table(), "x", 2);
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(2, 3, 4));
  EXPECT_EQ(plan.choice.holds.front().consumer, "x");
  // The store's clock is the machine's, the table's is ours: far ahead of it every consumer is idle.
  made_.clock->SetMs(Must(table().store->Stat(ConsumerPath(table(), "x")))->modified_ms + 61 * kMinute);
  EXPECT_EQ(ExpireNow().idle_consumers.size(), 1u);
  EXPECT_FALSE(Has("consumer/consumer-x"));
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
}

// Java does not carry properties on: behind its snapshots the newest of ours must stay, consumer or not.
TEST_F(Expiring, TheNewestSnapshotWithJobsPositionsStays) {
  Make(kKeepTwo);
  Append("a");
  PreparedCommit moved = CommitOf("job", 1, {});
  moved.properties["headrace.position.nightly"] = "{}";
  moved.commit_when_empty = true;
  Must(Commit(table(), moved));
  // As Java would make them.
  for (int64_t id = 3; id <= 5; ++id) {
    Snapshot snapshot = Must(ReadSnapshot(table(), SnapshotId(id - 1)));
    snapshot.id = SnapshotId(id);
    snapshot.properties.clear();
    Put(table(), "snapshot/snapshot-" + std::to_string(id), SerializeSnapshot(snapshot));
  }
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(plan.choice.holds.front().reason, HoldReason::kPosition);
  // A commit of ours carries it on, and the old one may go.
  Append("b");
  EXPECT_EQ(Must(CarriedProperties(table())).count("headrace.position.nightly"), 1u);
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(5, 6));
}

TEST_F(Expiring, AChangelogOutlivesItsSnapshotWithAProducer) {
  Make(With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "5"}}));
  Append("a");
  Append("b");
  CompactInto("c");
  Append("d");
  const std::string first = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(1))));
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_THAT(Changelogs(), ElementsAre(1, 2));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/changelog-1")), first);
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/LATEST")), "2");
  EXPECT_FALSE(Has("bucket-0/a"));
  EXPECT_TRUE(Has("bucket-0/changelog-a"));
  ExpectExactlyWhatIsReachable(table());
  for (const char* name : {"e", "f", "g"}) Append(name);
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(3, 4, 5));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/EARLIEST")), "3");
  EXPECT_FALSE(Has("bucket-0/changelog-a"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, WithoutAProducerTheNewFilesAreTheChangelog) {
  Make(With(kKeepTwo, {{"changelog.num-retained.max", "5"}}));
  Append("a");
  Append("b");
  CompactInto("c");
  CompactInto("d");
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(1, 2));
  CompactInto("e");
  CompactInto("f");
  ExpireNow();
  EXPECT_TRUE(Has("bucket-0/b")) << "changelog 2 reads it";
  EXPECT_FALSE(Has("bucket-0/c") || Has("bucket-0/d")) << "nobody streams what a compaction made";
  ExpectExactlyWhatIsReachable(table());
  for (const char* name : {"g", "h", "i", "j"}) Append(name);
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(6, 7, 8));
  EXPECT_FALSE(Has("bucket-0/a") || Has("bucket-0/b"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, EmptyDirectoriesGoWhereThatIsAskedFor) {
  Make(With(kKeepTwo, {{"snapshot.clean-empty-directories", "true"}}));
  Append("a");
  BucketChange only = ChangeOf(1, {{.name = "z", .first_sequence = 5000, .last_sequence = 5009}});
  Put(table(), "bucket-1/z");
  CommitChange(only);
  BucketChange gone = ChangeOf(1, {});
  gone.change.compact.removed = only.change.append.added;
  CommitChange(gone);
  Append("b");
  Append("c");
  ExpireNow();
  EXPECT_FALSE(Has("bucket-1"));
  EXPECT_TRUE(Has("bucket-0"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ASingleSnapshotCostsItsOwnManifestsAndTwoLists) {
  auto memory = std::make_shared<MemoryStore>();
  Make({{"snapshot.num-retained.min", "5"}, {"snapshot.num-retained.max", "5"}}, memory);
  for (int i = 0; i < 60; ++i) Append("f" + std::to_string(i));
  while (!ExpireNow().snapshots.empty()) {
  }
  Append("last");
  auto counting = std::make_shared<FaultStore>(memory);
  const Table counted = Reopened(table(), counting);
  counting->SetPlan({});
  EXPECT_EQ(Must(Expire(counted, {.retention = counted.options.retention})).snapshots.size(), 1u);
  int64_t manifests = 0;
  for (const LoggedOperation& operation : counting->log())
    if (operation.operation == StoreOperation::kReadAll && NameIn(operation.path).starts_with("manifest-"))
      ++manifests;
  EXPECT_LE(manifests, 8)
      << "two lists of each of two snapshots and one delta, and two lists to see that they belong together";
  EXPECT_LE(counting->counted(), 40);
}

TEST_F(Expiring, SizesThatNoFileCanHaveAddUpToTheLargestNumber) {
  Make(kKeepTwo);
  BucketChange huge = ChangeOf(0, {{.name = "x"}, {.name = "y", .first_sequence = 10, .last_sequence = 19}});
  for (DataFileMeta& file : huge.change.append.added) {
    file.size_bytes = INT64_MAX - 1;
    levels_[file.name] = file;
  }
  CommitChange(huge);
  CompactInto("c");
  Append("d");
  Append("e");
  EXPECT_EQ(ExpireNow().of_snapshots.bytes, INT64_MAX);
}

TEST_F(Expiring, WhatASnapshotAndItsChangelogLeaveBehindTogetherIsToldOnce) {
  for (const char* producer : {"none", "input"}) {
    SCOPED_TRACE(producer);
    levels_.clear();
    Make(With(kKeepTwo, {{"changelog.num-retained.max", "3"}, {"changelog-producer", producer}}));
    for (int i = 0; i < 4; ++i) {
      Append("a" + std::to_string(i));
      CompactInto("c" + std::to_string(i));
    }
    const ExpiryPlan plan = ExpireNow();
    EXPECT_FALSE(plan.of_changelogs.paths.empty());
    Paths told;
    for (const DoomedFiles* files : {&plan.of_snapshots, &plan.of_changelogs})
      for (const std::string& path : files->paths) EXPECT_TRUE(told.insert(path).second) << path;
    ExpectExactlyWhatIsReachable(table());
  }
}

TEST_F(Expiring, OnlyWhatAnotherExpiryMayHaveCausedIsWaitedFor) {
  auto faults = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  Make(kKeepTwo, faults);
  for (const char* name : {"a", "b", "c"}) Append(name);
  const int64_t before = made_.clock->NowMs();
  faults->SetPlan(
      {.kind = FaultKind::kFail, .at = 0, .counts = [](StoreOperation operation, const std::string& path) {
         return operation == StoreOperation::kList && path.ends_with("/tag");
       }});
  EXPECT_TRUE(IsKind(TryExpire(), ErrorKind::kIo));
  EXPECT_EQ(made_.clock->NowMs(), before);
  const std::string list = Must(ReadSnapshot(table(), SnapshotId(2))).delta_manifest_list;
  ASSERT_TRUE(table().store->Replace(ManifestPath(table(), list), "damaged").ok());
  EXPECT_TRUE(IsKind(TryExpire(), ErrorKind::kCorruption));
  EXPECT_GT(made_.clock->NowMs(), before);
}

}  // namespace
}  // namespace headrace::testing
