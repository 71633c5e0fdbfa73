// Which of a partition's buckets a row belongs to, from the hash or the number of its bucket key; equal to Java's, bit for bit.
//
// Pure. Precondition: total_buckets > 0. Source: DefaultBucketFunction, ModBucketFunction.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace headrace {

// bucket-function.type = default. `hash` is that of the key's BinaryRow.
constexpr BucketId BucketOfHash(int32_t hash, int32_t total_buckets) {
  const int32_t remainder = hash % total_buckets;  // Java's %: the sign follows the hash
  return BucketId(remainder < 0 ? -remainder : remainder);
}

// bucket-function.type = mod, of a key of one INT or BIGINT column.
constexpr BucketId BucketOfNumber(int64_t number, int32_t total_buckets) {
  const int64_t remainder = number % total_buckets;
  return BucketId(static_cast<int32_t>(remainder < 0 ? remainder + total_buckets : remainder));
}

}  // namespace headrace
