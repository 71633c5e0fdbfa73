// Batches in the shape of key-value files, put together from their parts.
//
// The key columns of such a file are copies of value columns, so they are never read or gathered twice: they share the arrays.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "format/table_schema.h"

namespace headrace {

class KeyValueShape {
 public:
  explicit KeyValueShape(const TableSchema& schema);

  // The columns of KeyValueFields(schema).
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  // Those without the copies of the keys: sequence, kind, all columns of the table.
  const std::shared_ptr<arrow::Schema>& values_schema() const { return values_schema_; }
  // Positions of the trimmed primary key among the table's columns.
  const std::vector<int>& key_columns() const { return key_columns_; }

  // `values` are all columns of the table, in order.
  std::shared_ptr<arrow::RecordBatch> Assemble(
      std::shared_ptr<arrow::Array> sequences, std::shared_ptr<arrow::Array> kinds,
      const std::vector<std::shared_ptr<arrow::Array>>& values) const;
  // From the rows of a merge or a file: sequence, kind, then all columns of the table.
  std::shared_ptr<arrow::RecordBatch> Assemble(const arrow::RecordBatch& sequence_kind_values) const;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> values_schema_;
  std::vector<int> key_columns_;
};

// The columns of a batch at these positions, in their order.
std::vector<std::shared_ptr<arrow::Array>> ColumnsAt(const arrow::RecordBatch& batch,
                                                     const std::vector<int>& positions);

}  // namespace headrace
