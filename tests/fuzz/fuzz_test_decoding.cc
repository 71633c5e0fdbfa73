// Any bytes as records of test_decoding. Where a record ends does not depend on the pieces in which its bytes arrive.
#include "ingest/event_decoders.h"
#include "ingest/test_decoding_text.h"
#include "tests/fuzz/feed_lines.h"

namespace {

using namespace headrace::ingest;

size_t RecordEnd(std::string_view text) {
  TestDecodingRecordEnd at_once;
  const size_t end = at_once.Find(text);
  TestDecodingRecordEnd piecewise;
  size_t found = std::string_view::npos;
  const size_t step = 1 + text.size() / 7;
  for (size_t have = 0; found == std::string_view::npos; have = std::min(have + step, text.size())) {
    found = piecewise.Find(text.substr(0, have));
    if (have == text.size()) break;
  }
  if (found != end || (end != std::string_view::npos && text[end] != '\n')) std::abort();
  return end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TableShape table = EveryType();
  EventOptions options;
  options.follow_schema = size % 2 == 0;
  const auto decoder = MakeEventDecoder(headrace::EventFormat::kTestDecoding, table, options);
  FeedLines({reinterpret_cast<const char*>(data), size}, table, decoder.get(), RecordEnd);
  return 0;
}
