#include "commit/expiry_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/test_tables.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Must;

// Snapshots earliest … latest, one a minute; snapshot n was made at minute n. It is minute `now`.
struct Case {
  std::string name;
  int64_t earliest = 1, latest = 20;
  Retention retention = {};
  std::vector<Consumer> consumers = {};
  std::optional<int64_t> positions = {};
  std::optional<int64_t> earliest_changelog = {};
  std::optional<int64_t> latest_changelog = {};
  int64_t now = 1000;
  int64_t end = 0;  // the first snapshot that stays
  int64_t changelog_begin = 0, changelog_end = 0;
  HoldReason held_by = HoldReason::kNewest;
};

constexpr int64_t kMinute = 60'000;

std::optional<SnapshotId> IdOf(std::optional<int64_t> id) {
  return id.has_value() ? std::optional<SnapshotId>(*id) : std::nullopt;
}

ExpiryFacts FactsOf(const Case& c) {
  return {.earliest = SnapshotId(c.earliest),
          .latest = SnapshotId(c.latest),
          .earliest_changelog = IdOf(c.earliest_changelog),
          .latest_changelog = IdOf(c.latest_changelog),
          .consumers = c.consumers,
          .holds_positions = IdOf(c.positions),
          .now_ms = c.now * kMinute};
}

TimeOf OneAMinute(const Case& c) {
  return [&c](SnapshotId id) -> Result<std::optional<int64_t>> {
    const int64_t first = c.earliest_changelog.value_or(c.earliest);
    if (id.value < first || id.value > c.latest) return std::nullopt;
    return id.value * kMinute;
  };
}

Consumer At(const std::string& id, int64_t next, int64_t modified = 0) {
  return {id, SnapshotId(next), modified};
}

