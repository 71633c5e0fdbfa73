// Any bytes as lines of Debezium events.
#include "ingest/debezium_decoder.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  static const TableShape table = EveryType();
  DebeziumDecoder debezium(table, {});
  FeedLines({reinterpret_cast<const char*>(data), size}, table, &debezium);
  return 0;
}
