#include "base/memory_budget.h"

#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace {
namespace {

TEST(MemoryBudget, CountsWhatIsReservedAndGivenBack) {
  MemoryBudget budget(100);
  {
    Reservation first = *budget.Reserve(60);
    EXPECT_EQ(budget.used(), 60);
    EXPECT_EQ(budget.available(), 40);
    Reservation second = *budget.Reserve(40);
    EXPECT_EQ(budget.available(), 0);
    first.Shrink(50);
    EXPECT_EQ(first.bytes(), 10);
    EXPECT_EQ(budget.used(), 50);
    ASSERT_TRUE(second.Resize(90).ok());
    ASSERT_TRUE(second.Resize(20).ok());
    EXPECT_EQ(budget.used(), 30);
  }
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(budget.peak(), 100);
  EXPECT_EQ(budget.limit(), 100);
}

TEST(MemoryBudget, RefusesWithFiguresAndChangesNothing) {
  MemoryBudget budget(1000);
  Reservation held = *budget.Reserve(900);
  const Status refused = budget.Reserve(101, "the write buffer of bucket 3").status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kOverBudget));
  EXPECT_THAT(
      refused.message(),
      testing::HasSubstr(
          "the write buffer of bucket 3 needs 101 more bytes of memory, but 900 of the budget's 1000"));
  EXPECT_FALSE(held.Grow(std::numeric_limits<int64_t>::max()).ok());
  EXPECT_EQ(held.bytes(), 900);
  EXPECT_EQ(budget.used(), 900);
  EXPECT_TRUE(IsKind(held.Grow(-1), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(held.Resize(-1), ErrorKind::kInvalid));
  EXPECT_TRUE(held.Grow(100).ok());
}

TEST(MemoryBudget, MovesAReservationWithoutCountingTwice) {
  MemoryBudget budget(100);
  Reservation a = *budget.Reserve(30);
  Reservation b = std::move(a);
  EXPECT_EQ(budget.used(), 30);
  Reservation c = *budget.Reserve(50);
  c = std::move(b);
  EXPECT_EQ(budget.used(), 30);
  EXPECT_EQ(c.bytes(), 30);
  c.Release();
  EXPECT_EQ(budget.used(), 0);
  Reservation nothing;
  EXPECT_FALSE(nothing.Grow(1).ok());
}

TEST(MemoryBudget, MayEndBeforeItsReservations) {
  Reservation late;
  {
    MemoryBudget budget(10);
    late = *budget.Reserve(10);
  }
  late.Release();
  EXPECT_EQ(late.bytes(), 0);
}

TEST(MemoryBudget, NeverGoesOverItsLimitWithManyThreads) {
  MemoryBudget budget(1000);
  std::atomic<int64_t> held = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < 20'000; ++i) {
        Result<Reservation> taken = budget.Reserve(random.Between(0, 600));
        if (!taken.ok()) continue;
        if ((held += taken->bytes()) > 1000) over = true;
        held -= taken->bytes();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_LE(budget.peak(), 1000);
}

}  // namespace
}  // namespace headrace
