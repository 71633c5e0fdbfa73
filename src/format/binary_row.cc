// Rows of values to bytes and back, the serialized form and the hash.
#include "format/binary_row.h"

#include <bit>
#include <cstring>
#include <limits>

#include "format/binary_writer.h"

namespace headrace {
namespace {

void PutValue(const Value& value, const DataType& type, const BinaryWriter::Frame& frame, size_t slot,
              BinaryWriter* writer) {
  switch (type.root) {
    case TypeRoot::kBoolean:
      return writer->PutFixed(frame, slot, static_cast<uint8_t>(std::get<bool>(value)));
    case TypeRoot::kTinyInt: return writer->PutFixed(frame, slot, std::get<int8_t>(value));
    case TypeRoot::kSmallInt: return writer->PutFixed(frame, slot, std::get<int16_t>(value));
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return writer->PutFixed(frame, slot, std::get<int32_t>(value));
    case TypeRoot::kBigInt: return writer->PutFixed(frame, slot, std::get<int64_t>(value));
    case TypeRoot::kFloat: return writer->PutFixed(frame, slot, std::get<float>(value));
    case TypeRoot::kDouble: return writer->PutFixed(frame, slot, std::get<double>(value));
    case TypeRoot::kDecimal:
      return writer->PutDecimal(frame, slot, std::get<arrow::Decimal128>(value), type.precision);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return writer->PutBytes(frame, slot, std::get<std::string>(value));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return writer->PutTimestamp(frame, slot, std::get<Timestamp>(value), type.precision);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return;
  }
}

template <typename T>
T ReadAt(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// One field of a row whose fixed part is known to be inside the bytes.
class FieldReader {
 public:
  FieldReader(const BinaryRow& row, size_t index)
      : row_(row), index_(index), slot_(RowNullBytes(row.arity) + 8 * index) {}

  bool IsNull() const {
    const size_t bit = index_ + 8;
    return (static_cast<unsigned char>(row_.bytes[bit / 8]) >> (bit % 8)) & 1;
  }

  Result<Value> Read(const DataType& type) const {
    const std::string_view bytes = row_.bytes;
    switch (type.root) {
      case TypeRoot::kBoolean: return Value(bytes[slot_] != 0);
      case TypeRoot::kTinyInt: return Value(ReadAt<int8_t>(bytes, slot_));
      case TypeRoot::kSmallInt: return Value(ReadAt<int16_t>(bytes, slot_));
      case TypeRoot::kInt:
      case TypeRoot::kDate:
      case TypeRoot::kTime: return Value(ReadAt<int32_t>(bytes, slot_));
      case TypeRoot::kBigInt: return Value(ReadAt<int64_t>(bytes, slot_));
      case TypeRoot::kFloat: return Value(ReadAt<float>(bytes, slot_));
      case TypeRoot::kDouble: return Value(ReadAt<double>(bytes, slot_));
      case TypeRoot::kDecimal: return Decimal(type);
      case TypeRoot::kChar:
      case TypeRoot::kVarChar:
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary: {
        HEADRACE_ASSIGN_OR_RETURN(std::string_view text, Bytes());
        return Value(std::string(text));
      }
      case TypeRoot::kTimestamp:
      case TypeRoot::kTimestampLtz: return TimestampValue(type);
      case TypeRoot::kArray:
      case TypeRoot::kMap:
      case TypeRoot::kMultiset:
      case TypeRoot::kRow: break;
    }
    return Unsupported("field ", index_, " of a BinaryRow: a single value of the nested type ", ToSql(type));
  }

 private:
  template <typename... Args>
  Status Bad(Args&&... args) const {
    return Corruption("field ", index_, " of a BinaryRow of ", row_.arity, " fields and ", row_.bytes.size(),
                      " bytes: ", std::forward<Args>(args)...);
  }

  Result<std::string_view> Variable(uint64_t offset, uint64_t size) const {
    const size_t fixed = RowNullBytes(row_.arity) + 8 * static_cast<size_t>(row_.arity);
    if (offset < fixed || offset + size > row_.bytes.size()) return Bad(size, " bytes at offset ", offset);
    return std::string_view(row_.bytes).substr(offset, size);
  }

  Result<std::string_view> Bytes() const {
    const auto slot = ReadAt<uint64_t>(row_.bytes, slot_);
    if ((slot >> 63) == 0) return Variable(slot >> 32, slot & 0xFFFFFFFF);
    const uint64_t size = (slot >> 56) & 0x7F;
    if (size > 7) return Bad("an inline value of ", size, " bytes, at most 7");
    return std::string_view(row_.bytes).substr(slot_, size);
  }

  Result<Value> Decimal(const DataType& type) const {
    if (type.precision <= kMaxCompactDecimalPrecision)
      return Value(arrow::Decimal128(ReadAt<int64_t>(row_.bytes, slot_)));
    const auto slot = ReadAt<uint64_t>(row_.bytes, slot_);
    const uint64_t size = slot & 0xFFFFFFFF;
    if (size < 1 || size > 16) return Bad("a decimal of ", size, " bytes, between 1 and 16");
    HEADRACE_ASSIGN_OR_RETURN(std::string_view bytes, Variable(slot >> 32, size));
    return Value(*arrow::Decimal128::FromBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                   static_cast<int32_t>(bytes.size())));
  }

  Result<Value> TimestampValue(const DataType& type) const {
    if (type.precision <= kMaxCompactTimestampPrecision)
      return Value(Timestamp{ReadAt<int64_t>(row_.bytes, slot_), 0});
    const auto slot = ReadAt<uint64_t>(row_.bytes, slot_);
    const auto nanos = static_cast<uint32_t>(slot);
    if (nanos > 999999) return Bad("a timestamp with ", nanos, " nanoseconds of a millisecond");
    HEADRACE_ASSIGN_OR_RETURN(std::string_view bytes, Variable(slot >> 32, 8));
    return Value(Timestamp{ReadAt<int64_t>(bytes, 0), static_cast<int32_t>(nanos)});
  }

  const BinaryRow& row_;
  size_t index_;
  size_t slot_;
};

Status CheckShape(int32_t arity, size_t size) {
  if (arity < 0) return Corruption("a BinaryRow of ", arity, " fields");
  const size_t fixed = RowNullBytes(arity) + 8 * static_cast<size_t>(arity);
  if (size < fixed)
    return Corruption("a BinaryRow of ", arity, " fields takes ", fixed, " bytes, found ", size);
  return Status::OK();
}

}  // namespace

std::string SerializeBinaryRow(const BinaryRow& row) {
  std::string result;
  result.reserve(4 + row.bytes.size());
  AppendSerialized(row, &result);
  return result;
}

void AppendSerialized(const BinaryRow& row, std::string* out) {
  const auto arity = static_cast<uint32_t>(row.arity);
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(arity >> shift));
  *out += row.bytes;
}

