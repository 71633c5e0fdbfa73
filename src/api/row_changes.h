// INSERT, DELETE and UPDATE: a query's rows into a table by one writer and one commit.
//
// Nothing is committed when anything fails. Values are cast to the columns' types by DuckDB, which refuses what does not fit and rounds digits
// beyond a number's scale, as SQL's assignment does.
#pragma once

#include <cstdint>
#include <optional>

#include "api/engine_state.h"
#include "base/error.h"
#include "sql/query_session.h"
#include "sql/statement.h"

namespace headrace {

struct ChangedRows {
  int64_t rows = 0;
  std::optional<int64_t> snapshot;  // nothing: there was nothing to commit
};

// Each statement names its table as "db.table". Columns that an INSERT does not name are null.
Result<ChangedRows> InsertRows(EngineInternals* engine, QuerySession* session, const InsertText& insert);
// kUnsupported where a delete would not take its row away.
Result<ChangedRows> DeleteRows(EngineInternals* engine, QuerySession* session, const DeleteText& deletion);
// kUnsupported where a row that is written would not take the old one's place.
Result<ChangedRows> UpdateRows(EngineInternals* engine, QuerySession* session, const UpdateText& update);

}  // namespace headrace
