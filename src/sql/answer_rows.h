// A running query's rows as Arrow batches in Paimon's types.
//
// Chunks of DuckDB's are put together to batches of some ten thousand rows, then cast to the Arrow types of `fields`; a value that one of these cannot
// hold is kInvalid naming the column. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "sql/duckdb_handle.h"

namespace headrace {

// The Paimon fields of a statement's columns; `as_text[i]` says that column i has no Paimon type and must be cast to text by the query.
struct AnswerShape {
  std::vector<DataField> fields;
  std::vector<bool> as_text;
};
Result<AnswerShape> ShapeOf(duckdb_connection connection, duckdb_prepared_statement statement);

// `result` is streaming. `failure` gives the error behind a failed fetch, told DuckDB's own message.
std::unique_ptr<arrow::RecordBatchReader> OpenAnswerRows(std::unique_ptr<DuckResult> result,
                                                         std::vector<DataField> fields,
                                                         std::function<Status(const char*)> failure);

}  // namespace headrace
