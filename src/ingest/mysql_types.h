// MySQL's and MariaDB's column types as Canal, Maxwell and DDL write them, and the Paimon type that holds every value of each exactly.
//
// Pure. Lengths of text and bytes are the source's to keep: the column is STRING or BYTES. A type whose values Paimon has no exact type for becomes STRING, holding what came (docs/change-events.md lists all).
#pragma once

#include <optional>
#include <string_view>

#include "format/data_type.h"

namespace headrace::ingest {

// From "bigint(20) unsigned", "decimal(20,6)", "varchar(80)", "enum('a','b')" …; nothing for a type that is not known. Nullable.
std::optional<DataType> TypeOfMysql(std::string_view type);

}  // namespace headrace::ingest
