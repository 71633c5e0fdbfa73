// Any bytes as an Avro file: open, read the schema, skip every record of every block.
#include <algorithm>
#include <cstdint>

#include "format/avro_bytes.h"
#include "format/avro_container.h"
#include "format/avro_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  auto reader = AvroFileReader::Open({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!reader.ok()) return 0;
  auto schema = ParseAvroSchema(reader->schema_json(), "fuzz");
  AvroBlock block;
  while (true) {
    auto more = reader->Next(&block);
    if (!more.ok() || !*more) return 0;
    if (!schema.ok()) continue;
    AvroCursor cursor(block.bytes);
    const int64_t records = std::min<int64_t>(block.records, static_cast<int64_t>(block.bytes.size()));
    for (int64_t i = 0; i < records; ++i) {
      if (!SkipAvroValue(*schema, 0, &cursor)) break;
    }
  }
}
