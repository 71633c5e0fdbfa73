// The portable form of a 32-bit roaring bitmap: sets of 16-bit numbers, each as an array, a bitmap or runs, whichever is smallest.
//
// Written byte for byte as Java's RoaringBitmap does after runOptimize. Whatever is read is checked here in full, before a library that
// trusts its input sees it: lengths, order, counts. Pure functions; any thread.
// Source: RoaringBitmap's format specification; RoaringArray.serialize, Container.runOptimize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace {

// The bytes of the bitmap that `bytes` begins with, all of them valid; kCorruption, not naming a file, otherwise.
Result<size_t> CheckRoaring(std::string_view bytes);

// Writes one bitmap; what it holds meanwhile are its bytes.
class RoaringWriter {
 public:
  // `values` ascend strictly and have their upper half in common, a larger one than those before. Not empty.
  void Add(std::span<const uint32_t> values);
  void AppendTo(std::string* out) const;

 private:
  struct Head {
    uint32_t key = 0;
    uint32_t count = 0;
    bool as_runs = false;
    size_t offset = 0;  // in `bodies_`
  };
  std::vector<Head> heads_;
  std::string bodies_;
};

}  // namespace headrace
