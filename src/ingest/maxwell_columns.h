// The columns that a DDL line of Maxwell gives its table: from `def`, with lengths and scales from the statement, which alone has them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/json_tape.h"
#include "ingest/schema_drift.h"

namespace headrace::ingest {

struct MaxwellTable {
  std::vector<SourceColumn> columns;
  std::vector<std::string> primary_key;
};

// Nothing for a line that defines no table.
std::optional<MaxwellTable> ReadMaxwellTable(const JsonToken& event);

}  // namespace headrace::ingest
