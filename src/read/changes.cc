#include "read/changes.h"

#include <algorithm>
#include <map>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "lsm/append_compaction.h"
#include "lsm/merge.h"
#include "read/split_pruning.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

// The changed files of one bucket, in the order their rows are delivered.
struct BucketOfChanges {
  BinaryRow partition;
  BucketId bucket;
  std::vector<DataFileMeta> files;
};

std::vector<BucketOfChanges> ByBucket(const Table& table, std::vector<ManifestEntry> entries) {
  std::map<std::pair<std::string, BucketId>, size_t> places;
  std::vector<BucketOfChanges> buckets;
  for (ManifestEntry& entry : entries) {
    if (entry.kind != EntryKind::kAdd) continue;
    const auto [place, is_new] = places.try_emplace({entry.partition.bytes, entry.bucket}, buckets.size());
    if (is_new) buckets.push_back({entry.partition, entry.bucket, {}});
    buckets[place->second].files.push_back(std::move(entry.file));
  }
  if (table.options.bucket < 0 && !table.schema->has_primary_key()) {
    for (BucketOfChanges& bucket : buckets) bucket.files = InSequenceOrder(std::move(bucket.files));
  }
  return buckets;
}

// Rows of an append table have no kind in their files: all are inserts.
class InsertRows final : public RowStream {
 public:
  InsertRows(std::unique_ptr<RowStream> rows, arrow::MemoryPool* pool) : rows_(std::move(rows)), pool_(pool) {
    const DataField kind = SequenceAndKindFields()[1];
    schema_ = rows_->schema()->AddField(rows_->schema()->num_fields(), ToArrowField(kind)).ValueOrDie();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows_->Next());
    if (batch == nullptr) return nullptr;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> kinds,
                              arrow::AllocateBuffer(batch->num_rows(), pool_));
    std::fill_n(kinds->mutable_data(), batch->num_rows(), static_cast<uint8_t>(RowKind::kInsert));
    std::vector<std::shared_ptr<arrow::Array>> columns = batch->columns();
    columns.push_back(std::make_shared<arrow::Int8Array>(batch->num_rows(), std::move(kinds)));
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

 private:
  std::unique_ptr<RowStream> rows_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<arrow::Schema> schema_;
};

// The kind stands first in a file's batches and last in what is handed out.
class KindLast final : public RowStream {
 public:
  explicit KindLast(std::unique_ptr<RowStream> rows) : rows_(std::move(rows)) {
    arrow::FieldVector fields = rows_->schema()->fields();
    std::rotate(fields.begin(), fields.begin() + 1, fields.end());
    schema_ = arrow::schema(std::move(fields));
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows_->Next());
    if (batch == nullptr) return nullptr;
    std::vector<std::shared_ptr<arrow::Array>> columns = batch->columns();
    std::rotate(columns.begin(), columns.begin() + 1, columns.end());
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

 private:
  std::unique_ptr<RowStream> rows_;
  std::shared_ptr<arrow::Schema> schema_;
};

Result<std::unique_ptr<RowStream>> OpenChanges(const Table& table, const BucketOfChanges& bucket,
                                               const std::vector<std::string>& columns,
                                               const ChangeStreamOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(const BucketFiles files,
                            FilesOf(table, bucket.partition, bucket.bucket, options.pool));
  const bool keyed = table.schema->has_primary_key();
  HEADRACE_ASSIGN_OR_RETURN(
      std::unique_ptr<RowStream> rows,
      OpenConcatenation(files, bucket.files, {.kind = keyed, .values = columns}, options.batch_rows));
  if (keyed) return std::make_unique<KindLast>(std::move(rows));
  return std::make_unique<InsertRows>(std::move(rows), options.pool);
}

class SnapshotBySnapshot final : public ChangeStream {
 public:
  SnapshotBySnapshot(const Table& table, std::vector<std::string> columns, ChangeStreamOptions options)
      : table_(table), columns_(std::move(columns)), options_(std::move(options)), next_(options_.from) {
    std::vector<DataField> fields = table_.schema->FieldsOf(columns_);
    fields.push_back(SequenceAndKindFields()[1]);
    schema_ = ToArrowSchema(fields);
  }

  SnapshotId next_snapshot() const override { return next_; }

