// A table as what SQL reads: its rows at a snapshot, as a scan or a stream shows them; rows at hand; rows that a function opens.
//
// A relation keeps the snapshot it was opened at. Files that an expiry takes away meanwhile are an error of the query.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "read/pruning.h"
#include "sql/relation.h"

namespace headrace {

enum class TableView {
  kScan,    // what a batch query shows
  kStream,  // what a stream has shown by the end of the snapshot
};

// `schema` has the table's columns. Nothing for a snapshot: no rows. Rows that do not meet `only` may be left out.
std::shared_ptr<Relation> MakeStateRelation(Table table, std::optional<Snapshot> snapshot,
                                            std::shared_ptr<arrow::Schema> schema, TableView view,
                                            std::vector<RowCondition> only = {});

std::shared_ptr<Relation> MakeBatchesRelation(std::shared_ptr<arrow::Schema> schema,
                                              std::vector<std::shared_ptr<arrow::RecordBatch>> batches);

// One piece, in the order in which `open` gives rows. It is told the columns, places in `schema`.
using OpenColumns = std::function<Result<std::unique_ptr<arrow::RecordBatchReader>>(const std::vector<int>&)>;
std::shared_ptr<Relation> MakeReaderRelation(std::shared_ptr<arrow::Schema> schema, OpenColumns open);

}  // namespace headrace
