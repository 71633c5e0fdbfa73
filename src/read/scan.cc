#include "read/scan.h"

#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "lsm/merge.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

Result<std::unique_ptr<RowStream>> OpenRows(const Table& table, const Split& split,
                                            const std::vector<std::string>& columns,
                                            const ScanOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(const BucketFiles files,
                            FilesOf(table, split.partition, split.bucket, options.pool));
  if (split.raw) return OpenConcatenation(files, split.files, {.values = columns}, options.batch_rows);
  const TableSchema& schema = *table.schema;
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order,
                            KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  std::vector<TreeFilePtr> tree_files;
  for (const DataFileMeta& meta : split.files) {
    HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order, meta));
    tree_files.push_back(std::move(file));
  }
  MergeRequest request;
  request.sections = PartitionIntoSections(std::move(tree_files));
  request.values = columns;
  request.key_ordered = options.key_ordered;
  request.policy = MergePolicyOf(table.options, /*drop_deletes=*/true);
  request.batch_rows = options.batch_rows;
  return OpenMerge(files, std::move(request));
}

}  // namespace

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplits(const Table& table, std::vector<Split> splits,
                                                             const ScanOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> columns, ColumnsWanted(table, options.columns));
  std::shared_ptr<arrow::Schema> schema = ToArrowSchema(table.schema->FieldsOf(columns));
  const size_t parts = splits.size();
  OpenPart open = [splits = std::move(splits), columns = std::move(columns), options](
                      const Table& held, size_t i) { return OpenRows(held, splits[i], columns, options); };
  return ReadParts(table, std::move(schema), parts, std::move(open));
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplit(const Table& table, const Split& split,
                                                            const ScanOptions& options) {
  return OpenSplits(table, {split}, options);
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenScan(const Table& table, const Snapshot& snapshot,
                                                           const ScanOptions& options) {
  HEADRACE_RETURN_NOT_OK(CheckNoDeletionVectors(table, snapshot));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestEntry> live, LiveFiles(table, snapshot));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits, PlanSplits(table, std::move(live)));
  return OpenSplits(table, std::move(splits), options);
}

Result<Table> TableAsOf(const Table& table, const Snapshot& snapshot) {
  if (snapshot.schema_id == table.schema->id) return table;
  Table then = table;
  HEADRACE_ASSIGN_OR_RETURN(then.schema, table.schema_by_id(snapshot.schema_id));
  HEADRACE_ASSIGN_OR_RETURN(then.options, ParseTableOptions(*then.schema, Access::kRead));
  return then;
}

}  // namespace headrace
