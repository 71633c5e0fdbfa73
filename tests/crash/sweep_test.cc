// A fault at every operation: the scenario is told with the fault at operation 0, 1, 2 … until it ends without having met one.
#include <cstdlib>
#include <iostream>
#include <set>
#include <utility>

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

constexpr uint64_t kSeed = 20261129;

std::map<std::string, std::string> WithSmallTree(std::map<std::string, std::string> options) {
  options.insert({{"num-sorted-run.compaction-trigger", "2"}, {"manifest.merge-min-count", "3"}});
  return options;
}

// The story that meets every kind of fault; the others meet a few.
Story MainStory() {
  return MakeStory("InputChangelog", kSeed, 4, true,
                   WithSmallTree({{"bucket", "2"}, {"changelog-producer", "input"}}));
}

std::vector<Story> OtherStories() {
  return {
      MakeStory("NoChangelog", kSeed + 1, 4, true, WithSmallTree({{"bucket", "1"}})),
      MakeStory("Partitioned", kSeed + 2, 3, true,
                WithSmallTree({{"bucket", "1"}, {"changelog-producer", "input"}}), "name"),
      MakeStory("Append", kSeed + 3, 4, false,
                {{"bucket", "-1"}, {"manifest.merge-min-count", "3"}, {"compaction.min.file-num", "2"}}),
  };
}

using Wanted = bool (*)(StoreOperation operation, const std::string& path);

// Which operations a sweep meets. Of the many writes to one file, or reads, the first stands for all, and of the wanted ones each `stride`th
// is taken, unless HEADRACE_CRASH_ALL is set.
class Choice {
 public:
  Choice(Wanted wanted, int stride) : wanted_(wanted), stride_(all_ ? 1 : stride) {}

  bool operator()(StoreOperation operation, const std::string& path) {
    if (!wanted_(operation, path)) return false;
    const bool many = operation == StoreOperation::kWrite || operation == StoreOperation::kRead;
    if (many && !all_ && !met_.emplace(operation, path).second) return false;
    return seen_++ % stride_ == 0;
  }

 private:
  Wanted wanted_;
  bool all_ = std::getenv("HEADRACE_CRASH_ALL") != nullptr;
  int stride_;
  int seen_ = 0;
  std::set<std::pair<StoreOperation, std::string>> met_;
};

bool Any(StoreOperation, const std::string&) { return true; }
bool ChangesTheStore(StoreOperation operation, const std::string&) { return Changes(operation); }
bool Tears(StoreOperation operation, const std::string&) {
  return operation == StoreOperation::kWrite || operation == StoreOperation::kClose;
}
bool IsOfACommit(StoreOperation, const std::string& path) {
  return path.find("/manifest") != std::string::npos || path.find("/snapshot") != std::string::npos;
}
bool IsOfRows(StoreOperation, const std::string& path) { return path.find("/bucket-") != std::string::npos; }

class Sweep : public testing::TestWithParam<Story> {
 protected:
  const Story& story() const { return GetParam(); }

  // Tells the story with the fault at each operation in turn. After each: the table is sound; a second life without faults finishes the
  // story; it is sound again and complete.
  void Run(FaultKind kind, OnFailure on_failure, Wanted wanted = Any, int stride = 1) {
    std::cout << story().name << ", seed " << kSeed << ", fault: " << NameOf(kind) << std::endl;
    int64_t at = 0;
    for (;; ++at) {
      const auto below = std::make_shared<MemoryStore>();
      const auto store = std::make_shared<FaultStore>(
          below, FaultPlan{.kind = kind, .at = at, .counts = Choice(wanted, stride)});
      const Progress first = Tell(store, story(), on_failure);
      if (!store->fired()) {
        ASSERT_TRUE(first.error.ok()) << first.error.ToString();
        break;
      }
      const std::string where = "fault at " + std::to_string(at) + " (" + Culprit(*store) +
                                "); the first life ended with " + first.error.ToString();
      ASSERT_TRUE(first.error.ok() || !commits_recover_ || !first.created) << where;
      const Finding found = Witness(below, story(), first);
      ASSERT_THAT(found.faults, IsEmpty()) << where;

      const Progress second = Tell(below, story(), OnFailure::kEnd);
      ASSERT_TRUE(second.error.ok()) << where << "; the second with " << second.error.ToString();
      const Finding end = Witness(below, story(), second, &found);
      ASSERT_THAT(end.faults, IsEmpty()) << where << "; after the second life";
      ASSERT_EQ(end.steps.at(kTeller), story().last_step()) << where;
    }
    std::cout << "  " << at << " operations" << std::endl;
    EXPECT_GE(at, least_operations_) << "the story did not do what it should";
  }

  // The first operation that was not done.
  static std::string Culprit(const FaultStore& store) {
    for (const LoggedOperation& operation : store.log()) {
      if (!operation.done) return std::string(NameOf(operation.operation)) + " " + operation.path;
    }
    return "none failed";
  }

