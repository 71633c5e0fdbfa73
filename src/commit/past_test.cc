// A writer that is held up between its look and its publish, while the snapshots around it end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/expiry_story.h"
#include "commit/place.h"
#include "io/fault_store.h"

namespace headrace::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::map<std::string, std::string> kInput = With(kKeepTwo, {{"changelog-producer", "input"}});

class HeldUp : public Expiring {
 protected:
  // Files "late" and "changelog-late", in a bucket of their own.
  PreparedCommit LateCommit() {
    BucketChange change = ChangeOf(1, {{.name = "late"}});
    if (!Has("bucket-1/late")) Put(table(), "bucket-1/late");
    if (table().options.changelog_producer != ChangelogProducer::kNone) {
      change.change.append.changelog = change.change.append.added;
      change.change.append.changelog[0].name = "changelog-late";
      if (!Has("bucket-1/changelog-late")) Put(table(), "bucket-1/changelog-late");
    }
    return CommitOf("late", 1, {change});
  }

  // Keeps `count` snapshots.
  ExpiryPlan ExpireTo(int64_t count) {
    Retention retention = table().options.retention;
    retention.snapshot_min = retention.snapshot_max = count;
    return Must(Expire(table(), {.retention = retention}));
  }

  // Commits while `before` happens right before the first publish and `after` right after it.
  Result<std::vector<Snapshot>> CommitWhile(const std::function<void()>& before,
                                            const std::function<void()>& after, FaultPlan plan = {}) {
    auto faults = std::make_shared<FaultStore>(made_.store, std::move(plan));
    int step = 0;
    faults->SetHook([&](StoreOperation operation, const std::string& path) {
      const bool publishes =
          operation == StoreOperation::kPublish && path.find("/snapshot/") != std::string::npos;
      if (step == 0 && publishes) {
        step = 1;
        before();
      } else if (step == 1 && !publishes) {
        step = 2;
        after();
      }
    });
    return Commit(Reopened(table(), faults), LateCommit());
  }

  void AppendMany(int count) {
    for (int i = 0; i < count; ++i) Append("f" + std::to_string(sequence_));
  }

  void ExpectWhole() {
    ExpectExactlyWhatIsReachable(table());
    EXPECT_TRUE(Has("bucket-1/late"));
  }
};

TEST_F(HeldUp, AnExpiryDoesNotTakeTheFilesOfASnapshotThatGotIntoThePast) {
  for (const bool changelogs_outlive : {false, true}) {
    for (const int kept : {3, 2}) {
      SCOPED_TRACE((changelogs_outlive ? "changelogs outlive, " : "") + std::to_string(kept) + " kept");
      levels_.clear();
      Make(changelogs_outlive ? With(kInput, {{"changelog.num-retained.max", "50"}}) : kInput);
      AppendMany(4);
      const auto made = CommitWhile(
          [&] {
            AppendMany(4);
            ExpireTo(
                kept);  // 5 has ended, and the late one takes it: right before the earliest, or with a gap after it
          },
          [&] {
            EXPECT_THAT(Snapshots(), Contains(5));
            ASSERT_TRUE(table().store->Delete(table().path + "/snapshot/EARLIEST").ok());
            const ExpiryPlan plan = ExpireTo(kept);
            EXPECT_TRUE(plan.empty());
            EXPECT_THAT(Snapshots(), Contains(5)) << "its writer is to find it";
          });
      EXPECT_TRUE(Has("bucket-1/changelog-late"));
      ASSERT_TRUE(made.ok()) << made.status();
      EXPECT_EQ(made->back().id, SnapshotId(9));
      EXPECT_THAT(Snapshots(), Not(Contains(5)));
      if (changelogs_outlive) {
        EXPECT_EQ(Must(FindChangelog(table(), SnapshotId(5)))->commit_user, "u");
      }
      ExpectWhole();
      AppendMany(5);
      ExpireTo(1);
      EXPECT_EQ(Has("bucket-1/changelog-late"), changelogs_outlive);
      ExpectWhole();
    }
  }
}

TEST_F(HeldUp, TheWriterTakesItsSnapshotOutOfThePastWithItsManifests) {
  for (const int kept : {3, 2}) {
    SCOPED_TRACE(kept);
    levels_.clear();
    Make(kKeepTwo);
    AppendMany(4);
    const auto made = CommitWhile(
        [&] {
          AppendMany(4);
          ExpireTo(kept);
        },
        [] {});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->back().id, SnapshotId(9));
    EXPECT_THAT(Snapshots(), Not(Contains(5)));
    ExpectWhole();
  }
}

TEST_F(HeldUp, ACrashedWritersSnapshotInThePastIsNotTakenForADoneCommit) {
  Make(kKeepTwo);
  AppendMany(4);
  const auto crashed = CommitWhile(
      [&] {
        AppendMany(4);
        ExpireTo(3);
      },
      [] {}, {.kind = FaultKind::kPublishDoneAndStop, .at = 0});
  ASSERT_FALSE(crashed.ok());
  EXPECT_THAT(Snapshots(), ElementsAre(5, 6, 7, 8));
  const auto again = Commit(table(), LateCommit());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->back().id, SnapshotId(9));
  EXPECT_THAT(Snapshots(), ElementsAre(6, 7, 8, 9));
}

