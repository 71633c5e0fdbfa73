// ALTER TABLE in Flink's syntax: ADD, MODIFY, DROP and RENAME of columns, SET and RESET of options, RENAME TO.
//
// Into the changes that headrace/alter_terms.h has; whether a table takes them is the catalog's to say. The word COLUMN may stand before a column's
// name, and ALTER may be written for MODIFY. Pure. kUnsupported names what Paimon tables or Headrace do not have.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "sql/statement.h"
#include "sql/tokens.h"

namespace headrace {

// `tokens` are those of the statement `text`, which begins with ALTER TABLE.
Result<Statement> ParseAlterTable(std::string_view text, std::vector<Token> tokens);

}  // namespace headrace
