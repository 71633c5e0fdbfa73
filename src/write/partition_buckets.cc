#include "write/partition_buckets.h"

#include <algorithm>

namespace headrace {

uint32_t PartitionBuckets::NumberOf(const BinaryRow& partition) {
  const auto [it, fresh] = numbers_.try_emplace(partition, static_cast<uint32_t>(by_number_.size()));
  if (fresh) {
    by_number_.push_back(&it->first);
    counts_.emplace_back();
  }
  return it->second;
}

void PartitionBuckets::Count(uint32_t partition, BucketId bucket, int64_t keys) {
  Counts& counts = counts_[partition];
  counts.of_bucket[bucket.value] += keys;
  counts.first_with_room = std::min(counts.first_with_room, bucket.value);
}

Result<BucketId> PartitionBuckets::Next(uint32_t partition) {
  Counts& counts = counts_[partition];
  auto& of_bucket = counts.of_bucket;
  for (auto it = of_bucket.lower_bound(counts.first_with_room); it != of_bucket.end(); ++it) {
    counts.first_with_room = it->first;
    if (it->second >= target_rows_) continue;
    ++it->second;
    return BucketId(it->first);
  }
  int32_t& free = counts.lowest_free;
  while (of_bucket.contains(free)) ++free;
  if (free >= kMostDynamicBuckets)
    return Unsupported("all ", kMostDynamicBuckets, " buckets that a partition can have hold ", target_rows_,
                       " keys each; raise the table option dynamic-bucket.target-row-num");
  const BucketId fresh(free);
  Count(partition, fresh, 1);
  return fresh;
}

}  // namespace headrace
