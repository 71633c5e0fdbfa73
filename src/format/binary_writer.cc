// Slots, null bits and the variable part.
#include "format/binary_writer.h"

#include <array>
#include <bit>

namespace headrace {

static_assert(std::endian::native == std::endian::little,
              "BinaryRow slots are written by memcpy in little-endian order");

BinaryWriter::Frame BinaryWriter::BeginRow(int32_t arity) {
  Frame frame;
  frame.base = bytes_.size();
  frame.nulls = frame.base;
  frame.first_bit = 8;
  frame.slots = frame.base + RowNullBytes(arity);
  bytes_.resize(frame.slots + 8 * static_cast<size_t>(arity), '\0');
  return frame;
}

BinaryWriter::Frame BinaryWriter::BeginArray(int32_t size, size_t element_width) {
  Frame frame;
  frame.row = false;
  frame.base = bytes_.size();
  frame.nulls = frame.base + 4;
  frame.slot_width = element_width;
  const auto count = static_cast<size_t>(size);
  const size_t header = 4 + (count + 31) / 32 * 4;
  frame.slots = frame.base + header;
  bytes_.resize(frame.base + RoundUpTo8(header + element_width * count), '\0');
  FillInt32(frame.base, size);
  return frame;
}

void BinaryWriter::PutSlot(const Frame& frame, size_t slot, size_t offset, uint32_t low) {
  PutFixed(frame, slot, (static_cast<uint64_t>(offset - frame.base) << 32) | low);
}

void BinaryWriter::PutBytes(const Frame& frame, size_t slot, std::string_view value) {
  if (value.size() <= 7) {
    char* at = bytes_.data() + frame.slots + slot * frame.slot_width;
    std::memcpy(at, value.data(), value.size());
    at[7] = static_cast<char>(0x80 | value.size());
    return;
  }
  const size_t start = BeginVariable();
  bytes_.append(value);
  EndVariable(frame, slot, start);
}

void BinaryWriter::EndVariable(const Frame& frame, size_t slot, size_t start) {
  const size_t size = bytes_.size() - start;
  PutSlot(frame, slot, start, static_cast<uint32_t>(size));
  bytes_.resize(start + RoundUpTo8(size), '\0');
}

void BinaryWriter::PutDecimal(const Frame& frame, size_t slot, const arrow::Decimal128& value,
                              int32_t precision) {
  if (precision <= kMaxCompactDecimalPrecision) {
    PutFixed(frame, slot, static_cast<int64_t>(value.low_bits()));
    return;
  }
  std::array<uint8_t, 16> little = value.ToBytes();
  // The fewest bytes whose sign bit still tells the sign, big-endian, then zeros up to 16.
  const uint8_t sign = little[15] & 0x80 ? 0xFF : 0x00;
  size_t size = 16;
  while (size > 1 && little[size - 1] == sign && (little[size - 2] & 0x80) == (sign & 0x80)) --size;
  const size_t start = bytes_.size();
  bytes_.resize(start + 16, '\0');
  for (size_t i = 0; i < size; ++i) bytes_[start + i] = static_cast<char>(little[size - 1 - i]);
  PutSlot(frame, slot, start, static_cast<uint32_t>(size));
}

void BinaryWriter::PutTimestamp(const Frame& frame, size_t slot, const Timestamp& value, int32_t precision) {
  if (precision <= kMaxCompactTimestampPrecision) {
    PutFixed(frame, slot, value.millis);
    return;
  }
  const size_t start = bytes_.size();
  bytes_.resize(start + 8, '\0');
  std::memcpy(bytes_.data() + start, &value.millis, 8);
  PutSlot(frame, slot, start, static_cast<uint32_t>(value.nanos_of_milli));
}

void BinaryWriter::PutNull(const Frame& frame, size_t slot, const DataType& type) {
  const size_t bit = frame.first_bit + slot;
  bytes_[frame.nulls + bit / 8] = static_cast<char>(bytes_[frame.nulls + bit / 8] | (1 << (bit % 8)));
  if (!frame.row) return;
  size_t reserved = 0;
  if (type.root == TypeRoot::kDecimal && type.precision > kMaxCompactDecimalPrecision) reserved = 16;
  if ((type.root == TypeRoot::kTimestamp || type.root == TypeRoot::kTimestampLtz) &&
      type.precision > kMaxCompactTimestampPrecision) {
    reserved = 8;
  }
  if (reserved == 0) return;
  const size_t start = bytes_.size();
  bytes_.resize(start + reserved, '\0');
  PutSlot(frame, slot, start, 0);
}

size_t BinaryWriter::AppendInt32Hole() {
  bytes_.append(4, '\0');
  return bytes_.size() - 4;
}

size_t ElementWidth(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt: return 1;
    case TypeRoot::kSmallInt: return 2;
    case TypeRoot::kInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return 4;
    default: return 8;
  }
}

}  // namespace headrace