  int64_t least_operations_ = 6;
  bool commits_recover_ = false;  // a commit that meets this fault finds out what happened, and succeeds
};

class ThoroughSweep : public Sweep {};

std::string NameOfStory(const testing::TestParamInfo<Story>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Main, Sweep, testing::Values(MainStory()), NameOfStory);
INSTANTIATE_TEST_SUITE_P(Other, Sweep, testing::ValuesIn(OtherStories()), NameOfStory);
INSTANTIATE_TEST_SUITE_P(Main, ThoroughSweep, testing::Values(MainStory()), NameOfStory);

TEST_P(Sweep, IsSoundWhenNothingFails) {
  const auto store = std::make_shared<MemoryStore>();
  const Progress progress = Tell(store, story(), OnFailure::kEnd);
  ASSERT_TRUE(progress.error.ok()) << progress.error.ToString();
  const Finding finding = Witness(store, story(), progress);
  EXPECT_THAT(finding.faults, IsEmpty());
  EXPECT_EQ(finding.steps.at(kTeller), story().last_step());
  EXPECT_GT(finding.snapshots, story().last_step()) << "compactions made snapshots of their own";
}

// A stop before a read is the same as one before the next change, so only changes are counted.
TEST_P(Sweep, SurvivesAStopBeforeAnyChange) { Run(FaultKind::kStop, OnFailure::kEnd, ChangesTheStore, 5); }

TEST_P(ThoroughSweep, SurvivesAStopInTheMiddleOfAnyWrite) {
  Run(FaultKind::kTearAndStop, OnFailure::kEnd, Tears, 4);
}

TEST_P(Sweep, SurvivesAFailureOfAnyReadOrWriteOfRows) { Run(FaultKind::kFail, OnFailure::kEnd, IsOfRows, 4); }

TEST_P(ThoroughSweep, SurvivesAFailureOfAnyOperation) { Run(FaultKind::kFail, OnFailure::kEnd, Any, 9); }

TEST_P(ThoroughSweep, SurvivesAFailureInACommitThatItRetries) {
  Run(FaultKind::kFail, OnFailure::kRetry, IsOfACommit, 9);
}

TEST_P(ThoroughSweep, SurvivesAFullDisk) { Run(FaultKind::kDiskFull, OnFailure::kEnd, Any, 11); }

TEST_P(ThoroughSweep, SurvivesAPublishThatIsDoneButNotAnswered) {
  least_operations_ = 6;
  commits_recover_ = true;
  Run(FaultKind::kPublishUnknown, OnFailure::kEnd);
  Run(FaultKind::kPublishUnknown, OnFailure::kRetry);
}

TEST_P(ThoroughSweep, SurvivesAPublishThatIsNeitherDoneNorAnswered) {
  least_operations_ = 6;
  commits_recover_ = true;
  Run(FaultKind::kPublishUnknownLost, OnFailure::kEnd);
  Run(FaultKind::kPublishUnknownLost, OnFailure::kRetry);
}

TEST_P(ThoroughSweep, SurvivesAPublishThatHappensLate) {
  least_operations_ = 6;
  commits_recover_ = true;
  Run(FaultKind::kPublishLate, OnFailure::kEnd);
  Run(FaultKind::kPublishLate, OnFailure::kRetry);
}

TEST_P(ThoroughSweep, SurvivesAStopRightAfterAPublish) {
  least_operations_ = 6;
  Run(FaultKind::kPublishDoneAndStop, OnFailure::kEnd);
}

TEST_P(Sweep, ReadsTheRightRowsOrSaysThatItCannot) {
  const auto below = std::make_shared<MemoryStore>();
  ASSERT_TRUE(Tell(below, story(), OnFailure::kEnd).error.ok());
  const Model model = ModelOf(story());

  int64_t refused = 0;
  for (int64_t at = 0;; ++at) {
    const auto store = std::make_shared<FaultStore>(below, FaultPlan{.kind = FaultKind::kFail, .at = at});
    const auto state = ReadState(store);
    if (state.ok()) {
      ASSERT_EQ(*state, model.Rows()) << "fault at " << at << " (" << Culprit(*store) << ")";
    } else {
      ASSERT_TRUE(IsKind(state.status(), ErrorKind::kIo)) << at << ": " << state.status().ToString();
      ++refused;
    }
    if (!store->fired()) break;
  }
  for (int64_t at = 0;; ++at) {
    const auto store = std::make_shared<FaultStore>(below, FaultPlan{.kind = FaultKind::kFail, .at = at});
    const auto found = ReadChanges(store);
    if (found.ok()) {
      ASSERT_EQ(*found, model.changes()) << "fault at " << at << " (" << Culprit(*store) << ")";
    }
    if (!store->fired()) break;
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace headrace::crash
