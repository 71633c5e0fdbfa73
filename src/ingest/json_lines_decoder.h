// Plain JSON lines, an object a row, with an optional column that holds the row kind (+I, -U, +U, -D).
//
// Without a kind column every line inserts. -U rows are written where the table keeps them and are ignored by rule elsewhere. Pure.
#pragma once

#include <optional>
#include <string>

#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

// "+I" …; nothing for another text.
std::optional<RowKind> ParseRowKind(std::string_view text);

class JsonLinesDecoder final : public LineDecoder {
 public:
  // Modes that are unsaid take decimals as numbers or text, and bytes as hexadecimal digits, as `read --format jsonl` writes them.
  JsonLinesDecoder(TableShape table, ValueModes modes, std::string kind_column);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;

 private:
  const TableShape table_;
  const std::string kind_column_;
  RowReader rows_;
  JsonTape tape_;
};

// What is wrong with a row of that kind for that table; empty when nothing is.
std::string WrongKind(RowKind kind, const TableShape& table);

}  // namespace headrace::ingest
