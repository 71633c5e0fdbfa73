// Lays out BinaryRow and BinaryArray bytes in one growing buffer.
//
// A frame is the fixed part of one row or array: null bits and slots. Variable values are appended to the buffer and their
// slot says where, counted from the frame's start; a nested row or array is a frame of its own inside such a value.
// Every item of the variable part is padded with zeros to a multiple of 8. One writer, one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

#include "format/value.h"

namespace headrace {

inline constexpr int32_t kMaxCompactDecimalPrecision = 18;  // unscaled value in the slot itself
inline constexpr int32_t kMaxCompactTimestampPrecision = 3;

constexpr size_t RowNullBytes(int32_t arity) { return (static_cast<size_t>(arity) + 63 + 8) / 64 * 8; }
constexpr size_t RoundUpTo8(size_t size) { return (size + 7) / 8 * 8; }

class BinaryWriter {
 public:
  struct Frame {
    size_t base = 0;
    size_t nulls = 0;      // where the null bits begin
    size_t first_bit = 0;  // the null bit of slot 0: 8 in rows, behind the row-kind byte
    size_t slots = 0;
    size_t slot_width = 8;
    bool row = true;
  };

  void Clear() { bytes_.clear(); }
  std::string_view bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

  Frame BeginRow(int32_t arity);
  Frame BeginArray(int32_t size, size_t element_width);

  template <typename T>
  void PutFixed(const Frame& frame, size_t slot, T value) {
    std::memcpy(bytes_.data() + frame.slots + slot * frame.slot_width, &value, sizeof(T));
  }
  void PutBytes(const Frame& frame, size_t slot, std::string_view value);
  void PutDecimal(const Frame& frame, size_t slot, const arrow::Decimal128& value, int32_t precision);
  void PutTimestamp(const Frame& frame, size_t slot, const Timestamp& value, int32_t precision);
  // Rows reserve zeros for a null that is not compact, as Java does; arrays do not.
  void PutNull(const Frame& frame, size_t slot, const DataType& type);

  // A nested value: write it between the two calls.
  size_t BeginVariable() const { return bytes_.size(); }
  void EndVariable(const Frame& frame, size_t slot, size_t start);

  // A four-byte hole to fill later: the length of a map's key array.
  size_t AppendInt32Hole();
  void FillInt32(size_t at, int32_t value) { std::memcpy(bytes_.data() + at, &value, sizeof(value)); }
  size_t size() const { return bytes_.size(); }

 private:
  void PutSlot(const Frame& frame, size_t slot, size_t offset, uint32_t low);

  std::string bytes_;
};

// Bytes an element of an array takes in its slot.
size_t ElementWidth(const DataType& type);

}  // namespace headrace
