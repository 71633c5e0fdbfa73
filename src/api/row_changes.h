// INSERT, DELETE and UPDATE: a query's rows into a table by one writer and one commit.
//
// Nothing is committed when anything fails. Values are cast to the columns' types by DuckDB, which refuses what does not fit and rounds digits
// beyond a number's scale, as SQL's assignment does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "headrace/table.h"
#include "sql/query_session.h"
#include "sql/statement.h"

namespace headrace {

struct ChangedRows {
  int64_t rows = 0;
  std::optional<int64_t> snapshot;  // nothing: there was nothing to commit
};

// `columns` empty: all of the table's, in their order; columns that are not named are null.
Result<ChangedRows> InsertRows(QuerySession* session, TableHandle* table,
                               const std::vector<std::string>& columns, const std::string& query);
// kUnsupported where a delete, or a row written anew, would not stand for itself.
Result<ChangedRows> DeleteRows(QuerySession* session, TableHandle* table, const std::string& name,
                               const DeleteText& text);
Result<ChangedRows> UpdateRows(QuerySession* session, TableHandle* table, const std::string& name,
                               const UpdateText& text);

// Arrow fields with their Paimon types, as the public API has them.
std::shared_ptr<arrow::Schema> PublicSchemaOf(const std::vector<DataField>& fields);

}  // namespace headrace
