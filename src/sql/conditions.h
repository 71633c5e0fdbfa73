// Conditions of a statement that every row a scan gives must meet, to be used by the scan so that it reads less.
//
// Only what cannot change the answer is found: conjuncts in the WHERE of a SELECT from one table alone that compare a column with a constant, of a
// table that the whole statement names once. DuckDB filters again, so that a scan may give more rows than meet them. Pure, but for DuckDB's parser.
#pragma once

#include <string>
#include <vector>

#include <duckdb.h>

#include "base/error.h"
#include "sql/relation.h"

namespace headrace {

struct TableConditions {
  std::string database;  // empty: as written, without one
  std::string table;
  std::vector<ColumnCondition> conditions;  // all are met
};

// Nothing for a statement that is no query, or in whose FROM stands what may hide a table: a function other than range, generate_series and
// unnest.
Result<std::vector<TableConditions>> FindConditions(duckdb_connection connection,
                                                    const std::string& statement);

}  // namespace headrace