  Result<std::optional<SnapshotChanges>> Next() override {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, FindNext());
    if (!snapshot.has_value()) return std::nullopt;
    SnapshotChanges changes;
    changes.skipped_overwrite = snapshot->commit_kind == CommitKind::kOverwrite;
    if (!changes.skipped_overwrite) {
      HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestEntry> entries, ChangedFiles(*snapshot));
      changes.rows = Open(ByBucket(table_, std::move(entries)), snapshot->id);
    }
    changes.snapshot = *std::move(snapshot);
    ++next_.value;
    return changes;
  }

 private:
  // The snapshot, or the changelog it left behind. Nothing: it is not there yet.
  Result<std::optional<Snapshot>> FindNext() const {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> found, FindSnapshotOrChangelog(table_, next_));
    if (found.has_value()) return found;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(table_));
    const int64_t newest = latest.has_value() ? latest->value : 0;
    if (next_.value == newest + 1) return std::nullopt;
    if (next_.value > newest) {
      return Invalid("following table ", table_.name, ": the next snapshot is ", next_.value,
                     " but the latest is ", newest,
                     "; the table was rolled back or made anew, or the position is of another table");
    }
    // It may have come into being since it was looked for.
    HEADRACE_ASSIGN_OR_RETURN(found, FindSnapshotOrChangelog(table_, next_));
    if (found.has_value()) return found;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> earliest, FindEarliestSnapshotId(table_));
    if (earliest.has_value() && next_ > *earliest) {
      return Corruption("following table ", table_.name, ": ", SnapshotPath(table_, next_),
                        " is missing, although snapshots ", *earliest, " to ", newest,
                        " should all be there");
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> first, FindEarliestChangeId(table_));
    return SnapshotExpired("following table ", table_.name, ": snapshot ", next_.value,
                           " has expired, and its changes with it; changes are retained from snapshot ",
                           first.has_value() ? first->value : 0, " to ", newest,
                           ". Begin anew with the full state, or retain more (changelog.time-retained)");
  }

  Result<std::vector<ManifestEntry>> ChangedFiles(const Snapshot& snapshot) const {
    const bool from_delta = table_.options.changelog_producer == ChangelogProducer::kNone;
    if (!from_delta) {
      return snapshot.changelog_manifest_list.has_value()
                 ? ChangelogEntries(table_, snapshot)
                 : Result<std::vector<ManifestEntry>>(std::vector<ManifestEntry>{});
    }
    return snapshot.commit_kind == CommitKind::kAppend
               ? DeltaEntries(table_, snapshot)
               : Result<std::vector<ManifestEntry>>(std::vector<ManifestEntry>{});
  }

  std::unique_ptr<arrow::RecordBatchReader> Open(std::vector<BucketOfChanges> buckets, SnapshotId of) const {
    if (buckets.empty()) return nullptr;
    const size_t parts = buckets.size();
    return ReadParts(
        table_, schema_, parts,
        [buckets = std::move(buckets), columns = columns_, options = options_](const Table& table, size_t i) {
          return OpenChanges(table, buckets[i], columns, options);
        },
        FilesNamedBy{of, /*or_changelog=*/true});
  }

  const Table table_;
  const std::vector<std::string> columns_;
  const ChangeStreamOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  SnapshotId next_;
};

// Whether a stream has shown the rows of a file on this level.
bool IsVisible(const Table& table, const DataFileMeta& file) {
  switch (table.options.changelog_producer) {
    case ChangelogProducer::kNone:
    case ChangelogProducer::kInput: return true;
    case ChangelogProducer::kLookup: return file.level.value > 0;
    case ChangelogProducer::kFullCompaction: return file.level == table.options.max_level();
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ChangeStream>> ChangeStream::Open(const Table& table, ChangeStreamOptions options) {
  if (options.from.value < 1) {
    return Invalid("following table ", table.name, ": snapshot ids begin with 1, not ", options.from.value);
  }
  HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> columns, ColumnsWanted(table, options.columns));
  return std::make_unique<SnapshotBySnapshot>(table, std::move(columns), std::move(options));
}

Result<std::vector<Split>> PlanStreamVisibleState(const Table& table, const Snapshot& snapshot,
                                                  std::vector<RowCondition> conditions) {
  const FilePruner pruner(table, std::move(conditions));
  EntryFilter filter;
  filter.detail = pruner.prunes() ? EntryDetail::kWhole : EntryDetail::kWithoutStatistics;
  std::vector<ManifestEntry> live;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, snapshot, filter, [&](ManifestEntry&& entry) {
    if (!IsVisible(table, entry.file)) return Status::OK();
    if (pruner.prunes()) {
      HEADRACE_ASSIGN_OR_RETURN(const bool may_hold, pruner.MayHold(entry));
      if (!may_hold) return Status::OK();
    }
    live.push_back(std::move(entry));
    return Status::OK();
  }));
  HEADRACE_ASSIGN_OR_RETURN(const IndexFiles index, IndexFiles::Read(table, snapshot));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits,
                            PlanSplits(table, std::move(live), index, ScanView::kEveryLevel));
  HEADRACE_RETURN_NOT_OK(PruneSplits(pruner, table, &splits));
  return splits;
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenStreamVisibleState(const Table& table,
                                                                         const Snapshot& snapshot,
                                                                         const ScanOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits, PlanStreamVisibleState(table, snapshot));
  return OpenSplits(table, std::move(splits), options, FilesNamedBy{snapshot.id});
}

}  // namespace headrace
