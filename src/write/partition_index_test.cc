#include "write/partition_index.h"

#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace {
namespace {

// Buckets of hashes 0, 1, 2 …, and how many each got.
std::map<int32_t, int> Spread(PartitionIndex* index, int32_t hashes) {
  std::map<int32_t, int> spread;
  for (int32_t hash = 0; hash < hashes; ++hash) ++spread[index->Assign(hash)->value];
  return spread;
}

TEST(PartitionIndex, FillsOneBucketAfterTheOther) {
  PartitionIndex index(5, std::nullopt);
  EXPECT_EQ(index.Assign(100)->value, 0);
  EXPECT_EQ(Spread(&index, 12), (std::map<int32_t, int>{{0, 4}, {1, 5}, {2, 3}}));
  EXPECT_EQ(index.hash_count(), 13);
}

TEST(PartitionIndex, FillsAllBucketsToTheTargetBeforeTheBoundCounts) {
  for (const int partition : {1, 2}) {
    PartitionIndex index(5, 4);
    EXPECT_EQ(Spread(&index, 20), (std::map<int32_t, int>{{0, 5}, {1, 5}, {2, 5}, {3, 5}})) << partition;
    // Past the bound the buckets go on growing alike.
    for (int32_t hash = 20; hash < 28; ++hash) ASSERT_TRUE(index.Assign(hash).ok());
    for (const int32_t bucket : {0, 1, 2, 3}) EXPECT_EQ(index.HashesIn(BucketId(bucket)), 7);
  }
}

TEST(PartitionIndex, KeepsWhatItHasLoaded) {
  PartitionIndex index(3, std::nullopt);
  ASSERT_TRUE(index.Load(BucketId(0), std::vector<int32_t>{1, 2, 3}).ok());
  ASSERT_TRUE(index.Load(BucketId(2), std::vector<int32_t>{-7}).ok());
  EXPECT_EQ(index.Assign(-7)->value, 2);
  EXPECT_EQ(index.Assign(2)->value, 0);
  EXPECT_EQ(index.Assign(8)->value, 2);  // has room
  EXPECT_EQ(index.Assign(9)->value, 2);
  EXPECT_EQ(index.Assign(10)->value, 1);  // the lowest free number
  EXPECT_EQ(index.Find(11), std::nullopt);
}

TEST(PartitionIndex, OfAHashInTwoBucketsIsDamage) {
  PartitionIndex index(3, std::nullopt);
  ASSERT_TRUE(index.Load(BucketId(0), std::vector<int32_t>{1}).ok());
  const Status status = index.Load(BucketId(1), std::vector<int32_t>{5, 1});
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption));
  EXPECT_THAT(status.message(), testing::HasSubstr("the hash 1 is in the index of bucket 0"));
}

TEST(PartitionIndex, EndsWhereThereAreNoMoreNumbers) {
  PartitionIndex index(1, std::nullopt);
  for (int32_t hash = 0; hash < 32767; ++hash) ASSERT_EQ(index.Assign(hash)->value, hash);
  EXPECT_TRUE(IsKind(index.Assign(40000).status(), ErrorKind::kUnsupported));
  EXPECT_EQ(index.Assign(5)->value, 5);
}

TEST(PartitionIndex, IsAMapFromHashesToBuckets) {
  const uint64_t seed = 20261129;
  SCOPED_TRACE(seed);
  Random random(seed);
  PartitionIndex index(700, std::nullopt);
  std::map<int32_t, BucketId> model;
  std::map<BucketId, std::multiset<int32_t>> by_bucket;
  for (int i = 0; i < 20000; ++i) {
    const auto hash = static_cast<int32_t>(random.Below(9000) * 477218589u);
    const BucketId bucket = *index.Assign(hash);
    if (model.try_emplace(hash, bucket).second) by_bucket[bucket].insert(hash);
    ASSERT_EQ(model[hash], bucket);
    EXPECT_LE(index.HashesIn(bucket), 700);
  }
  std::vector<BucketId> buckets;
  for (const auto& [bucket, hashes] : by_bucket) buckets.push_back(bucket);
  const auto all = index.HashesOf(buckets);
  for (const auto& [bucket, hashes] : by_bucket)
    EXPECT_EQ(std::multiset<int32_t>(all.at(bucket).begin(), all.at(bucket).end()), hashes);
  EXPECT_GE(index.memory_bytes(), index.hash_count() * 6);
}

}  // namespace
}  // namespace headrace
