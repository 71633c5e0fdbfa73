// Any bytes as lines of flattened Debezium events.
#include "ingest/event_decoders.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  static const TableShape table = EveryType();
  const auto decoder = MakeEventDecoder(headrace::EventFormat::kDebeziumFlat, table, {});
  FeedLines({reinterpret_cast<const char*>(data), size}, table, decoder.get());
  return 0;
}
