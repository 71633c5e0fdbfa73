// What must hold of rows before any of them is kept: the table's columns, no null where none may be, row kinds that exist and that the
// table takes. Default values are filled in where a row has null.
//
// Pure. kInvalid names the row (counted from 0 in the batch) and the column, and what is allowed. Lengths of CHAR and VARCHAR are not
// checked, as Java does not on this path. Source: TableWriteImpl, DefaultValueRow, RowKindFilter, AppendOnlyWriter.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"

namespace headrace {

struct CheckedRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<arrow::Array>
      kinds;  // int8; null: all inserts; always null for a table without a primary key
};

Result<CheckedRows> CheckRows(const Table& table, const std::shared_ptr<arrow::RecordBatch>& rows,
                              const std::shared_ptr<arrow::Array>& kinds, arrow::MemoryPool* pool);

}  // namespace headrace
