#include "format/hash_index.h"

#include <cstring>

namespace headrace {
namespace {

constexpr size_t kHashBytes = sizeof(int32_t);

uint32_t BigEndian(uint32_t native) { return __builtin_bswap32(native); }

}  // namespace

std::string EncodeHashIndex(std::span<const int32_t> hashes) {
  std::string bytes(hashes.size() * kHashBytes, '\0');
  char* out = bytes.data();
  for (const int32_t hash : hashes) {
    const uint32_t swapped = BigEndian(static_cast<uint32_t>(hash));
    std::memcpy(out, &swapped, kHashBytes);
    out += kHashBytes;
  }
  return bytes;
}

Result<std::vector<int32_t>> DecodeHashIndex(std::string_view bytes, std::string_view origin) {
  if (bytes.size() % kHashBytes != 0)
    return Corruption(origin, ": ", bytes.size(), " bytes, a hash index holds ", kHashBytes,
                      " for each hash and nothing else");
  std::vector<int32_t> hashes(bytes.size() / kHashBytes);
  for (size_t i = 0; i < hashes.size(); ++i) {
    uint32_t swapped = 0;
    std::memcpy(&swapped, bytes.data() + i * kHashBytes, kHashBytes);
    hashes[i] = static_cast<int32_t>(BigEndian(swapped));
  }
  return hashes;
}

}  // namespace headrace
