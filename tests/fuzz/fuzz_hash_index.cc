// Any bytes as a HASH index file: refused, or the same bytes again.
#include <cstdlib>

#include "format/hash_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto hashes = headrace::DecodeHashIndex(bytes, "input");
  if (hashes.ok() && headrace::EncodeHashIndex(*hashes) != bytes) std::abort();
  return 0;
}
