#include "write/key_index.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace {
namespace {

TEST(KeyIndex, KnowsNothingAtFirstAndTheLastPlaceOfAKey) {
  KeyIndex index;
  EXPECT_EQ(index.Find("a"), std::nullopt);
  index.Put("a", {1, 2});
  index.Put("", {3, 4});
  EXPECT_EQ(index.Find("a"), (KeyIndex::Place{1, 2}));
  index.Put("a", {5, 6});
  EXPECT_EQ(index.Find("a"), (KeyIndex::Place{5, 6}));
  EXPECT_EQ(index.Find(""), (KeyIndex::Place{3, 4}));
  EXPECT_EQ(index.Find("b"), std::nullopt);
  EXPECT_EQ(index.key_count(), 2);
}

TEST(KeyIndex, IsAMapForKeysOfAllLengths) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Random random(seed);
  KeyIndex index;
  std::map<std::string, KeyIndex::Place> model;
  for (int i = 0; i < 30000; ++i) {
    std::string key = std::to_string(random.Below(9000));
    if (random.OneIn(3000)) key.append(random.Below(3 << 20), 'x');
    const KeyIndex::Place place{static_cast<uint32_t>(random.Below(9)),
                                static_cast<int32_t>(random.Below(5))};
    const auto it = model.find(key);
    ASSERT_EQ(index.Find(key).has_value(), it != model.end());
    ASSERT_TRUE(it == model.end() || index.Find(key) == it->second);
    const int64_t at_most = index.BytesWith(1, static_cast<int64_t>(key.size()));
    index.Put(key, place);
    EXPECT_LE(index.memory_bytes(), at_most);
    model[key] = place;
  }
  EXPECT_EQ(index.key_count(), static_cast<int64_t>(model.size()));
  for (const auto& [key, place] : model) ASSERT_EQ(index.Find(key), place);
}

}  // namespace
}  // namespace headrace
