// Debezium's JSON events, with or without their schema, into rows and row kinds.
//
// c and r insert; u updates: with -U and +U where the table keeps -U and `before` is whole, else +U alone; a key that changes inside one
// event deletes the old key and inserts the new row; d deletes, of which only the key counts; t truncates; m is ignored. A value that
// PostgreSQL did not send again is taken from `before` when it is whole, else from the table's current row; for the create of a key change
// from the row of the old key, known by the message header or by being of the same log position as the delete before.
// Pure but for the memory said above; one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/connect_schema.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_reader.h"
#include "ingest/schema_drift.h"
#include "ingest/source_table.h"

namespace headrace::ingest {

using DebeziumOptions = EventOptions;

class DebeziumDecoder final : public LineDecoder {
 public:
  DebeziumDecoder(TableShape table, DebeziumOptions options);

  LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line, CurrentRows* current,
                     RowBuffer* out) override;
  std::string source_table() const override { return source_.chosen(); }

 private:
  // What a schema seen before means for the table's columns.
  struct KnownSchema {
    std::string prefix;  // of the line, up to the payload
    std::string text;    // of the schema alone
    std::vector<ValueShape> by_column;
    std::vector<SourceColumn> columns;
  };
  struct Event;

  LineOutcome DecodeMessage(const JsonToken& root, std::optional<std::string_view> key_line,
                            CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeEnveloped(const JsonToken& root, const JsonToken* key, CurrentRows* current,
                              RowBuffer* out);
  LineOutcome DecodePayload(const JsonToken& payload, const JsonToken* key, CurrentRows* current,
                            RowBuffer* out);
  LineOutcome DecodeEvent(Event& event, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeChange(const Event& event, CurrentRows* current, RowBuffer* out);
  LineOutcome DecodeWithoutOp(const Event& event);
  LineOutcome DecodeDdl(const Event& event);
  LineOutcome DecodeAlter(const Event& event);
  void UseKnown(const KnownSchema* schema);

  LineOutcome Insert(const Event& event, CurrentRows* current, RowBuffer* out);
  LineOutcome Update(const Event& event, CurrentRows* current, RowBuffer* out);
  LineOutcome Delete(const Event& event, RowBuffer* out);

  // Whose row has the values that the source did not send again.
  enum class OldRow {
    kNone,     // values are never left out here: the placeholder's words are data
    kSameKey,  // the row that has this event's key now
    kOldKey,   // the row that has the key in deleted_key_ now
    kDeleted,  // the row that had the key in deleted_key_ before its delete
  };
  LineOutcome AppendAfter(const Event& event, RowKind kind, const JsonToken* before, OldRow old_row,
                          CurrentRows* current, RowBuffer* out);
  LineOutcome FillUnavailable(const JsonToken* before, OldRow old_row, CurrentRows* current, RowBuffer* out);
  bool HasKey(const JsonToken& image) const;
  bool SameKey(const JsonToken& before, const JsonToken& after) const;
  bool UseSchema(const JsonToken& schema, std::string* why);
  std::optional<LineOutcome> DecodeKnownPrefix(std::string_view line,
                                               std::optional<std::string_view> key_line, CurrentRows* current,
                                               RowBuffer* out);
  void RememberPrefix(std::string_view line);
  const JsonToken* ParseKeyLine(std::optional<std::string_view> key_line, LineOutcome* problem);

  const TableShape table_;
  const DebeziumOptions options_;
  SourceChoice source_;
  RowReader rows_;
  JsonTape tape_;
  JsonTape inner_tape_;  // of a message whose value is text
  JsonTape key_tape_;
  const JsonToken* old_key_ = nullptr;  // of the line's header, valid during Decode
  const std::vector<ValueShape>* shapes_ = nullptr;
  const KnownSchema* schema_ = nullptr;                // of the line; null: it has none
  std::vector<std::unique_ptr<KnownSchema>> schemas_;  // newest first, a few
  RowBuffer deleted_key_;         // the key of the last delete, when it may be half of a key change
  std::string deleted_position_;  // its log position; empty: none
  std::vector<int> unavailable_;
};

}  // namespace headrace::ingest
