// Which rows of one data file are deleted: a set of row positions, and its two encodings on disk.
//
// The 32-bit form holds positions below 2^31 - 1 as one roaring bitmap, the 64-bit form any. Reading tells them apart by their magic.
// Pure values; a vector that nobody changes may be shared between threads.
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
  void MergeFrom(const DeletionVector& other);

  // The bytes of one vector in an index file, its length and checksum included. kInvalid when a position does not fit the 32-bit form.
  Result<std::string> Encode(bool bitmap64) const;
  // `origin` names the index file in errors (kCorruption).
  static Result<DeletionVector> Decode(std::string_view bytes, std::string_view origin);

 private:
  struct Bits;
  std::unique_ptr<Bits> bits_;
};

// The vectors of one bucket, by data file name. Shared and never changed: a change makes a new map.
using DeletionVectors = std::map<std::string, std::shared_ptr<const DeletionVector>>;

}  // namespace headrace
