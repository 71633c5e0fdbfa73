// Expiry under faults and in random histories: nothing reachable is ever gone, nothing unreachable is left.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/expiry_story.h"
#include "io/fault_store.h"

namespace headrace::testing {
namespace {

class ExpiryUnderFaults : public Expiring {
 protected:
  // A fault at every operation of an expiry: the snapshots that stay are whole, and the next expiry finishes the work.
  void Sweep(const std::map<std::string, std::string>& options, FaultKind kind) {
    Make(options);
    for (const char* name : {"a", "b", "c"}) Append(name);
    SetTag(table(), "v3", 3);
    CompactInto("d");
    Append("e");
    CompactInto("f");
    for (const char* name : {"g", "h", "i"}) Append(name);
    for (int64_t at = 0;; ++at) {
      SCOPED_TRACE("fault at operation " + std::to_string(at));
      const auto memory = CopyOf(table().store.get());
      const auto faulty = std::make_shared<FaultStore>(memory);
      const Table whole = Reopened(table(), memory);
      const Table broken = Reopened(table(), faulty);
      faulty->SetPlan({.kind = kind, .at = at});
      const Status status = Expire(broken, {.retention = broken.options.retention}).status();
      EXPECT_TRUE(faulty->fired() || status.ok()) << status;
      ExpectKeptSnapshotsWhole(whole);
      while (!Must(Expire(whole, {.retention = whole.options.retention})).empty()) {
      }
      EXPECT_EQ(Must(ListSnapshotIds(whole)).front(), SnapshotId(8));
      ExpectExactlyWhatIsReachable(whole);
      if (HasFailure() || !faulty->fired()) return;
    }
  }

  static void ExpectKeptSnapshotsWhole(const Table& table) {
    for (const int64_t id : {8, 9}) {
      const ReachableFiles files = Must(FindReachable(
          table, {{"kept", Must(ReadSnapshot(table, SnapshotId(id))), true, true}}, ReachDepth::kData));
      for (const std::string& path : files.data)
        EXPECT_TRUE(Must(table.store->Stat(path)).has_value()) << path;
    }
  }
};

TEST_F(ExpiryUnderFaults, WhatStaysIsWholeAndTheNextOneFinishes) { Sweep(kKeepTwo, FaultKind::kFail); }
TEST_F(ExpiryUnderFaults, SoItIsAfterACrash) { Sweep(kKeepTwo, FaultKind::kTearAndStop); }
TEST_F(ExpiryUnderFaults, SoItIsWhereChangelogsStay) {
  Sweep(With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "5"}}),
        FaultKind::kTearAndStop);
}
TEST_F(ExpiryUnderFaults, SoItIsWhereNewFilesAreTheChangelog) {
  Sweep(With(kKeepTwo, {{"changelog.num-retained.max", "4"}}), FaultKind::kTearAndStop);
}

// Random commits, compactions, tags and expiries.
class RandomExpiry : public Expiring {
 protected:
  void Play(uint32_t seed, const std::map<std::string, std::string>& options) {
    Make(options);
    std::mt19937 random(seed);
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    std::map<std::string, Paths> rows_of_tag;
    for (int step = 0; step < 80; ++step) {
      const std::string name = "f" + std::to_string(step);
      const auto latest = Must(FindLatestSnapshotId(table()));
      switch (draw(8)) {
        case 0: levels_.empty() ? Append(name) : CompactInto(name); break;
        case 1: CanUpgrade() ? Upgrade(levels_.begin()->first) : Append(name); break;
        case 2:
          if (latest.has_value()) {
            SetTag(table(), name, latest->value);
            rows_of_tag[name] = LivePaths(Must(ReadSnapshot(table(), *latest)));
          }
          break;
        case 3:
          if (latest.has_value()) SetConsumer(table(), "c" + std::to_string(draw(2)), latest->value);
          break;
        case 4: ExpireNow(); break;
        default: Append(name);
      }
      if (step % 10 != 9) continue;
      while (!ExpireNow().snapshots.empty()) {
      }
      ExpectExactlyWhatIsReachable(table());
      for (const NamedTag& tag : Must(ListTags(table())))
        EXPECT_EQ(LivePaths(tag.tag.snapshot), rows_of_tag.at(tag.name)) << tag.name;
      if (HasFailure()) return;
    }
  }

  Paths LivePaths(const Snapshot& snapshot) {
    Paths paths;
    for (const ManifestEntry& entry : Must(LiveFiles(table(), snapshot))) {
      paths.insert(Must(table().PathOf(entry)));
      EXPECT_TRUE(Must(table().store->Stat(Must(table().PathOf(entry)))).has_value());
    }
    return paths;
  }
};

TEST_F(RandomExpiry, LeavesExactlyWhatIsReachable) {
  const std::vector<std::map<std::string, std::string>> shapes = {
      kKeepTwo,
      With(kKeepTwo, {{"changelog-producer", "input"}}),
      With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "6"}}),
      With(kKeepTwo, {{"changelog.num-retained.max", "6"}}),
      With(kKeepTwo,
           {{"manifest.merge-min-count", "3"}, {"manifest.full-compaction-threshold-size", "1 kb"}}),
  };
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    for (size_t shape = 0; shape < shapes.size(); ++shape) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " + std::to_string(shape));
      levels_.clear();
      Play(seed, shapes[shape]);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace headrace::testing
