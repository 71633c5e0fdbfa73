// Any bytes as plain JSON lines: the first byte chooses how values are written, the rest are the lines.
#include "ingest/json_lines_decoder.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  using namespace headrace::ingest;
  if (size < 1) return 0;
  static const TableShape table = EveryType();
  ValueModes modes;
  modes.decimal = static_cast<DecimalMode>(data[0] % 3);
  modes.binary = static_cast<BinaryMode>(data[0] / 4 % 4);
  modes.time = static_cast<TimeMode>(data[0] / 16 % 4);
  JsonLinesDecoder json(table, modes, data[0] & 128 ? "kind" : "");
  FeedLines({reinterpret_cast<const char*>(data) + 1, size - 1}, table, &json);
  return 0;
}
