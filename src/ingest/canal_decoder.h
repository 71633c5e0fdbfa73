// Canal's JSON messages into rows and row kinds: one line may hold several rows.
//
// INSERT, UPDATE and DELETE have the rows in `data`, every value as text; `old` has for each row what an UPDATE changed, so the row before it is
// known whole. TRUNCATE empties the table; RENAME of the table taken goes on under the new name; other DDL lines are ignored by rule. A line
// is taken whole or not at all. Pure but for the source table's name; one thread.
#pragma once

#include <string>

#include "ingest/change_rows.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/source_table.h"

namespace headrace::ingest {

class CanalDecoder final : public LineDecoder {
 public:
  CanalDecoder(TableShape table, EventOptions options);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  struct Message;

  LineOutcome DecodeMessage(const Message& message, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeDdl(const Message& message);
  LineOutcome DecodeRows(const Message& message, RowChange::Op op, CurrentRows* current, RowBuffer* out);

  const TableShape table_;
  const EventOptions options_;
  SourceChoice source_;
  ChangeRows changes_;
  JsonTape tape_;
};

}  // namespace headrace::ingest
