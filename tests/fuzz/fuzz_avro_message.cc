// A line with an Avro schema, then any bytes as a datum of it: the schema as Kafka Connect's, the datum as JSON, that into a table's rows.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ingest/avro_connect.h"
#include "ingest/avro_row_decoder.h"
#include "ingest/json_tape.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  using namespace headrace::ingest;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line_end = std::min(input.find('\n'), input.size());
  const Result<AvroMeaning> meaning = ReadAvroMeaning(input.substr(0, line_end), {}, "fuzz");
  if (!meaning.ok()) return 0;
  JsonTape tape;
  if (!tape.Parse(meaning->connect_schema)) std::abort();
  std::string json;
  std::string why;
  const std::string_view datum = input.substr(std::min(line_end + 1, input.size()));
  if (!AppendDatum(meaning->steps, datum, &json, &why)) {
    if (why.empty()) std::abort();
    return 0;
  }
  if (!tape.Parse(json)) std::abort();
  if (meaning->steps.how != DatumStep::How::kRecord) return 0;
  const AvroEnvelope envelope = EnvelopeOf(*meaning, true);
  const std::string line = envelope.before + json + std::string(envelope.behind);
  static const TableShape table = EveryType();
  AvroRowDecoder rows(table, {});
  FeedLines(line, table, &rows);
  return 0;
}
