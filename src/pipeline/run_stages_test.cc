// Who waits for whom when stages run together, told by stages that do what the test says.
#include "pipeline/run_stages.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads `sources`, writes `target`.
class ToldStage final : public Stage {
 public:
  ToldStage(const std::string& target, std::vector<std::string> sources, std::function<Result<bool>()> step)
      : step_(std::move(step)) {
    plan_.target = target;
    plan_.job = "job." + target;
    plan_.tables = std::move(sources);
    plan_.branches.emplace_back();
  }
  Result<bool> Step() override {
    ++begun;
    const Result<bool> stepped = step_();
    ++done;
    return stepped;
  }
  Status Close() override {
    ++closed;
    return Status::OK();
  }
  void Interrupt() override { ++interrupted; }
  bool HasTakenIn(const std::string& table, int64_t snapshot) const override {
    return !plan_.Follows(table) || done.load() >= snapshot;
  }
  const StagePlan& plan() const override { return plan_; }
  Result<StageState> State() override {
    StageState state;
    state.target = plan_.target;
    state.target_seen = state.steps = done.load();
    return state;
  }

  std::atomic<int> begun{0}, done{0}, closed{0}, interrupted{0};

 private:
  StagePlan plan_;
  const std::function<Result<bool>()> step_;
};

class RunStagesTest : public ::testing::Test {
 protected:
  ToldStage* Add(
      const std::string& target, std::vector<std::string> sources,
      std::function<Result<bool>()> step = [] { return true; }) {
    auto stage = std::make_unique<ToldStage>(target, std::move(sources), std::move(step));
    ToldStage* const added = stage.get();
    stages_.push_back(std::move(stage));
    return added;
  }
  // Until `is_seen`, then cancelled.
  Status RunUntil(const std::function<bool()>& is_seen) {
    Status status;
    std::thread runner([&] { status = RunStages(&stages_, options_); });
    while (!is_seen()) std::this_thread::yield();
    cancel_ = true;
    runner.join();
    return status;
  }

  std::vector<std::unique_ptr<Stage>> stages_;
  std::atomic<bool> cancel_{false};
  SystemClock clock_;
  RunOptions options_{.every_ms = 5, .clock = &clock_, .cancel = &cancel_, .told = nullptr};
};

TEST_F(RunStagesTest, ASlowOneKeepsOnlyThoseWaitingThatReadWhatItWrites) {
  std::atomic<bool> may_end{false};
  ToldStage* const slow = Add("db.slow", {"db.in"}, [&]() -> Result<bool> {
    while (!may_end) std::this_thread::yield();
    return false;
  });
  ToldStage* const reader = Add("db.reader", {"db.slow"});
  ToldStage* const other = Add("db.other", {"db.in"});
  ToldStage* const late = Add("db.late", {"db.reader"});
  const Status status = RunUntil([&] {
    if (other->done >= 3 && !may_end) {
      EXPECT_EQ(slow->begun, 1);
      EXPECT_EQ(reader->begun, 0);
      EXPECT_EQ(late->begun, 0);
      may_end = true;
    }
    return late->done >= 3;
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  for (const ToldStage* stage : {slow, reader, other, late}) EXPECT_EQ(stage->closed, 1);
}

TEST_F(RunStagesTest, StagesOfOneTargetStepOneAfterTheOther) {
  std::atomic<int> at_once{0}, most{0};
  const auto step = [&]() -> Result<bool> {
    most = std::max(most.load(), ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_once;
    return true;
  };
  ToldStage* const first = Add("db.t", {"db.a"}, step);
  ToldStage* const second = Add("db.t", {"db.b"}, step);
  EXPECT_TRUE(RunUntil([&] { return first->done >= 20 && second->done >= 20; }).ok());
  EXPECT_EQ(most, 1);
}

TEST_F(RunStagesTest, AFailureIsToldTriedAgainAndHoldsUpNobody) {
  std::atomic<int> tries{0};
  std::atomic<ToldStage*> reader{nullptr};
  Add("db.failing", {"db.in"}, [&]() -> Result<bool> {
    ++tries;
    if (reader.load()->done < 3) return IoError("the disk is away");
    return true;
  });
  reader = Add("db.reader", {"db.failing"});
  std::vector<std::string> failures;
  options_.told = [&](const std::vector<StageTold>& told) {
    const std::string failure = told[0].failure.message();
    if (failures.empty() || failures.back() != failure) failures.push_back(failure);
  };
  EXPECT_TRUE(RunUntil([&] { return tries >= 3; }).ok());
  EXPECT_THAT(failures, ::testing::Contains(HasSubstr("the disk is away")));
  EXPECT_EQ(failures.back(), "");
}

TEST_F(RunStagesTest, EndsWhenWhatIsWaitedForHasComeThrough) {
  ToldStage* const first = Add("db.first", {"db.in"});
  ToldStage* const last = Add("db.last", {"db.first"});
  ToldStage* const other = Add("db.other", {"db.elsewhere"}, []() -> Result<bool> { return false; });
  options_.until = {{"db.in", 5}};
  const Status status = RunStages(&stages_, options_);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_GE(first->done, 5);
  EXPECT_GE(last->done, 5);
  EXPECT_EQ(other->closed, 1);
}

TEST_F(RunStagesTest, ACancelledRunInterruptsWhatIsAtWork) {
  std::atomic<ToldStage*> long_one{nullptr};
  long_one = Add("db.long", {"db.in"}, [&]() -> Result<bool> {
    while (long_one.load()->interrupted == 0) std::this_thread::yield();
    return Cancelled("stopped on request");
  });
  EXPECT_TRUE(RunUntil([&] { return long_one.load()->begun > 0; }).ok());
  EXPECT_EQ(long_one.load()->done, 1);
}

TEST_F(RunStagesTest, OnceGoesInRoundsInOrderAndReturnsAFailureAfterTheOthers) {
  std::vector<std::string> order;
  Add("db.a", {"db.in"}, [&]() -> Result<bool> {
    order.push_back("a");
    return order.size() < 5;
  });
  Add("db.b", {"db.a"}, [&]() -> Result<bool> {
    order.push_back("b");
    return IoError("b is broken");
  });
  Add("db.c", {"db.a"}, [&]() -> Result<bool> {
    order.push_back("c");
    return false;
  });
  options_.once = true;
  EXPECT_THAT(RunStages(&stages_, options_).ToString(), HasSubstr("b is broken"));
  EXPECT_THAT(order, ElementsAre("a", "b", "c", "a", "c", "a", "c"));
}

}  // namespace
}  // namespace headrace::pipeline
