// Debezium's events after the transform ExtractNewRecordState: the row itself with `__op`, `__deleted` and the like beside its columns.
//
// `__op` says what happened, and `__deleted` alone only that a row is there or gone: then a row that is there is written as +U. Deletes count by
// their key. Names that begin with two underscores and are no column of the table are the transform's. A value that PostgreSQL did not
// send again is taken from the table's current row in an update; in an insert its placeholder is data. Pure; one thread.
#pragma once

#include <string>
#include <vector>

#include "ingest/change_rows.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/schema_drift.h"
#include "ingest/source_table.h"
#include "ingest/value_shape.h"

namespace headrace::ingest {

class FlatDecoder final : public LineDecoder {
 public:
  FlatDecoder(TableShape table, EventOptions options);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  LineOutcome DecodeEnveloped(const JsonToken& root, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeRow(const JsonToken& row, CurrentRows* current, RowBuffer* out);
  bool UseSchema(const JsonToken& schema, std::string* why);
  void LeaveOutUnsent(RowChange* change) const;

  const TableShape table_;
  const EventOptions options_;
  SourceChoice source_;
  ChangeRows changes_;
  JsonTape tape_;
  std::string schema_;  // the last line's
  std::vector<ValueShape> shapes_;
  std::vector<SourceColumn> columns_;
  bool typed_ = false;  // the line has a schema
};

// What happened to the row of a flattened event, or what stands against knowing it.
std::optional<RowChange::Op> FlatOpOf(const JsonToken& row, std::string* field, std::string* why);
// Is that name one of the transform's?
bool IsFlatMark(std::string_view name);
SourceName FlatSourceOf(const JsonToken& row);

}  // namespace headrace::ingest