std::vector<Case> Cases() {
  const Retention usual{};  // 10 at least, an hour, 50 at once
  Retention few = usual;
  few.snapshot_min = 2;
  Retention at_most_five = few;
  at_most_five.snapshot_max = 5;
  Retention one_at_a_time = few;
  one_at_a_time.limit = 1;
  Retention changelogs_longer = few;
  changelogs_longer.changelog_ms = 24 * 60 * kMinute;
  Retention more_changelogs = few;
  more_changelogs.snapshot_max = 2;
  more_changelogs.changelog_min = 5;
  more_changelogs.changelog_max = 5;
  Retention changelogs_alone = changelogs_longer;
  changelogs_alone.consumers_hold_changelogs_only = true;
  Retention only_with_changelogs = few;
  only_with_changelogs.consumers_hold_changelogs_only = true;

  return {
      {.name = "the newest ten stay however old", .retention = usual, .end = 11},
      {.name = "fewer than the least: nothing ends", .latest = 7, .retention = usual, .end = 1},
      {.name = "young ones stay", .retention = few, .now = 65, .end = 4, .held_by = HoldReason::kYoung},
      // At minute 65 what is from minute 5 or later is no older than an hour. Snapshot 4 was the latest until 5 came.
      {.name = "the age is that of the successor",
       .earliest = 4,
       .retention = few,
       .now = 65,
       .end = 4,
       .held_by = HoldReason::kYoung},
      {.name = "a clock set back ends nothing",
       .retention = few,
       .now = -5,
       .end = 1,
       .held_by = HoldReason::kYoung},
      {.name = "too many end however young",
       .retention = at_most_five,
       .now = 20,
       .end = 16,
       .held_by = HoldReason::kYoung},
      {.name = "of those that are not too many the old ones end", .retention = at_most_five, .end = 19},
      {.name = "a consumer holds what it has not read",
       .retention = few,
       .consumers = {At("a", 9), At("b", 4)},
       .end = 4,
       .held_by = HoldReason::kConsumer},
      {.name = "a consumer behind the earliest holds all",
       .earliest = 5,
       .retention = few,
       .consumers = {At("a", 2)},
       .end = 5,
       .held_by = HoldReason::kConsumer},
      {.name = "a consumer ahead of the latest holds nothing",
       .retention = few,
       .consumers = {At("a", 99)},
       .end = 19},
      {.name = "a job's position stays",
       .retention = few,
       .positions = 3,
       .end = 3,
       .held_by = HoldReason::kPosition},
      {.name = "a bounded number ends at once",
       .retention = one_at_a_time,
       .end = 2,
       .held_by = HoldReason::kLimit},
      {.name = "the bound counts from the earliest, too many or not",
       .retention =
           [&] {
             Retention r = at_most_five;
             r.limit = 3;
             return r;
           }(),
       .now = 20,
       .end = 4,
       .held_by = HoldReason::kLimit},
      {.name = "no limit beyond what is there",
       .retention =
           [&] {
             Retention r = few;
             r.limit = 2147483647;
             return r;
           }(),
       .end = 19},
      {.name = "changelogs outlive their snapshots",
       .retention = changelogs_longer,
       .end = 19,
       .changelog_begin = 1,
       .changelog_end = 1},
      {.name = "changelogs end by their own age",
       .earliest = 15,
       .retention = changelogs_longer,
       .earliest_changelog = 5,
       .latest_changelog = 14,
       .now = 24 * 60 + 10,
       .end = 19,
       .changelog_begin = 5,
       .changelog_end = 10},
      {.name = "changelogs end by their own count, counted from the newest snapshot",
       .earliest = 19,
       .retention = more_changelogs,
       .earliest_changelog = 10,
       .latest_changelog = 18,
       .now = 20,
       .end = 19,
       .changelog_begin = 10,
       .changelog_end = 16,
       .held_by = HoldReason::kNewest},
      {.name = "the newest changelog stays",
       .earliest = 20,
       .retention =
           [&] {
             Retention r;
             r.snapshot_min = 1;
             r.changelog_min = 1;
             r.changelog_max = 1;
             r.snapshot_max = 1;
             return r;
           }(),
       .earliest_changelog = 3,
       .latest_changelog = 8,
       .end = 20,
       .changelog_begin = 3,
       .changelog_end = 8},
      {.name = "a consumer of changelogs alone lets snapshots end",
       .retention = changelogs_alone,
       .consumers = {At("a", 4)},
       .now = 24 * 60 + 100,
       .end = 19,
       .changelog_begin = 1,
       .changelog_end = 4},
      {.name = "a consumer of changelogs alone where none outlive their snapshots",
       .retention = only_with_changelogs,
       .consumers = {At("a", 4)},
       .end = 4,
       .held_by = HoldReason::kConsumer},
  };
}

TEST(PickExpired, EndsWhatEachRetentionAsksFor) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const ExpiryChoice choice = Must(PickExpired(FactsOf(c), c.retention, OneAMinute(c)));
    EXPECT_EQ(choice.snapshots.begin.value, c.earliest);
    EXPECT_EQ(choice.snapshots.end.value, c.end);
    if (!choice.changelogs.empty() || c.changelog_end > 0) {
      EXPECT_EQ(choice.changelogs.begin.value, c.changelog_begin);
      EXPECT_EQ(choice.changelogs.end.value, c.changelog_end);
    }
    EXPECT_EQ(static_cast<int>(choice.holds.front().reason), static_cast<int>(c.held_by));
  }
}

TEST(PickExpired, AsksForNoMoreTimesThanItNeeds) {
  Case c{.name = "", .retention = {}, .now = 65, .end = 0};
  std::vector<int64_t> asked;
  const TimeOf times = [&](SnapshotId id) -> Result<std::optional<int64_t>> {
    asked.push_back(id.value);
    return id.value * kMinute;
  };
  EXPECT_EQ(Must(PickExpired(FactsOf(c), c.retention, times)).snapshots.end.value, 4);
  EXPECT_THAT(asked, ElementsAre(2, 3, 4, 5));
}

