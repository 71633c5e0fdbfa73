// Any text as an ingest job's position; what parses must serialize and parse again to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ingest/position.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  const auto position = ParsePosition({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!position.ok()) {
    if (position.status().message().empty()) std::abort();
    return 0;
  }
  if (ParsePosition(SerializePosition(*position), "again").ValueOrDie() != *position) std::abort();
  return 0;
}
