// The cache keeps within its budget what was used last, and nothing of a dead file's name.
#include "lsm/lookup_cache.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace {
namespace {

using Kind = LookupCache::Kind;

std::shared_ptr<const int> Number(int number) { return std::make_shared<const int>(number); }

TEST(ALookupCache, GivesUpWhatWasUsedLongestAgo) {
  LookupCache cache(1'000'000);
  const auto source = cache.SourceOf("a");
  for (int i = 0; i < 400; ++i) {
    cache.Put(source, Kind::kRows, i, Number(i), 10'000);
    ASSERT_NE(cache.Find<int>(source, Kind::kRows, 0), nullptr) << "used every time, at " << i;
    ASSERT_LE(cache.used_bytes(), cache.budget_bytes());
  }
  EXPECT_EQ(*cache.Find<int>(source, Kind::kRows, 0), 0);
  EXPECT_EQ(cache.Find<int>(source, Kind::kRows, 1), nullptr);
  EXPECT_EQ(cache.Find<int>(source, Kind::kKeys, 0), nullptr) << "another kind";
  EXPECT_EQ(cache.Find<int>(cache.SourceOf("b"), Kind::kRows, 0), nullptr) << "another source";
}

TEST(ALookupCache, DoesNotKeepWhatIsLargerThanItself) {
  LookupCache cache(1000);
  const auto source = cache.SourceOf("a");
  cache.Put(source, Kind::kRows, 0, Number(1), 5000);
  EXPECT_EQ(cache.Find<int>(source, Kind::kRows, 0), nullptr);
  EXPECT_EQ(cache.used_bytes(), 0);
}

TEST(ALookupCache, HasOneSourceForOneNameAsLongAsSomethingIsKept) {
  LookupCache cache(1'000'000);
  auto source = cache.SourceOf("a");
  EXPECT_EQ(cache.SourceOf("a"), source);
  cache.Put(source, Kind::kKeys, 3, Number(7), 8);
  source.reset();
  EXPECT_EQ(*cache.Find<int>(cache.SourceOf("a"), Kind::kKeys, 3), 7);
}

TEST(ALookupCache, ServesManyThreadsAtOnce) {
  LookupCache cache(500'000);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      Random random(t);
      for (int i = 0; i < 5000; ++i) {
        const auto source = cache.SourceOf("file " + std::to_string(random.Below(40)));
        const auto block = static_cast<size_t>(random.Below(50));
        if (const auto found = cache.Find<size_t>(source, Kind::kRows, block)) {
          EXPECT_EQ(*found, block);
        } else {
          cache.Put(source, Kind::kRows, block, std::make_shared<const size_t>(block), 1000);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.used_bytes(), cache.budget_bytes());
}

}  // namespace
}  // namespace headrace
