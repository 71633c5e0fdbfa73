#include "lsm/radix_sort.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headrace {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

}  // namespace

void RadixSort(std::vector<uint64_t>* words, int low_bit, int high_bit) {
  std::vector<uint64_t> other(words->size());
  for (int shift = low_bit; shift < high_bit; shift += kDigitBits) {
    const uint64_t mask = (uint64_t{1} << std::min(kDigitBits, high_bit - shift)) - 1;
    std::array<size_t, kDigits> next{};
    for (const uint64_t word : *words) ++next[(word >> shift) & mask];
    if (std::find(next.begin(), next.end(), words->size()) != next.end()) continue;
    size_t begin = 0;
    for (size_t& count : next) begin += std::exchange(count, begin);
    for (const uint64_t word : *words) other[next[(word >> shift) & mask]++] = word;
    words->swap(other);
  }
}

}  // namespace headrace
