#include "read/split_rows.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/text.h"
#include "catalog/snapshots.h"

namespace headrace {
namespace {

class PartReader final : public arrow::RecordBatchReader {
 public:
  PartReader(const Table& table, std::shared_ptr<arrow::Schema> schema, size_t parts, OpenPart open,
             std::optional<FilesNamedBy> by)
      : table_(table), schema_(std::move(schema)), parts_(parts), open_(std::move(open)), by_(by) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    const Status status = Read(batch);
    if (status.ok()) return status;
    return WithContext("reading table " + table_.name, by_ ? ExplainMissing(table_, *by_, status) : status);
  }

 private:
  Status Read(std::shared_ptr<arrow::RecordBatch>* batch) {
    *batch = nullptr;
    while (true) {
      if (rows_ == nullptr) {
        if (next_ == parts_) return Status::OK();
        HEADRACE_ASSIGN_OR_RETURN(rows_, open_(table_, next_++));
      }
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> rows, rows_->Next());
      if (rows != nullptr) {
        *batch = arrow::RecordBatch::Make(schema_, rows->num_rows(), rows->columns());
        return Status::OK();
      }
      rows_.reset();
    }
  }

  const Table table_;
  const std::shared_ptr<arrow::Schema> schema_;
  const size_t parts_;
  const OpenPart open_;
  const std::optional<FilesNamedBy> by_;
  size_t next_ = 0;
  std::unique_ptr<RowStream> rows_;
};

}  // namespace

Result<std::vector<std::string>> ColumnsWanted(const Table& table, const std::vector<std::string>& columns) {
  if (columns.empty()) return table.schema->ColumnNames();
  for (auto name = columns.begin(); name != columns.end(); ++name) {
    if (table.schema->FieldIndex(*name) < 0) {
      return NotFound("reading table ", table.name, ": there is no column '", *name, "'; its columns are ",
                      Joined(table.schema->ColumnNames()));
    }
    if (std::find(columns.begin(), name, *name) != name) {
      return Invalid("reading table ", table.name, ": the column '", *name, "' is asked for twice");
    }
  }
  return columns;
}

Result<BucketFiles> FilesOf(const Table& table, const BinaryRow& partition, BucketId bucket,
                            arrow::MemoryPool* pool) {
  BucketFiles files;
  files.store = table.store.get();
  HEADRACE_ASSIGN_OR_RETURN(files.directory, table.BucketDirectory(partition, bucket));
  files.schema = table.schema;
  files.schema_by_id = table.schema_by_id;
  files.options = &table.options;
  files.clock = table.clock.get();
  files.pool = pool;
  files.key_ordered = bucket.value >= 0;
  HEADRACE_ASSIGN_OR_RETURN(files.index_directory, table.IndexDirectory(partition, bucket));
  return files;
}

std::unique_ptr<arrow::RecordBatchReader> ReadParts(const Table& table, std::shared_ptr<arrow::Schema> schema,
                                                    size_t parts, OpenPart open,
                                                    std::optional<FilesNamedBy> by) {
  return std::make_unique<PartReader>(table, std::move(schema), parts, std::move(open), by);
}

Status ExplainMissing(const Table& table, FilesNamedBy by, const Status& status) {
  if (!IsKind(status, ErrorKind::kNotFound)) return status;
  const auto there =
      by.or_changelog ? FindSnapshotOrChangelog(table, by.snapshot) : FindSnapshot(table, by.snapshot);
  if (there.ok() && !there->has_value())
    return SnapshotExpired("snapshot ", by.snapshot.value, " expired meanwhile: ", status.message());
  return Corruption("snapshot ", by.snapshot.value, " is there, a file it names is not: ", status.message(),
                    MayBeEnding(table, by.snapshot));
}

}  // namespace headrace
