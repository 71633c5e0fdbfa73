// Another writer gets in between: just before the first writer's publish number 0, 1, 2 … it tells its own story to the same table.
//
// Both write the same keys into the same buckets with the same sequence numbers, so whoever commits later must win by being renumbered.
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "io/memory_store.h"
#include "tests/crash/story.h"
#include "tests/crash/teller.h"
#include "tests/crash/witness.h"

namespace headrace::crash {
namespace {

using testing::IsEmpty;

constexpr uint64_t kSeed = 20261130;
constexpr char kRival[] = "rival";
constexpr int kLives = 4;

class Race : public testing::Test {
 protected:
  // `story` is told with `rival` getting in before publish number `at`; false when there is no such publish.
  bool RunOnce(const Story& story, const Story& rival, int64_t at) {
    const auto below = std::make_shared<MemoryStore>();
    const auto store = std::make_shared<FaultStore>(below);
    Progress rivals;
    int64_t publishes = 0;
    store->SetHook([&](StoreOperation operation, const std::string& path) {
      const bool snapshot =
          operation == StoreOperation::kPublish && path.find("/snapshot/snapshot-") != std::string::npos;
      if (snapshot && publishes++ == at) rivals = Tell(below, rival, OnFailure::kEnd, kRival);
    });

    // A conflict is final for what was prepared: the next life of the writer plans anew.
    Progress first = Tell(store, story, OnFailure::kEnd);
    for (int life = 1; !first.error.ok() && life < kLives; ++life) {
      EXPECT_TRUE(IsKind(first.error, ErrorKind::kCommitConflict)) << first.error.ToString();
      Check(below, story, first, rival, rivals, at);
      first = Tell(store, story, OnFailure::kEnd);
    }
    EXPECT_TRUE(first.error.ok()) << "publish " << at << ": " << first.error.ToString();
    if (publishes <= at) return false;
    EXPECT_TRUE(rivals.error.ok()) << "publish " << at << ": " << rivals.error.ToString();
    Check(below, story, first, rival, rivals, at);
    EXPECT_EQ(first.acknowledged, story.last_step());
    EXPECT_EQ(rivals.acknowledged, rival.last_step());
    return true;
  }

  static void Check(const std::shared_ptr<Store>& store, const Story& story, const Progress& first,
                    const Story& rival, const Progress& rivals, int64_t at) {
    const Finding finding = Witness(store, {{kTeller, &story, &first}, {kRival, &rival, &rivals}});
    EXPECT_THAT(finding.faults, IsEmpty()) << "publish " << at;
  }

  void RunAll(const std::map<std::string, std::string>& options, bool has_key) {
    std::cout << "seed " << kSeed << std::endl;
    const Story story = MakeStory("story", kSeed, 5, has_key, options);
    const Story rival = MakeStory("rival", kSeed + 1, 3, has_key, options);
    int64_t at = 0;
    while (RunOnce(story, rival, at) && !HasFailure()) ++at;
    std::cout << "  " << at << " publishes" << std::endl;
    EXPECT_GT(at, story.last_step());
  }
};

TEST_F(Race, LosesNothingWithAChangelog) {
  RunAll({{"bucket", "1"}, {"changelog-producer", "input"}, {"num-sorted-run.compaction-trigger", "2"}},
         true);
}

TEST_F(Race, LosesNothingWithoutAChangelog) {
  RunAll({{"bucket", "1"}, {"num-sorted-run.compaction-trigger", "2"}}, true);
}

TEST_F(Race, LosesNothingInAnAppendTable) {
  RunAll({{"bucket", "-1"}, {"compaction.min.file-num", "2"}}, false);
}

TEST_F(Race, LosesNothingWhenManifestsAreMerged) {
  RunAll({{"bucket", "2"}, {"changelog-producer", "input"}, {"manifest.merge-min-count", "2"}}, true);
}

}  // namespace
}  // namespace headrace::crash
