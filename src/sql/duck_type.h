// Paimon types as DuckDB writes them, for casts. Pure.
#pragma once

#include <string>

#include "format/data_type.h"

namespace headrace {

// "BIGINT", "DECIMAL(10, 2)", "STRUCT(\"a\" INTEGER, …)"; lengths of texts and bytes are left to who writes them. A MULTISET is a map.
std::string DuckTypeOf(const DataType& type);

}  // namespace headrace
