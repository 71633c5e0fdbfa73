// Any bytes as a deletion vector: after a byte that says whether they are the whole of it, or a 32-bit or 64-bit bitmap around which length,
// magic and checksum are put. What is read is counted right, and comes back from the bytes it is written as.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <zlib.h>

#include "format/deletion_vector.h"

namespace {

using headrace::DeletionVector;

constexpr int64_t kMostRoundTrip = 1 << 16;
constexpr int64_t kFarthestRoundTrip = int64_t{1} << 40;  // a few gigabytes of empty bitmaps come before it

void PutBigEndian(uint32_t number, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

std::string Framed(bool bitmap64, std::string_view bitmap) {
  std::string content = bitmap64 ? "\xD1\xD3\x39\x64" : "\x5E\x43\xF2\xD0";
  content += bitmap;
  std::string bytes;
  PutBigEndian(static_cast<uint32_t>(content.size()), &bytes);
  bytes += content;
  const auto* data = reinterpret_cast<const unsigned char*>(content.data());
  PutBigEndian(static_cast<uint32_t>(crc32(0, data, static_cast<uInt>(content.size()))), &bytes);
  return bytes;
}

void CheckRoundTrip(const DeletionVector& vector) {
  DeletionVector anew;
  int64_t count = 0;
  for (int64_t at = vector.NextDeleted(0); at >= 0; at = vector.NextDeleted(at + 1)) {
    if (!vector.IsDeleted(at)) std::abort();
    if (at >= kFarthestRoundTrip) return;
    if (!anew.Delete(at)) std::abort();
    ++count;
  }
  if (count != vector.cardinality()) std::abort();
  const auto bytes = vector.Encode(true);
  if (!bytes.ok()) return;  // too far
  const auto again = DeletionVector::Decode(*bytes, "again");
  if (!again.ok() || again->Encode(true).ValueOrDie() != *bytes) std::abort();
  if (anew.Encode(true).ValueOrDie() != *bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto vector =
      DeletionVector::Decode(data[0] % 3 == 0 ? std::string(rest) : Framed(data[0] % 3 == 2, rest), "fuzz");
  if (!vector.ok() || vector->cardinality() > kMostRoundTrip) return 0;
  CheckRoundTrip(*vector);
  return 0;
}
