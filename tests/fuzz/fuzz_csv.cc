// Any bytes as CSV records under a header: the first byte chooses delimiter, the text of null and the kind column.
#include "ingest/csv_decoder.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  if (size < 1) return 0;
  static const TableShape table = EveryType();
  CsvOptions options;
  options.delimiter = ",;\t|"[data[0] % 4];
  if (data[0] & 4) options.null_text = "NULL";
  if (data[0] & 8) options.kind_column = "kind";
  CsvDecoder csv(table, options);
  FeedLines({reinterpret_cast<const char*>(data) + 1, size - 1}, table, &csv);
  return 0;
}
