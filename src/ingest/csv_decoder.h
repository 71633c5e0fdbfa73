// CSV records under a header, by RFC 4180: quotes around a field, two quotes for one inside.
//
// The header names columns of the table in any order; columns that it does not name are null. An empty field without quotes is null, with
// quotes it is empty text; `null_text` unquoted is null too. Values are text and are taken as exactly as JSON's. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/event.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

struct CsvField {
  std::string text;
  bool quoted = false;
};

// The fields of one record; false with `why` for stray quotes.
bool SplitCsvRecord(std::string_view record, char delimiter, std::vector<CsvField>* fields, std::string* why);

struct CsvOptions {
  char delimiter = ',';
  std::string null_text;
  std::string kind_column;
  ValueModes modes;
};

class CsvDecoder final : public LineDecoder {
 public:
  CsvDecoder(TableShape table, CsvOptions options);

  bool wants_header() const override { return true; }
  LineOutcome ReadHeader(std::string_view record) override;
  LineOutcome Decode(std::string_view record, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;

 private:
  static constexpr int kKindColumn = -2;

  LineOutcome AppendField(const CsvField& field, int column, bool key_only, RowBuffer* out);

  const TableShape table_;
  const CsvOptions options_;
  std::vector<int> columns_;  // by field: the table's column, or kKindColumn
  std::vector<std::string> names_;
  int kind_field_ = -1;
  std::vector<CsvField> fields_;
};

}  // namespace headrace::ingest
