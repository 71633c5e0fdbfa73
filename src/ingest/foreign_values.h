// Values as Canal, Maxwell and PostgreSQL's plugins write them, where the same JSON means another thing than in Debezium's events.
//
// Canal writes every value as text, bytes as Latin-1; Maxwell writes JSON columns as JSON and bytes as base64; PostgreSQL's plugins write what
// the server prints: bytes as hexadecimal digits, arrays as {1,NULL,"a b"}. Exact or refused, as all values are (value_decoder.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_buffer.h"

namespace headrace::ingest {

// Nothing: `value` is read as everywhere. Precondition: it is not null, and modes.source is not kConnect.
std::optional<bool> AppendForeignValue(const JsonToken& value, const ValueModes& modes, ColumnBuffer* column,
                                       std::string* why);

}  // namespace headrace::ingest
