// Any bytes as a manifest list.
#include "tests/fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return RoundTrip(data, size, headrace::DecodeManifestList, headrace::EncodeManifestList);
}
