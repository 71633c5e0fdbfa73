#include "lsm/radix_sort.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headrace {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

inline uint64_t BitsOf(uint64_t word) { return word; }
inline uint64_t BitsOf(const HeadAndRow& entry) { return entry.head; }

template <typename Entry>
void SortByDigits(std::vector<Entry>* entries, int low_bit, int high_bit) {
  std::vector<Entry> other(entries->size());
  for (int shift = low_bit; shift < high_bit; shift += kDigitBits) {
    const uint64_t mask = (uint64_t{1} << std::min(kDigitBits, high_bit - shift)) - 1;
    std::array<size_t, kDigits> next{};
    for (const Entry& entry : *entries) ++next[(BitsOf(entry) >> shift) & mask];
    if (std::find(next.begin(), next.end(), entries->size()) != next.end()) continue;
    size_t begin = 0;
    for (size_t& count : next) begin += std::exchange(count, begin);
    for (const Entry& entry : *entries) other[next[(BitsOf(entry) >> shift) & mask]++] = entry;
    entries->swap(other);
  }
}

}  // namespace

void RadixSort(std::vector<uint64_t>* words, int low_bit, int high_bit) {
  SortByDigits(words, low_bit, high_bit);
}

void RadixSort(std::vector<HeadAndRow>* entries) { SortByDigits(entries, 0, 64); }

}  // namespace headrace
