// The format avro: each record is a row that is inserted, or put in place of the one that has its key.
//
// Reads what AvroRecords makes of a row, an event that creates it: so the schema tells each value's form, and follows a changed writer. Names of
// fields in what it refuses are the record's. As with plain JSON, a message without a value (a tombstone) is a bad record. One thread.
#pragma once

#include "ingest/debezium_decoder.h"
#include "ingest/event.h"

namespace headrace::ingest {

class AvroRowDecoder final : public LineDecoder {
 public:
  AvroRowDecoder(TableShape table, EventOptions options) : events_(std::move(table), std::move(options)) {}

  LineOutcome Decode(std::string_view line, std::optional<std::string_view>, CurrentRows*,
                     RowBuffer* out) override;

 private:
  DebeziumDecoder events_;
};

}  // namespace headrace::ingest
