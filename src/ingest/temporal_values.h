// Dates, times of day and instants into cells: from counts of days or of a fraction of a second, and from ISO text. No digit is lost. Pure.
#pragma once

#include <string_view>

#include "ingest/json_tape.h"
#include "ingest/value_shape.h"
#include "ingest/value_target.h"

namespace headrace::ingest {

// Into a column of DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ. A plain number's unit is told by the modes, else by the column's precision.
bool AppendTemporal(const JsonToken& value, const ValueShape& shape, const Target& to);

bool AppendDateText(std::string_view text, const Target& to);
bool AppendClockText(std::string_view text, const Target& to);
bool AppendInstantText(std::string_view text, const Target& to);

}  // namespace headrace::ingest
