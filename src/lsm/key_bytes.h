// One value as bytes whose memcmp order is the value's order: the alphabet of KeyOrder's byte keys.
//
// Fixed-width values are big-endian with the sign turned; strings end with 00 00 and hold 00 as 00 FF, except where `last` says
// that nothing follows. A value of a descending column has all its bits turned. Pure functions; most append to `out`.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

namespace headrace {

template <std::unsigned_integral T>
void AppendBigEndian(T value, std::string* out) {
  for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

template <std::signed_integral T>
void AppendOrdered(T value, std::string* out) {
  using Unsigned = std::make_unsigned_t<T>;
  AppendBigEndian(static_cast<Unsigned>(static_cast<Unsigned>(value) ^ (Unsigned{1} << (sizeof(T) * 8 - 1))),
                  out);
}

inline void AppendOrdered(bool value, std::string* out) { out->push_back(value ? '\1' : '\0'); }

// Negative numbers have all bits turned, so that the larger magnitude comes first; every NaN is one value, the largest.
template <std::floating_point T>
void AppendOrdered(T value, std::string* out) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
  if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
  const Bits bits = std::bit_cast<Bits>(value);
  AppendBigEndian(static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign), out);
}

inline void AppendOrdered(const arrow::Decimal128& value, std::string* out) {
  AppendOrdered(value.high_bits(), out);
  AppendBigEndian(value.low_bits(), out);
}

inline void AppendOrdered(std::string_view value, bool last, std::string* out) {
  if (last) {
    out->append(value);
    return;
  }
  for (const char c : value) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xFF');
  }
  out->append(2, '\0');
}

inline void TurnBits(size_t from, std::string* out) {
  for (size_t i = from; i < out->size(); ++i) (*out)[i] = static_cast<char>(~(*out)[i]);
}

// Eight bytes from `skip` on as a number that orders like them; what is missing counts as zero. Precondition: skip <= key.size().
inline uint64_t HeadOf(std::string_view key, size_t skip) {
  uint64_t head = 0;
  if (key.size() - skip >= 8) {
    std::memcpy(&head, key.data() + skip, 8);
  } else {
    std::memcpy(&head, key.data() + skip, key.size() - skip);
  }
  return __builtin_bswap64(head);
}

// How many bytes two keys share at their beginning, at most `at_most`.
inline size_t SharedPrefix(std::string_view a, std::string_view b, size_t at_most) {
  const size_t end = std::min({a.size(), b.size(), at_most});
  if (std::memcmp(a.data(), b.data(), end) == 0) return end;
  size_t length = 0;
  while (a[length] == b[length]) ++length;
  return length;
}

}  // namespace headrace
