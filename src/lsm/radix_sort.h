// Sorting 64-bit words by some of their bits, stably: the fastest order for integer keys packed with their row numbers.
//
// Least significant digit first, 11 bits a pass; passes whose digit is the same in every word are left out. Bits outside
// [low_bit, high_bit) neither count nor change, so equal keys keep the order they came in. Takes a second array of the same size.
#pragma once

#include <cstdint>
#include <vector>

namespace headrace {

void RadixSort(std::vector<uint64_t>* words, int low_bit, int high_bit);

// A key that does not fit one word with its row number.
struct HeadAndRow {
  uint64_t head;
  uint32_t row;
};
// By all bits of the head, stably.
void RadixSort(std::vector<HeadAndRow>* entries);

}  // namespace headrace
