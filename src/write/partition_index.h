// Which bucket of one partition each key hash belongs to, and where a new one goes.
//
// A known hash keeps its bucket for ever. A new one goes to the lowest bucket with room, else to a new bucket under the lowest free number,
// else, where there may be no more buckets, to the smallest one. Distinct keys of one hash share a bucket: what counts is that a key always
// finds the same one. One thread. Source: PartitionIndex, HashBucketAssigner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace headrace {

class PartitionIndex {
 public:
  // A bucket takes new hashes up to `target_rows`; nothing as `most_buckets`: as many buckets as numbers.
  PartitionIndex(int64_t target_rows, std::optional<int32_t> most_buckets)
      : target_rows_(target_rows), most_buckets_(most_buckets) {}

  // What a HASH file says; kCorruption when a hash is in two buckets.
  Status Load(BucketId bucket, std::span<const int32_t> hashes);

  // kUnsupported when every bucket is full and there are no more numbers.
  Result<BucketId> Assign(int32_t hash);
  std::optional<BucketId> Find(int32_t hash) const;

  // All hashes of each of these buckets, in one pass.
  std::map<BucketId, std::vector<int32_t>> HashesOf(std::span<const BucketId> buckets) const;
  int64_t hash_count() const { return count_; }
  int64_t HashesIn(BucketId bucket) const;
  // What the index takes, and what it would take to hold `more` hashes besides.
  int64_t memory_bytes() const { return BytesFor(count_); }
  int64_t BytesWith(int64_t more) const { return BytesFor(count_ + more); }

 private:
  size_t PlaceOf(int32_t hash) const;
  Status Put(int32_t hash, BucketId bucket);
  void Grow();
  Result<BucketId> BucketForNew();
  int64_t BytesFor(int64_t hashes) const;

  const int64_t target_rows_;
  const std::optional<int32_t> most_buckets_;
  // Open addressing, never more than two thirds full; a bucket of -1 is a free place. A hash is its own hash.
  std::vector<int32_t> hashes_;
  std::vector<int16_t> buckets_;
  int64_t count_ = 0;
  std::map<int32_t, int64_t> sizes_;  // hashes of each bucket
  int32_t first_with_room_ = 0;       // all buckets below are full
  int32_t lowest_free_ = 0;           // all numbers below are buckets
};

}  // namespace headrace
