// 122 random bits, six fixed ones, and hexadecimal text.
#include "base/uuid.h"

#include <sys/random.h>

#include <cerrno>
#include <random>

namespace headrace {
namespace {

struct Bits {
  uint64_t high = 0;
  uint64_t low = 0;
};

Bits BitsFromSystem() {
  Bits bits;
  ssize_t got = 0;
  do {
    got = getrandom(&bits, sizeof(bits), 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof(bits))) return bits;

  // Kernels and sandboxes without the call still have the device.
  std::random_device device;
  const auto word = [&device] { return (static_cast<uint64_t>(device()) << 32) | device(); };
  return {word(), word()};
}

void AppendHex(uint64_t value, int digits, std::string& out) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(value >> shift) & 0xF];
}

std::string Format(Bits bits) {
  bits.high = (bits.high & ~uint64_t{0xF000}) | 0x4000;                    // version 4
  bits.low = (bits.low & ~(uint64_t{0xC} << 60)) | (uint64_t{0x8} << 60);  // the RFC's variant
  std::string text;
  text.reserve(36);
  AppendHex(bits.high >> 32, 8, text);
  text += '-';
  AppendHex(bits.high >> 16, 4, text);
  text += '-';
  AppendHex(bits.high, 4, text);
  text += '-';
  AppendHex(bits.low >> 48, 4, text);
  text += '-';
  AppendHex(bits.low, 12, text);
  return text;
}

}  // namespace

std::string NewUuid() { return Format(BitsFromSystem()); }

std::string UuidSource::Next() {
  MutexLock lock(mutex_);
  if (!random_.has_value()) return NewUuid();
  const uint64_t high = random_->Next();
  return Format({high, random_->Next()});
}

}  // namespace headrace
