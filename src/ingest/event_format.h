// The forms of change events that are read, by the names that a user gives them.
#pragma once

#include <string_view>

#include "base/error.h"
#include "headrace/ingest_terms.h"

namespace headrace::ingest {

Result<EventFormat> ParseEventFormat(
    std::string_view name);  // "debezium-json", "json", "csv", "parquet", "arrow", "auto" or ""
std::string_view NameOf(EventFormat format);

}  // namespace headrace::ingest
