// Avro's primitives over plain bytes: zigzag varints, length-prefixed bytes, and skipping whatever a schema describes.
//
// A cursor never reads past its end. The Take functions return false on damage and leave the cursor anywhere: the caller turns
// false into a message. Header-only, because decoding a manifest is made of nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/avro_schema.h"

namespace headrace {

class AvroCursor {
 public:
  explicit AvroCursor(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  size_t remaining() const { return static_cast<size_t>(end_ - at_); }

  bool TakeLong(int64_t* value) {
    uint64_t raw = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return false;
      const auto byte = static_cast<unsigned char>(*at_++);
      raw |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        if (shift == 63 && byte > 1) return false;
        *value = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
        return true;
      }
    }
    return false;
  }

  bool TakeRaw(size_t size, std::string_view* bytes) {
    if (size > remaining()) return false;
    *bytes = std::string_view(at_, size);
    at_ += size;
    return true;
  }

  bool TakeBytes(std::string_view* bytes) {
    int64_t size = 0;
    return TakeLong(&size) && size >= 0 && TakeRaw(static_cast<size_t>(size), bytes);
  }

  // The next count of an array or map: 0 ends it. A negative count on disk is followed by the size of the block in bytes,
  // which a reader that skips may use (*block_bytes; -1 when absent). Items take at least a byte each.
  bool TakeCount(int64_t* count, int64_t* block_bytes) {
    *block_bytes = -1;
    if (!TakeLong(count)) return false;
    if (*count < 0) {
      if (*count == INT64_MIN || !TakeLong(block_bytes)) return false;
      *count = -*count;
      if (*block_bytes < 0 || static_cast<uint64_t>(*block_bytes) > remaining()) return false;
    }
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

inline void AppendAvroLong(int64_t value, std::string* out) {
  uint64_t raw = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  while (raw >= 0x80) {
    out->push_back(static_cast<char>(raw | 0x80));
    raw >>= 7;
  }
  out->push_back(static_cast<char>(raw));
}

inline void AppendAvroBytes(std::string_view bytes, std::string* out) {
  AppendAvroLong(static_cast<int64_t>(bytes.size()), out);
  out->append(bytes);
}

// Moves past one value of the node's type; false when the bytes end, a length is wrong or values nest deeper than 64 levels.
bool SkipAvroValue(const AvroSchema& schema, int32_t node, AvroCursor* cursor, int depth = 0);

}  // namespace headrace
