// What PostgreSQL's plugin wal2json writes, both versions, into rows and row kinds.
//
// Version 2 is a line a change with marks of transactions around; version 1 a line a transaction, taken whole or not at all. An update's old
// key (with REPLICA IDENTITY FULL its old row) is in `identity` or `oldkeys`; a large value that did not change is left out and taken from
// there or from the table's current row. T empties the table, M is ignored. Values are text or numbers as the server prints them, bytes
// hexadecimal digits without \x. The plugin writes null for NaN and infinity: that loss cannot be seen here. Pure; one thread.
#pragma once

#include <string>
#include <vector>

#include "ingest/change_rows.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/source_table.h"

namespace headrace::ingest {

class Wal2JsonDecoder final : public LineDecoder {
 public:
  Wal2JsonDecoder(TableShape table, EventOptions options);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  LineOutcome DecodeChange(const JsonToken& root, std::string_view action, CurrentRows* current,
                           RowBuffer* out);
  LineOutcome DecodeTransaction(const JsonToken& changes, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeOneOfTransaction(const JsonToken& change, const std::string& place, CurrentRows* current,
                                     RowBuffer* out);
  LineOutcome Apply(RowChange change, CurrentRows* current, RowBuffer* out);

  const TableShape table_;
  const EventOptions options_;
  SourceChoice source_;
  ChangeRows changes_;
  JsonTape tape_;
  const JsonToken* declared_ =
      nullptr;  // the change of the line that is being decoded, which names its types
};

}  // namespace headrace::ingest
