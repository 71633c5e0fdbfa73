// SQL scripts cut into statements, and the heads of those that are carried out here and not by DuckDB.
//
// Only heads are read: the query of an INSERT, the condition of a DELETE and the values of an UPDATE stay text, for DuckDB to judge. Names are
// "db.table", or "table" alone; of catalog.db.table the last two count. Pure. kInvalid tells the line and column of what is not understood,
// kUnsupported the clause that is, and is refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "headrace/alter_terms.h"

namespace headrace {

struct CreateTableText {
  std::string name;
  bool if_not_exists = false;
  std::string definition;  // the whole statement, without its query
  std::string query;       // of CREATE TABLE … AS; empty: none
};
struct DropTableText {
  std::string name;
  bool if_exists = false;
};
struct AlterTableText {
  std::string name;
  bool if_exists = false;
  std::vector<SchemaChange> changes;  // of ALTER TABLE … RENAME TO: none
  std::string new_name;               // RENAME TO; empty: none
  Status mistake;  // what is not understood, of a name without a database: DuckDB's own table may be meant
};
struct InsertText {
  std::string name;
  std::vector<std::string> columns;  // empty: all, in their order
  std::string query;
  bool on_window_close = false;  // EMIT ON WINDOW CLOSE stands behind the query
};
struct DeleteText {
  std::string name;
  std::string alias;
  std::string condition;  // empty: all rows
};
struct UpdateText {
  std::string name;
  std::string alias;
  std::vector<std::pair<std::string, std::string>> values;  // column, expression
  std::string condition;
};
struct DescribeText {
  std::string name;
};
struct ShowText {
  enum class What { kDatabases, kTables, kCreateTable };
  What what = What::kTables;
  std::string name;  // kTables: a database, may be empty; kCreateTable: the table
};
struct UseText {
  std::string database;
};
// SET 'key' = 'value', in Flink's syntax. DuckDB's own SET has its key without quotes.
struct SetText {
  std::string key;
  std::string value;
};
// What DuckDB runs, as written.
struct QueryText {
  std::string text;
};

using Statement = std::variant<CreateTableText, DropTableText, AlterTableText, InsertText, DeleteText,
                               UpdateText, DescribeText, ShowText, UseText, SetText, QueryText>;

// The statements of a script, each with its own bytes of it, comments before it left out. A name in `…` is given "…", which DuckDB understands.
Result<std::vector<std::string>> SplitScript(std::string_view script);

// Whether a text ends a statement: what an interactive prompt waits for. False inside quotes or comments, and without a ';' at the end.
bool IsComplete(std::string_view text);

Result<Statement> ParseStatement(std::string_view statement);

}  // namespace headrace
