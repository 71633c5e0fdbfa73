// Keys that a data file surely does not have: a Bloom filter over all of its keys.
//
// Of the keys that are not in the file one in a hundred passes; those that are there all do. About 10 to 20 bits a key. Filled by one thread; from then
// on immutable, any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "lsm/key_order.h"

namespace parquet {
class BlockSplitBloomFilter;
}

namespace headrace {

class KeyFilter {
 public:
  // For about so many keys.
  explicit KeyFilter(int64_t keys);
  ~KeyFilter();

  void Add(const KeyColumn& keys);

  // The columns are of one KeyOrder.
  bool MayHold(const KeyColumn& keys, int64_t index) const;
  int64_t memory_bytes() const;

 private:
  std::unique_ptr<parquet::BlockSplitBloomFilter> bits_;
};

}  // namespace headrace
