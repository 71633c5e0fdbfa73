#include "ingest/avro_row_decoder.h"

namespace headrace::ingest {

LineOutcome AvroRowDecoder::Decode(std::string_view line, std::optional<std::string_view>, CurrentRows*,
                                   RowBuffer* out) {
  constexpr std::string_view kAfter = "after.";
  if (line == "null") {
    return LineOutcome::Bad("",
                            "a row is a record, this message has no value (a tombstone): the format avro "
                            "takes rows alone; changes with deletes are read by debezium-avro");
  }
  LineOutcome outcome = events_.Decode(line, std::nullopt, nullptr, out);
  if (outcome.field.starts_with(kAfter)) outcome.field.erase(0, kAfter.size());
  return outcome;
}

}  // namespace headrace::ingest
