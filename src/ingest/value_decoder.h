// One JSON value into one cell of a column, exactly: never rounded, cut, or wrapped around.
//
// What arrives is told by the shape (the envelope's schema) and, where that is plain, by the column's type, the JSON token and the modes.
// A refused value appends nothing that TruncateTo would not take back; `why` gets the reason, starting with the place inside a nested
// value. docs/change-events.md has the table of what goes into which type. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_buffer.h"
#include "ingest/value_shape.h"

namespace headrace::ingest {

bool AppendValue(const JsonToken& value, const ValueShape& shape, const ValueModes& modes,
                 ColumnBuffer* column, std::string* why);

// The same for text without JSON around it, as CSV has it: numbers and booleans are text too.
bool AppendTextValue(std::string_view text, const ValueModes& modes, ColumnBuffer* column, std::string* why);

// What Debezium puts in place of a value that PostgreSQL did not send again, in the shape of the column's type.
bool IsUnavailable(const JsonToken& value);

// A value for messages: its JSON, cut after 60 bytes.
std::string Excerpt(const JsonToken& value);

}  // namespace headrace::ingest
