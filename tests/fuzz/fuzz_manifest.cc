// Any bytes as a manifest of each kind; what decodes must encode and decode again to the same.
#include <cstdint>
#include <cstdlib>

#include "format/manifest.h"

namespace {

template <typename Decode, typename Encode>
void RoundTrip(std::string_view bytes, Decode decode, Encode encode) {
  auto records = decode(bytes, "fuzz");
  if (!records.ok()) return;
  auto again = encode(*records, headrace::ManifestEncoding{headrace::AvroCodec::kNull, 1});
  if (!again.ok()) return;  // records that this build does not write back
  auto back = decode(*again, "again");
  if (!back.ok() || *back != *records) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip(bytes, DecodeManifest, EncodeManifest);
  RoundTrip(bytes, DecodeManifestList, EncodeManifestList);
  RoundTrip(bytes, DecodeIndexManifest, EncodeIndexManifest);
  return 0;
}
