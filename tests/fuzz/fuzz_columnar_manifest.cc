// Any bytes as a Parquet or ORC manifest of each kind. Arrow's readers do the decoding and are not instrumented; what they hand over is.
#include <cstdint>
#include <string_view>

#include "file/manifest_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.starts_with("PAR1") && !bytes.starts_with("ORC")) return 0;  // Avro has fuzzers of its own
  (void)ReadManifest(bytes, "fuzz");
  (void)ReadManifestList(bytes, "fuzz");
  (void)ReadIndexManifest(bytes, "fuzz");
  return 0;
}
