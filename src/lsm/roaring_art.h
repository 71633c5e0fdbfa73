// A set of 64-bit numbers in the bytes of Java's Roaring64Bitmap: a radix tree over the upper 48 bits, and a container for each.
//
// Not the portable 64-bit form that CRoaring has: the tree comes first (node by node, leaves naming a container), then an array of
// containers, which may have free places. Places are kept and given as Java does, so that a union has Java's bytes. Every length is checked. Source: HighLowContainer, Art, Containers of RoaringBitmap.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct roaring_bitmap_s;

namespace headrace {

struct FreeRoaring {
  void operator()(roaring_bitmap_s* bitmap) const;
};
using Roaring = std::unique_ptr<roaring_bitmap_s, FreeRoaring>;

// The portable 32-bit form. kCorruption says what is wrong with the bytes; containers are checked value by value.
Result<Roaring> DecodeRoaring(std::string_view bytes);
// Containers are made as small as they get first, as Java does.
std::string EncodeRoaring(roaring_bitmap_s* bitmap);
void UniteRoaring(roaring_bitmap_s* into, const roaring_bitmap_s& other);

class RoaringArt {
 public:
  static Result<RoaringArt> Decode(std::string_view bytes);
  std::string Encode();
  void Unite(const RoaringArt& other);

 private:
  friend class ArtReader;

  std::map<uint64_t, uint32_t> places_;  // of the upper 48 bits' container
  std::vector<Roaring> containers_;      // values below 2^16; null: a free place
  int32_t last_place_ = -1;
};

}  // namespace headrace
