// PostgreSQL's types by the names that format_type prints and wal2json repeats: the same column types as by their numbers (postgres_types.h).
// Pure.
#pragma once

#include <string_view>

#include "format/data_type.h"

namespace headrace::ingest {

// From "integer", "numeric(10,2)", "character varying(40)", "timestamp(3) without time zone", "text[]" … Nullable.
DataType TypeOfPostgresName(std::string_view name);

}  // namespace headrace::ingest
