// Which rows of one data file are deleted: a set of row positions, and its two encodings on disk.
//
// The 32-bit form holds positions up to 2^31 - 1 as one roaring bitmap, the 64-bit form any. Reading tells them apart by their magic.
// What is written is byte for byte what Java writes for the same positions. Pure values; a vector that nobody changes may be shared
// between threads.
// Source: DeletionVector, BitmapDeletionVector, Bitmap64DeletionVector, DeletionVectorsIndexFile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace {

class DeletionVector {
 public:
  DeletionVector();
  ~DeletionVector();
  DeletionVector(const DeletionVector& other);
  DeletionVector(DeletionVector&& other) noexcept;
  DeletionVector& operator=(DeletionVector other) noexcept;

  // True when the row was not deleted yet. Precondition: position ≥ 0.
  bool Delete(int64_t position);
  bool IsDeleted(int64_t position) const;
  int64_t cardinality() const;
  bool empty() const { return cardinality() == 0; }
  // The smallest deleted position ≥ `position`; -1 when there is none.
  int64_t NextDeleted(int64_t position) const;
  // Of the positions in [begin, end).
  int64_t CountDeleted(int64_t begin, int64_t end) const;
  // Clears the bit `position - begin` of `bits` (the lowest of a byte first) for each deleted position in [begin, end).
  void ClearDeleted(int64_t begin, int64_t end, uint8_t* bits) const;
  // Where the row stands that is number `live` (from 0) among those not deleted.
  int64_t PositionOfLive(int64_t live) const;
  void MergeFrom(const DeletionVector& other);

  // The bytes of one vector in an index file, its length and checksum included. kInvalid when a position does not fit the form.
  Result<std::string> Encode(bool bitmap64) const;
  // Takes the bytes of exactly one vector. `origin` names the index file in errors (kCorruption).
  static Result<DeletionVector> Decode(std::string_view bytes, std::string_view origin);

 private:
  struct Bits;
  std::unique_ptr<Bits> bits_;
};

// How an index manifest counts the bytes of a vector: the 32-bit form without its length and checksum, the 64-bit form with both.
// `head` are the first bytes of the vector, at least kDeletionVectorHeadBytes. What is told is the length of the whole vector and the
// one a manifest gives for it; kCorruption when the bytes begin no vector.
struct DeletionVectorLength {
  int64_t bytes = 0;
  int64_t in_manifest = 0;
};
inline constexpr size_t kDeletionVectorHeadBytes = 8;
Result<DeletionVectorLength> ReadDeletionVectorLength(std::string_view head, std::string_view origin);

// The type of index files that hold deletion vectors, in an index manifest.
inline constexpr std::string_view kDeletionVectorsIndex = "DELETION_VECTORS";

// The vectors of one bucket, by data file name. Shared and never changed: a change makes a new map.
using DeletionVectors = std::map<std::string, std::shared_ptr<const DeletionVector>>;

}  // namespace headrace
