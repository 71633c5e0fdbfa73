// Any bytes as the first lines of an ingest that makes its own table: the first byte chooses the form. A table that is proposed can be
// made, or is refused with a reason.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ingest/infer_table.h"

namespace {

using namespace headrace;
using namespace headrace::ingest;

Result<NewTable> Propose(uint8_t form, const Sample& sample) {
  IngestOptions options;
  CreateRequest request;
  if (form & 4) request.primary_key = {"customer_id"};
  if (form & 32) return TableOfTestDecoding(sample, options, request);
  if (form & 16) {
    switch (form % 4) {
      case 0: return TableOfFlat(sample, options, request);
      case 1: return TableOfCanal(sample, options, request);
      case 2: return TableOfMaxwell(sample, options, request);
      default: return TableOfWal2Json(sample, options, request);
    }
  }
  switch (form % 4) {
    case 0: return TableOfDebezium(sample, options, request);
    case 1: return TableOfJsonLines(sample, options, request);
    default: return TableOfCsv(sample, options, request);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Sample sample;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    sample.lines.emplace_back(text.substr(0, end));
    if (data[0] & 8) sample.keys.push_back(sample.lines.back());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const EventFormat format :
       {EventFormat::kDebeziumJson, EventFormat::kDebeziumFlat, EventFormat::kCanalJson,
        EventFormat::kMaxwellJson, EventFormat::kWal2Json, EventFormat::kTestDecoding})
    (void)SourceTablesOf(sample, format);
  auto proposed = Propose(data[0], sample);
  if (!proposed.ok()) {
    if (proposed.status().message().empty()) std::abort();
    return 0;
  }
  (void)MakeTableSchema(*std::move(proposed), 0);
  return 0;
}
