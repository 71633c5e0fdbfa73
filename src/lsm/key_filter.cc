#include "lsm/key_filter.h"

#include <algorithm>
#include <array>

#include <parquet/bloom_filter.h>
#include <xxhash.h>

namespace headrace {
namespace {

constexpr double kPassInVain = 0.01;

uint64_t HashOf(const KeyColumn& keys, int64_t row) {
  if (keys.is_integer()) {
    const int64_t number = keys.integer(row);
    return XXH3_64bits(&number, sizeof(number));
  }
  const std::string_view bytes = keys.bytes(row);
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

KeyFilter::KeyFilter(int64_t keys) : bits_(std::make_unique<parquet::BlockSplitBloomFilter>()) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(keys, 1));
  bits_->Init(parquet::BlockSplitBloomFilter::OptimalNumOfBytes(count, kPassInVain));
}

KeyFilter::~KeyFilter() = default;

void KeyFilter::Add(const KeyColumn& keys) {
  std::array<uint64_t, 256> hashes;
  for (int64_t row = 0; row < keys.size();) {
    int count = 0;
    while (row < keys.size() && count < static_cast<int>(hashes.size()))
      hashes[static_cast<size_t>(count++)] = HashOf(keys, row++);
    bits_->InsertHashes(hashes.data(), count);
  }
}

bool KeyFilter::MayHold(const KeyColumn& keys, int64_t index) const {
  return bits_->FindHash(HashOf(keys, index));
}

int64_t KeyFilter::memory_bytes() const { return bits_->GetBitsetSize(); }

}  // namespace headrace
