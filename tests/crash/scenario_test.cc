// A fault at every operation of every scenario: the state is the one before or the one after, never one between, and another process ends it.
#include "tests/crash/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "io/memory_store.h"

namespace headrace::crash {
namespace {

using testing::IsEmpty;

class ScenarioSweep : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    const auto whole = Prepared();
    before_ = Describe(whole);
    const auto counting = std::make_shared<FaultStore>(whole);
    ASSERT_TRUE(GetParam().act(counting).ok());
    after_ = Describe(whole);
    ASSERT_THAT(FindFaults(whole, GetParam().first_that_stays), IsEmpty());
    if (GetParam().in_steps) CollectSteps();
  }

  std::string Describe(const std::shared_ptr<Store>& store) const {
    const auto text = DescribeWarehouse(store, GetParam().first_that_stays == 1);
    return text.ok() ? *text : "cannot be read: " + text.status().ToString();
  }

  std::shared_ptr<MemoryStore> Prepared() const {
    auto store = std::make_shared<MemoryStore>();
    const Status prepared = GetParam().prepare(store);
    EXPECT_TRUE(prepared.ok()) << prepared;
    return store;
  }

  // The states right after each snapshot of an undisturbed run.
  void CollectSteps() {
    const auto below = Prepared();
    const auto store = std::make_shared<FaultStore>(below);
    store->SetHook([&](StoreOperation operation, const std::string& path) {
      if (operation == StoreOperation::kReplace && path.ends_with("/LATEST"))
        between_.push_back(Describe(below));
    });
    ASSERT_TRUE(GetParam().act(store).ok());
    ASSERT_GT(between_.size(), 1u);
  }

  bool IsLegal(const std::string& state) const {
    return state == before_ || state == after_ ||
           std::find(between_.begin(), between_.end(), state) != between_.end();
  }

  // The fault at each operation that `changes_only` lets through. All of them by HEADRACE_CRASH_ALL, else each `stride`th.
  void Run(FaultKind kind, bool changes_only, int64_t stride) {
    if (std::getenv("HEADRACE_CRASH_ALL") != nullptr) stride = 1;
    int64_t at = 0, runs = 0, refused = 0;  // runs in which the caller was told of a failure
    for (;; at += stride, ++runs) {
      const auto below = Prepared();
      const auto store = std::make_shared<FaultStore>(
          below,
          FaultPlan{.kind = kind, .at = at, .counts = [&](StoreOperation operation, const std::string&) {
                      return !changes_only || Changes(operation);
                    }});
      const Status first = GetParam().act(store);
      if (!store->fired()) {
        EXPECT_TRUE(first.ok()) << first;
        break;
      }
      SCOPED_TRACE(std::string(NameOf(kind)) + " at " + std::to_string(at) + ": " + first.ToString());
      refused += first.ok() ? 0 : 1;
      const std::string state = Describe(below);
      if (first.ok())
        ASSERT_EQ(state, after_) << "it was reported done";
      else
        ASSERT_TRUE(IsLegal(state)) << state << "is neither the state before\n"
                                    << before_ << "nor after\n"
                                    << after_;
      ASSERT_THAT(FindFaults(below, GetParam().first_that_stays), IsEmpty());

      const Status second = GetParam().act(below);
      ASSERT_TRUE(second.ok()) << "the second life: " << second;
      ASSERT_EQ(Describe(below), after_);
      ASSERT_THAT(FindFaults(below, GetParam().first_that_stays), IsEmpty());
    }
    std::cout << GetParam().name << ": " << runs << " operations met " << NameOf(kind) << ", " << refused
              << " times it was told" << std::endl;
  }

  std::string before_, after_;
  std::vector<std::string> between_;
};

INSTANTIATE_TEST_SUITE_P(Each, ScenarioSweep, testing::ValuesIn(AllScenarios()),
                         [](const testing::TestParamInfo<Scenario>& info) { return info.param.name; });

TEST_P(ScenarioSweep, SurvivesAFailureOfAnyOperation) { Run(FaultKind::kFail, false, 7); }
TEST_P(ScenarioSweep, SurvivesAStopBeforeAnyChange) { Run(FaultKind::kStop, true, 5); }
TEST_P(ScenarioSweep, SurvivesAStopInTheMiddleOfAnyWrite) { Run(FaultKind::kTearAndStop, true, 5); }
TEST_P(ScenarioSweep, SurvivesAFullDisk) { Run(FaultKind::kDiskFull, true, 7); }
TEST_P(ScenarioSweep, SurvivesAPublishWithoutAnAnswer) {
  Run(FaultKind::kPublishUnknown, false, 1);
  Run(FaultKind::kPublishUnknownLost, false, 1);
  Run(FaultKind::kPublishLate, false, 1);
  Run(FaultKind::kPublishDoneAndStop, false, 1);
}

}  // namespace
}  // namespace headrace::crash
