// CREATE TABLE read with or without columns, and written for a table that there is.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "headrace/engine.h"
#include "headrace/table.h"

namespace headrace {

// As ParseCreateTable where `with_columns`; otherwise the head of CREATE TABLE … AS, whose columns are the query's: the list in parentheses may be
// missing, and names a primary key at most.
Result<TableDefinition> ParseTableDefinition(std::string_view ddl, bool with_columns, std::string* name);

// A statement that makes the like of a table, in Flink's syntax.
std::string CreateTableTextOf(const TableInfo& info, const std::string& name);

}  // namespace headrace
