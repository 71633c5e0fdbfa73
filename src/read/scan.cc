#include "read/scan.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "lsm/merge.h"
#include "read/split_rows.h"
#include "read/wanted_keys.h"

namespace headrace {
namespace {

// Files of one level follow each other in key order.
bool SpansLevels(const Split& split) {
  return std::any_of(split.files.begin(), split.files.end(),
                     [&](const TreeFilePtr& file) { return file->meta.level != split.files[0]->meta.level; });
}

Result<std::unique_ptr<RowStream>> OpenRows(const Table& table, const Split& split,
                                            const std::vector<std::string>& columns,
                                            const ScanOptions& options,
                                            std::shared_ptr<const KeyRanges> only) {
  HEADRACE_ASSIGN_OR_RETURN(BucketFiles files, FilesOf(table, split.partition, split.bucket, options.pool));
  files.only = std::move(only);
  HEADRACE_ASSIGN_OR_RETURN(files.deletions,
                            ReadDeletions(table, {split.partition, split.bucket}, split.deletions));
  if (split.raw && !(options.key_ordered && SpansLevels(split))) {
    std::vector<DataFileMeta> metas;
    for (const TreeFilePtr& file : split.files) metas.push_back(file->meta);
    return OpenConcatenation(files, std::move(metas), {.values = columns}, options.batch_rows);
  }
  MergeRequest request;
  request.sections = PartitionIntoSections(split.files);
  request.values = columns;
  request.key_ordered = options.key_ordered;
  request.policy = MergePolicyOf(table.options, /*drop_deletes=*/true);
  request.batch_rows = options.batch_rows;
  return OpenMerge(files, std::move(request));
}

}  // namespace

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplits(const Table& table, std::vector<Split> splits,
                                                             const ScanOptions& options,
                                                             std::optional<FilesNamedBy> by) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> columns, ColumnsWanted(table, options.columns));
  std::shared_ptr<arrow::Schema> schema = ToArrowSchema(table.schema->FieldsOf(columns));
  const size_t parts = splits.size();
  OpenPart open = [splits = std::move(splits), columns = std::move(columns), options,
                   only = WantedKeys(*table.schema, options.conditions)](const Table& held, size_t i) {
    return OpenRows(held, splits[i], columns, options, only);
  };
  return ReadParts(table, std::move(schema), parts, std::move(open), by);
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenSplit(const Table& table, const Split& split,
                                                            const ScanOptions& options) {
  return OpenSplits(table, {split}, options, std::nullopt);
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenScan(const Table& table, const Snapshot& snapshot,
                                                           const ScanOptions& options) {
  const ScanView view = options.read_optimized ? ScanView::kReadOptimized : ScanView::kCurrent;
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits, PlanScan(table, snapshot, view));
  return OpenSplits(table, std::move(splits), options, FilesNamedBy{snapshot.id});
}

Result<Table> TableAsOf(const Table& table, const Snapshot& snapshot) {
  if (snapshot.schema_id == table.schema->id) return table;
  Table then = table;
  HEADRACE_ASSIGN_OR_RETURN(then.schema, table.schema_by_id(snapshot.schema_id));
  HEADRACE_ASSIGN_OR_RETURN(then.options, ParseTableOptions(*then.schema, Access::kRead));
  return then;
}

}  // namespace headrace
