// Lines into a decoder of change events, and what must hold of each: one fate; a bad line leaves nothing behind; what was taken makes
// a valid batch. For the fuzzers of the event forms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <arrow/record_batch.h>

#include "ingest/event.h"
#include "ingest/uncommitted_rows.h"

namespace headrace::ingest {

// A table with a column of every type.
inline TableShape EveryType() {
  TableShape table;
  table.fields = ParseColumns(
                     "customer_id BIGINT NOT NULL, name STRING NOT NULL, email VARCHAR(40), plan CHAR(5), "
                     "address STRING, d DECIMAL(10, 2), "
                     "b BYTES, f FLOAT, g DOUBLE, on_day DATE, at TIME(3), ts TIMESTAMP(6), tz "
                     "TIMESTAMP_LTZ(3), ok BOOLEAN, t TINYINT, "
                     "tags ARRAY<STRING>, m MAP<STRING, INT>, r ROW<x INT, y ARRAY<BYTES>>")
                     .ValueOrDie();
  table.key_columns = {0};
  table.keep_update_before = true;
  return table;
}

inline size_t LineEnd(std::string_view text) { return text.find('\n'); }

// `record_end` finds the line end after a record, or npos.
inline void FeedLines(std::string_view text, const TableShape& table, LineDecoder* decoder,
                      size_t (*record_end)(std::string_view) = LineEnd) {
  UncommittedRows current(&table,
                          [](const std::vector<Value>&, RowBuffer*) -> Result<bool> { return false; });
  RowBuffer rows(table.fields);
  bool header = decoder->wants_header();
  while (!text.empty()) {
    const size_t end = std::min(record_end(text), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int64_t before = rows.rows();
    const LineOutcome outcome =
        header ? decoder->ReadHeader(line) : decoder->Decode(line, std::nullopt, &current, &rows);
    if (header && outcome.fate == LineFate::kBad) return;
    header = false;
    if ((outcome.fate == LineFate::kApplied) != (rows.rows() > before)) std::abort();
    if (outcome.fate == LineFate::kBad && outcome.reason.empty()) std::abort();
    for (int i = 0; i < rows.num_columns(); ++i) {
      if (rows.column(i).size() != rows.rows()) std::abort();
    }
    current.Add(rows, before);
  }
  const RowBuffer::Batch batch = rows.Finish().ValueOrDie();
  if (!batch.rows->ValidateFull().ok()) std::abort();
}

}  // namespace headrace::ingest