TEST(PickExpired, PassesOverAGapInTheIds) {
  Case c{.name = "", .retention = {}, .end = 0};
  const TimeOf times = [&](SnapshotId id) -> Result<std::optional<int64_t>> {
    if (id.value == 4) return std::nullopt;
    return id.value * kMinute;
  };
  EXPECT_EQ(Must(PickExpired(FactsOf(c), c.retention, times)).snapshots.end.value, 11);
}

TEST(PickExpired, RefusesALeastAboveTheMost) {
  Case c{.name = "", .end = 0};
  c.retention.snapshot_max = 3;
  const auto choice = PickExpired(FactsOf(c), c.retention, OneAMinute(c));
  ASSERT_TRUE(IsKind(choice.status(), ErrorKind::kInvalid));
  EXPECT_THAT(choice.status().message(), HasSubstr("snapshot.num-retained.min"));
}

TEST(PickExpired, ATimeThatCannotBeReadEndsNothing) {
  Case c{.name = "", .end = 0};
  const TimeOf broken = [](SnapshotId) -> Result<std::optional<int64_t>> { return IoError("no"); };
  EXPECT_TRUE(IsKind(PickExpired(FactsOf(c), c.retention, broken).status(), ErrorKind::kIo));
}

TEST(IsUrgent, WaitsForTenOldOnesOrATenthOfTheirTimeButNotWhereThereAreTooMany) {
  const auto urgent = [](Case c) {
    const ExpiryChoice choice = Must(PickExpired(FactsOf(c), c.retention, OneAMinute(c)));
    EXPECT_FALSE(choice.snapshots.empty());
    return Must(IsUrgent(FactsOf(c), c.retention, choice, OneAMinute(c)));
  };
  Case c;
  c.retention.snapshot_min = 2;
  c.now = 65;  // one to three are older than an hour
  EXPECT_FALSE(urgent(c));
  c.now = 68;  // the second came 66 minutes ago: one to six are older
  EXPECT_FALSE(urgent(c));
  c.now = 69;
  EXPECT_TRUE(urgent(c));
  c.now = 65;
  c.retention.snapshot_max = 19;
  EXPECT_TRUE(urgent(c));
  c.retention.snapshot_max = 20;
  EXPECT_FALSE(urgent(c));
  c.earliest = 1;
  c.retention.snapshot_ms = 1000 * kMinute;  // a tenth is more than all of them
  c.now = 1013;
  EXPECT_TRUE(urgent(c)) << "twelve";
}

TEST(PickIdleConsumers, TakesThoseThatHaveNotMovedButNoJobsOwn) {
  Retention retention;
  const std::vector<Consumer> consumers = {At("idle", 1, 1000), At("busy", 1, 9000),
                                           At("headrace-nightly", 1, 1000)};
  EXPECT_THAT(PickIdleConsumers(consumers, retention, 10000), IsEmpty());
  retention.consumer_ms = 5000;
  const auto idle = PickIdleConsumers(consumers, retention, 10000);
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0].id, "idle");
}

TEST(TagsTouching, TakesTheTagsInTheRangeAndTheOneBefore) {
  std::vector<NamedTag> tags;
  for (const int64_t id : {2, 4, 6, 8}) {
    tags.push_back({std::to_string(id), {}});
    tags.back().tag.snapshot.id = SnapshotId(id);
  }
  const auto names = [&](int64_t begin, int64_t end) {
    std::string joined;
    for (const NamedTag& tag : TagsTouching(tags, {SnapshotId(begin), SnapshotId(end)})) joined += tag.name;
    return joined;
  };
  EXPECT_EQ(names(5, 8), "46");
  EXPECT_EQ(names(4, 6), "4");
  EXPECT_EQ(names(1, 3), "2");
  EXPECT_EQ(names(1, 2), "");
  EXPECT_EQ(names(9, 12), "8");
}

}  // namespace
}  // namespace headrace
