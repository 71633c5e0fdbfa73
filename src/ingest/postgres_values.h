// A value as PostgreSQL's output functions write it, into one cell of a column, exactly or not at all.
//
// The session that wrote it had DateStyle ISO, IntervalStyle postgres, TimeZone UTC, bytea_output hex and UTF-8. A refused value appends
// nothing that TruncateTo would not take back; `why` gets the reason, to follow the column's name. A STRING column takes every value as it
// is written. docs/change-events.md says what goes into which type. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ingest/row_buffer.h"

namespace headrace::ingest {

bool AppendPostgresText(std::string_view text, ColumnBuffer* column, std::string* why);

}  // namespace headrace::ingest
