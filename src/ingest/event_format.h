// The forms of change events that are read, by the names that a user gives them.
#pragma once

#include <string_view>

#include "base/error.h"
#include "headrace/ingest_terms.h"

namespace headrace::ingest {

Result<EventFormat> ParseEventFormat(std::string_view name);  // as NameOf says it, "auto" or ""
std::string_view NameOf(EventFormat format);
// Forms whose lines are changes of rows, so that each has its own decoder of events (event_decoders.h).
bool IsEventForm(EventFormat format);

}  // namespace headrace::ingest