Result<BinaryRow> ParseBinaryRow(std::string_view bytes) {
  if (bytes.size() < 4) return Corruption("a serialized BinaryRow of ", bytes.size(), " bytes, at least 4");
  uint32_t arity = 0;
  for (size_t i = 0; i < 4; ++i) arity = (arity << 8) | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(4);
  HEADRACE_RETURN_NOT_OK(CheckShape(static_cast<int32_t>(arity), bytes.size()));
  return BinaryRow{static_cast<int32_t>(arity), std::string(bytes)};
}

Result<BinaryRow> EncodeBinaryRow(std::span<const Value> values, std::span<const DataType> types) {
  if (values.size() != types.size())
    return Invalid("a row of ", values.size(), " values for ", types.size(), " types");
  BinaryWriter writer;
  const auto arity = static_cast<int32_t>(values.size());
  const BinaryWriter::Frame frame = writer.BeginRow(arity);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!FitsType(values[i], types[i])) return Invalid("value ", i, " of a row is not a ", ToSql(types[i]));
    if (IsNull(values[i])) {
      writer.PutNull(frame, i, types[i]);
    } else {
      PutValue(values[i], types[i], frame, i, &writer);
    }
  }
  if (writer.size() > std::numeric_limits<int32_t>::max())
    return Invalid("a row of ", writer.size(), " bytes, at most 2 GB");
  return BinaryRow{arity, writer.Take()};
}

Result<std::vector<Value>> DecodeBinaryRow(const BinaryRow& row, std::span<const DataType> types) {
  if (row.arity < 0 || static_cast<size_t>(row.arity) != types.size()) {
    return Corruption("a BinaryRow of ", row.arity, " fields where ", types.size(), " are expected");
  }
  return DecodeBinaryRowPrefix(row, types);
}

Result<std::vector<Value>> DecodeBinaryRowPrefix(const BinaryRow& row, std::span<const DataType> types) {
  HEADRACE_RETURN_NOT_OK(CheckShape(row.arity, row.bytes.size()));
  if (static_cast<size_t>(row.arity) < types.size()) {
    return Corruption("a BinaryRow of ", row.arity, " fields where at least ", types.size(), " are expected");
  }
  std::vector<Value> values;
  values.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const FieldReader field(row, i);
    if (field.IsNull()) {
      values.emplace_back();
      continue;
    }
    HEADRACE_ASSIGN_OR_RETURN(Value value, field.Read(types[i]));
    values.push_back(std::move(value));
  }
  return values;
}

int32_t HashBinaryRow(std::string_view row_bytes) {
  uint32_t h = 42;
  const size_t words = row_bytes.size() / 4;
  for (size_t i = 0; i < words; ++i) {
    auto k = ReadAt<uint32_t>(row_bytes, 4 * i);
    k *= 0xcc9e2d51U;
    k = std::rotl(k, 15);
    k *= 0x1b873593U;
    h ^= k;
    h = std::rotl(h, 13);
    h = h * 5 + 0xe6546b64U;
  }
  h ^= static_cast<uint32_t>(4 * words);
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  h ^= h >> 16;
  return static_cast<int32_t>(h);
}

}  // namespace headrace
