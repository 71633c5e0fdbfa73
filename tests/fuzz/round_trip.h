// What decodes must encode and decode again to the same. For the fuzzers of the manifests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "format/manifest.h"

template <typename Decode, typename Encode>
int RoundTrip(const uint8_t* data, size_t size, Decode decode, Encode encode) {
  const auto records = decode({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!records.ok()) return 0;
  const auto again = encode(*records, headrace::ManifestEncoding{headrace::AvroCodec::kNull, 1});
  if (!again.ok()) return 0;  // records that this build does not write back
  const auto back = decode(*again, "again");
  if (!back.ok() || *back != *records) std::abort();
  return 0;
}
