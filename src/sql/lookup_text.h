// Lookup joins as Flink writes them: `customers FOR SYSTEM_TIME AS OF o.proc_time AS c`, of which DuckDB's grammar knows nothing.
//
// The clause is taken out of the text, blank for byte, so that every place stays what it is; which tables it stood behind is told by where their names
// begin. What follows AS OF is a column, whichever, or PROCTIME(): the table is meant as it stands when a row is taken in. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/error.h"

namespace headrace {

struct LookupText {
  std::string query;        // without the clauses
  std::set<size_t> tables;  // where the names of the tables that are looked up begin in it
};

// kUnsupported for another time than these, kInvalid where the clause stands behind no table.
Result<LookupText> TakeLookups(const std::string& query);

}  // namespace headrace
