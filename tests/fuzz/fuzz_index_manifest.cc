// Any bytes as an index manifest.
#include "tests/fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return RoundTrip(data, size, headrace::DecodeIndexManifest, headrace::EncodeIndexManifest);
}
