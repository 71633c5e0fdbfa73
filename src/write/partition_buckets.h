// How many keys each bucket of each partition holds, for tables whose keys move between partitions: which bucket the next key gets.
//
// The lowest bucket with room, else a new one under the lowest free number. Plain state, one thread. Source: crosspartition.BucketAssigner.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "format/binary_row.h"

namespace headrace {

// Of one partition whose buckets grow with its keys: their numbers are 0 to one less.
inline constexpr int32_t kMostDynamicBuckets = std::numeric_limits<int16_t>::max();

class PartitionBuckets {
 public:
  explicit PartitionBuckets(int64_t target_rows) : target_rows_(target_rows) {}

  // A number for the partition, the same each time.
  uint32_t NumberOf(const BinaryRow& partition);
  const BinaryRow& partition(uint32_t number) const { return *by_number_[number]; }

  void Count(uint32_t partition, BucketId bucket, int64_t keys);
  // The bucket of one more key, which is counted. kUnsupported when there are no more numbers.
  Result<BucketId> Next(uint32_t partition);

 private:
  int64_t target_rows_;
  std::map<BinaryRow, uint32_t> numbers_;
  std::vector<const BinaryRow*> by_number_;
  struct Counts {
    std::map<int32_t, int64_t> of_bucket;
    int32_t first_with_room = 0;  // all buckets below are full
    int32_t lowest_free = 0;      // all numbers below are buckets
  };
  std::vector<Counts> counts_;
};

}  // namespace headrace
