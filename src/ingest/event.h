// What becomes of one input line, and the contract of a decoder: bytes in, columns out.
//
// A decoder gives each line exactly one fate. kApplied appended one row or more to the RowBuffer; every other fate appended nothing. A bad
// record names the field and the reason; the caller knows the line's number and bytes. Decoders are pure but for memory of what they
// have seen (schemas, the order of names, the delete before a create); the same lines in the same order give the same fates.
// A decoder and its buffers belong to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/alter_terms.h"
#include "ingest/row_buffer.h"

namespace headrace::ingest {

// How values are written that do not say it themselves: plain Debezium without its schema, or JSON lines. The words are those of the
// connector's settings. kUnsaid takes what can only mean one thing and refuses a value that could mean two.
enum class DecimalMode { kUnsaid, kPrecise, kString };         // decimal.handling.mode
enum class BinaryMode { kUnsaid, kBase64, kBase64Url, kHex };  // binary.handling.mode
enum class TimeMode {
  kAdaptive,
  kAdaptiveTimeMicroseconds,  // TIME in microseconds whatever its precision, instants as in kAdaptive
  kMicroseconds,
  kConnect,
  kNanoseconds
};  // time.precision.mode; ISO text is seen by itself

// Whose events the values are in: foreign_values.h tells the differences.
enum class ValueSource { kConnect, kCanal, kMaxwell, kPostgres };

struct ValueModes {
  DecimalMode decimal = DecimalMode::kUnsaid;
  BinaryMode binary = BinaryMode::kUnsaid;
  TimeMode time = TimeMode::kAdaptive;
  ValueSource source = ValueSource::kConnect;

  // The same for values of events of another.
  ValueModes Of(ValueSource other) const {
    ValueModes modes = *this;
    modes.source = other;
    return modes;
  }
};

struct EventOptions {
  ValueModes modes;
  std::string source_table;        // empty: the first event's
  std::string known_source_table;  // of an earlier run of the job
  bool truncate_deletes = true;
  bool follow_schema = false;  // kSchemaChange instead of kBad where a change of the table would help
};

enum class LineFate {
  kApplied,
  kIgnored,   // `rule` says by which rule
  kBad,       // `field` and `reason`
  kTruncate,  // the source emptied the table: delete every live row
  kSchemaChange,  // `changes` make the table fit the source again: apply them and decode again with a decoder of the new shape
  kNeedsRows,  // the event refers to a row that it does not send: decode again with a CurrentRows
};

struct LineOutcome {
  LineFate fate = LineFate::kIgnored;
  std::string_view rule;  // static text: "tombstone", "heartbeat" …
  std::string field;      // dotted path, "after.name"; empty: the line as a whole
  std::string reason;
  std::vector<SchemaChange> changes;  // of kSchemaChange; field and reason say what they are needed for
  bool foreign_form =
      false;  // kBad because the line is of a form that is not read here at all: the input is refused
  // The delete before may be the first half of a key change whose second half is still to come: do not commit between them.
  bool open_delete = false;

  static LineOutcome Applied() {
    LineOutcome outcome;
    outcome.fate = LineFate::kApplied;
    return outcome;
  }
  static LineOutcome Ignored(std::string_view rule) {
    LineOutcome outcome;
    outcome.rule = rule;
    return outcome;
  }
  static LineOutcome Bad(std::string field, std::string reason) {
    LineOutcome outcome;
    outcome.fate = LineFate::kBad;
    outcome.field = std::move(field);
    outcome.reason = std::move(reason);
    return outcome;
  }
};

// The rows that events refer to without sending them: the table's newest rows, uncommitted ones included.
class CurrentRows {
 public:
  struct Row {
    const RowBuffer* rows = nullptr;  // of the table's columns
    int64_t row = 0;
  };
  virtual ~CurrentRows() = default;
  // The row that has the key of `key_rows` at `key_row`, or nothing. `before_delete`: as it was before its last delete.
  virtual Result<std::optional<Row>> Find(const RowBuffer& key_rows, int64_t key_row, bool before_delete) = 0;
};

class LineDecoder {
 public:
  virtual ~LineDecoder() = default;
  // `line` without its line end; `key_line` the message key's line, or nothing. `current` may be null: see kNeedsRows.
  virtual LineOutcome Decode(std::string_view line, std::optional<std::string_view> key_line,
                             CurrentRows* current, RowBuffer* out) = 0;
  // Of forms whose inputs begin with a header: it is read by ReadHeader, also when an input is continued in its middle.
  virtual bool wants_header() const { return false; }
  virtual LineOutcome ReadHeader(std::string_view) { return {}; }
  // The source table that the events are of, once one was seen: "public.customers".
  virtual std::string source_table() const { return {}; }
};

}  // namespace headrace::ingest
