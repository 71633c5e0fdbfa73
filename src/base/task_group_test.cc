#include "base/task_group.h"

#include <atomic>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace headrace {
namespace {

class TaskGroupOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, TaskGroupOf, testing::Values(0, 1, 4));

TEST_P(TaskGroupOf, RunsEveryTaskOnce) {
  std::atomic<int> ran = 0;
  TaskGroup group(GetParam());
  EXPECT_EQ(group.threads(), GetParam());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(group
                    .Submit([&ran] {
                      ++ran;
                      return Status::OK();
                    })
                    .ok());
  }
  EXPECT_TRUE(group.Wait().ok());
  EXPECT_EQ(ran, 1000);
}

TEST_P(TaskGroupOf, TellsTheFailureSubmittedFirstAndTheNumberOfOthers) {
  TaskGroup group(GetParam());
  std::atomic<int> ran = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(group
                    .Submit([i, &ran]() -> Status {
                      if (i == 3) SystemClock().SleepMs(20);  // fails last, was submitted first
                      ++ran;
                      if (i == 3) return Corruption("task three");
                      return i % 5 == 4 ? IoError("task ", i) : Status::OK();
                    })
                    .ok());
  }
  const Status status = group.Wait();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption));
  EXPECT_EQ(status.message(), "task three (and 4 more tasks failed)");
  EXPECT_EQ(ran, 20) << "a failure stops no other task";
  EXPECT_TRUE(group.Wait().ok()) << "told once";
  EXPECT_TRUE(group.Submit([] { return Status::OK(); }).ok());
}

TEST_P(TaskGroupOf, GivesAllErrorsInTheOrderOfSubmission) {
  TaskGroup group(GetParam());
  std::latch ended(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(group
                    .Submit([i, &ended] {
                      ended.count_down();
                      return Invalid(i);
                    })
                    .ok());
  }
  ended.wait();
  std::vector<std::string> messages;
  for (int attempt = 0; attempt < 1000 && messages.size() < 3; ++attempt) {
    for (const Status& status : group.TakeErrors()) messages.push_back(status.message());
    SystemClock().SleepMs(1);
  }
  EXPECT_THAT(messages, testing::UnorderedElementsAre("0", "1", "2"));
  EXPECT_TRUE(group.Wait().ok()) << "told once";
}

TEST_P(TaskGroupOf, HandsResultsOverByFutures) {
  TaskGroup group(GetParam());
  auto good = group.SubmitFor<std::string>([]() -> Result<std::string> { return "done"; });
  auto bad = group.SubmitFor<std::string>([]() -> Result<std::string> { return NotFound("nothing"); });
  EXPECT_EQ(*good.get(), "done");
  EXPECT_TRUE(IsKind(bad.get().status(), ErrorKind::kNotFound));
  EXPECT_TRUE(group.Wait().ok()) << "the future has told it";
}

TEST_P(TaskGroupOf, TakesNothingAfterShutdownButRunsWhatIsQueued) {
  std::atomic<int> ran = 0;
  {
    TaskGroup group(GetParam());
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(group
                      .Submit([&ran] {
                        ++ran;
                        return Status::OK();
                      })
                      .ok());
    }
    group.Shutdown();
    EXPECT_TRUE(IsKind(group.Submit([] { return Status::OK(); }), ErrorKind::kCancelled));
    EXPECT_TRUE(IsKind(group.SubmitFor<int>([]() -> Result<int> { return 1; }).get().status(),
                       ErrorKind::kCancelled));
  }
  EXPECT_EQ(ran, 50);
}

TEST(TaskGroup, RunsTasksAtTheSameTime) {
  TaskGroup group(3);
  std::latch together(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(group
                    .Submit([&together] {
                      together.arrive_and_wait();  // returns only when three run at once
                      return Status::OK();
                    })
                    .ok());
  }
  EXPECT_TRUE(group.Wait().ok());
}

TEST(TaskGroup, WaitsForTheSlowTaskEvenWhenLaterOnesEndFirst) {
  TaskGroup group(2);
  std::atomic<bool> slow_ended = false;
  ASSERT_TRUE(group
                  .Submit([&] {
                    SystemClock().SleepMs(50);
                    slow_ended = true;
                    return Status::OK();
                  })
                  .ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(group.Submit([] { return Status::OK(); }).ok());
  EXPECT_TRUE(group.Wait().ok());
  EXPECT_TRUE(slow_ended);
}

TEST(TaskGroup, MayBeSubmittedToByItsOwnTasks) {
  TaskGroup group(2);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(group
                    .Submit([&]() -> Status {
                      ++ran;
                      return group.Submit([&ran] {
                        ++ran;
                        return Status::OK();
                      });
                    })
                    .ok());
  }
  EXPECT_TRUE(group.Wait().ok());
  EXPECT_TRUE(group.Wait().ok());  // the second round of tasks
  EXPECT_EQ(ran, 20);
}

}  // namespace
}  // namespace headrace
