// Opening the files of splits as rows, and rows as an Arrow reader: the parts that scans and changes share.
//
// A reader made here keeps the table handle (store, schema) alive, belongs to one thread, and puts the table's name before any error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "lsm/bucket_files.h"
#include "lsm/merge.h"
#include "read/scan.h"

namespace headrace {

// `columns`, or all. kNotFound for a column the table does not have, kInvalid for one asked twice.
Result<std::vector<std::string>> ColumnsWanted(const Table& table, const std::vector<std::string>& columns);

// The folder of a bucket with everything to read it; `table` outlives the result.
Result<BucketFiles> FilesOf(const Table& table, const BinaryRow& partition, BucketId bucket,
                            arrow::MemoryPool* pool);

// Opens the rows of the i-th part; called in order, once each.
using OpenPart = std::function<Result<std::unique_ptr<RowStream>>(const Table& table, size_t i)>;

// The snapshot, or with `or_changelog` the changelog it left behind as well, that names the files being read.
struct FilesNamedBy {
  SnapshotId snapshot;
  bool or_changelog = false;
};

// What it means that a file cannot be found: kSnapshotExpired when what names it is gone as well, else the table is damaged: kCorruption.
// Other failures stay what they are.
Status ExplainMissing(const Table& table, FilesNamedBy by, const Status& status);

// Without `by` a file that is not there stays kNotFound.
std::unique_ptr<arrow::RecordBatchReader> ReadParts(const Table& table, std::shared_ptr<arrow::Schema> schema,
                                                    size_t parts, OpenPart open,
                                                    std::optional<FilesNamedBy> by);

// Splits one after the other, as a scan reads them.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplits(const Table& table, std::vector<Split> splits,
                                                             const ScanOptions& options,
                                                             std::optional<FilesNamedBy> by);

}  // namespace headrace
