// Records of PostgreSQL's plugin test_decoding (test_decoding_text.h) into rows and row kinds.
//
// INSERT, UPDATE and DELETE of the table that is taken; BEGIN, COMMIT and messages are ignored; a TRUNCATE that names the table empties it. A
// large value that was not sent again comes from the old row, else from the table's current row; a column that is not named at all is null.
// Types come without lengths, so a DECIMAL that is too narrow becomes wide enough for the value. Pure; one thread.
#pragma once

#include <string>
#include <string_view>

#include "ingest/change_rows.h"
#include "ingest/event.h"
#include "ingest/source_table.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {

class TestDecodingDecoder final : public LineDecoder {
 public:
  TestDecodingDecoder(TableShape table, EventOptions options);

  LineOutcome Decode(std::string_view record, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  std::optional<LineOutcome> AskTables(const TestDecodingChange& change);
  LineOutcome Apply(const TestDecodingChange& change, CurrentRows* current, RowBuffer* out);
  void OfferColumns(const TestDecodingChange& change, LineOutcome* outcome) const;

  const TableShape table_;
  const EventOptions options_;
  SourceChoice source_;
  ChangeRows changes_;
};

}  // namespace headrace::ingest