TEST_F(HeldUp, WhatACrashedWriterLeftInThePastEndsLaterWithoutItsFiles) {
  Make(kInput);
  AppendMany(4);
  const auto crashed = CommitWhile(
      [&] {
        AppendMany(4);
        ExpireTo(3);
      },
      [] {}, {.kind = FaultKind::kPublishDoneAndStop, .at = 0});
  ASSERT_FALSE(crashed.ok());
  made_.clock->SetMs(Must(table().store->Stat(SnapshotPath(table(), SnapshotId(5))))->modified_ms +
                     11 * kMinute);
  EXPECT_THAT(ExpireTo(2).misplaced, ElementsAre(SnapshotId(5)));
  EXPECT_THAT(Snapshots(), ElementsAre(7, 8));
  EXPECT_TRUE(Has("bucket-1/changelog-late")) << "orphan cleaning takes it";
}

// ---- our own snapshot has expired before we learned that it was made ---------------------------------------------------

const FaultPlan kAnswerLost = {.kind = FaultKind::kPublishUnknown, .at = 0, .counts = {}};

TEST_F(HeldUp, OurExpiredSnapshotIsRecognisedByItsFiles) {
  Make(kKeepTwo);
  AppendMany(2);
  const auto made = CommitWhile([] {},
                                [&] {
                                  AppendMany(4);
                                  ExpireTo(2);
                                },
                                kAnswerLost);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->back().id, SnapshotId(3));
  EXPECT_THAT(Snapshots(), ElementsAre(6, 7));
}

TEST_F(HeldUp, OurExpiredSnapshotIsFoundAmongTheChangelogs) {
  Make(With(kKeepTwo, {{"changelog.num-retained.max", "50"}}));
  AppendMany(2);
  const auto made = CommitWhile([] {},
                                [&] {
                                  levels_["late"] = LateCommit().changes[0].change.append.added[0];
                                  AppendMany(4);
                                  ExpireTo(2);
                                  BucketChange gone = ChangeOf(1, {});
                                  gone.change.compact.removed = {levels_.at("late")};
                                  CommitChange(gone);
                                },
                                kAnswerLost);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->back(), Must(FindChangelog(table(), SnapshotId(3))));
  EXPECT_EQ(Snapshots().back(), 8);
}

TEST_F(HeldUp, OurExpiredSnapshotIsRecognisedByFilesThatACompactionTookAway) {
  Make(kKeepTwo);
  AppendMany(2);
  const auto made = CommitWhile([] {},
                                [&] {
                                  BucketChange gone = ChangeOf(1, {});
                                  gone.change.compact.removed = LateCommit().changes[0].change.append.added;
                                  CommitChange(gone);
                                  AppendMany(4);
                                  ExpireTo(2);
                                },
                                kAnswerLost);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->back().id, SnapshotId(3));
  EXPECT_EQ(Snapshots().back(), 8);
}

TEST_F(HeldUp, WhatCanNoLongerBeKnownIsToldAndNotCommittedTwice) {
  // Merged manifests tell no more of a file that came and went.
  Make(With(kKeepTwo, {{"manifest.merge-min-count", "2"}}));
  AppendMany(2);
  const auto made = CommitWhile([] {},
                                [&] {
                                  BucketChange gone = ChangeOf(1, {});
                                  gone.change.compact.removed = LateCommit().changes[0].change.append.added;
                                  CommitChange(gone);
                                  AppendMany(4);
                                  ExpireTo(2);
                                },
                                kAnswerLost);
  ASSERT_FALSE(made.ok());
  EXPECT_TRUE(IsKind(made.status(), ErrorKind::kCommitUnknown)) << made.status();
  EXPECT_THAT(made.status().message(), HasSubstr("Read the table"));
  EXPECT_EQ(Snapshots().back(), 8);
}

// ---- ids that are not dense ---------------------------------------------------------------------------------------------

TEST_F(HeldUp, AGapOfAnySizeBetweenSnapshotsIsSteppedOver) {
  Make(kKeepTwo);
  AppendMany(3);
  constexpr int64_t kFar = 9'000'000'000'000'000'000;
  Snapshot far = Must(ReadSnapshot(table(), SnapshotId(3)));
  far.properties.clear();
  far.id = SnapshotId(kFar);
  Put(table(), "snapshot/snapshot-" + std::to_string(kFar), SerializeSnapshot(far));
  ASSERT_TRUE(table().store->Delete(table().path + "/snapshot/LATEST").ok());
  made_.clock->Advance(1'000'000 * kMinute);
  Retention all = table().options.retention;
  all.limit = INT32_MAX;
  EXPECT_EQ(Must(PlanExpiry(table(), {.retention = all})).snapshots.size(), 3u);
  all.snapshot_max = INT32_MAX;
  EXPECT_EQ(Must(PlanExpiry(table(), {.retention = all})).snapshots.size(), 3u);
  EXPECT_EQ(Must(PlanExpiry(table(), {.retention = all, .patient = true})).snapshots.size(), 3u);
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(kFar));
}

}  // namespace
}  // namespace headrace::testing
