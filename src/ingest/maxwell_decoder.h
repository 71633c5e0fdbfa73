// Maxwell's JSON messages into rows and row kinds.
//
// insert and bootstrap-insert are +I; update has in `old` what it changed, so the row before it is known whole; delete is -D. The marks of a
// bootstrap, of databases and of tables are ignored by rule; a table taken that gets another name goes on under it. `xid`, `xoffset` and
// `commit` are not looked at: order is the order of the lines. Pure but for the source table's name; one thread.
#pragma once

#include <string>

#include "ingest/change_rows.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/source_table.h"

namespace headrace::ingest {

class MaxwellDecoder final : public LineDecoder {
 public:
  MaxwellDecoder(TableShape table, EventOptions options);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  LineOutcome DecodeMessage(const JsonToken& root, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeDdl(const JsonToken& root, std::string_view type);
  LineOutcome DecodeRow(const JsonToken& root, RowChange::Op op, CurrentRows* current, RowBuffer* out);

  const TableShape table_;
  const EventOptions options_;
  SourceChoice source_;
  ChangeRows changes_;
  JsonTape tape_;
};

}  // namespace headrace::ingest
