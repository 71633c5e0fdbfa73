#include "pipeline/source_changes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "catalog/snapshots.h"
#include "pipeline/table_relation.h"
#include "read/changes.h"
#include "read/table_lookup.h"
#include "sql/assigned_value.h"
#include "sql/query_shape.h"

namespace headrace::pipeline {
namespace {

constexpr int64_t kKeysALookup = 4096;

// The changes of a range, snapshot after snapshot, some of their columns.
class RangeReader final : public arrow::RecordBatchReader {
 public:
  RangeReader(std::unique_ptr<ChangeStream> stream, int64_t to, std::vector<int> places,
              std::shared_ptr<arrow::Schema> schema)
      : stream_(std::move(stream)), to_(to), places_(std::move(places)), schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = nullptr;
    while (true) {
      if (rows_ != nullptr) {
        HEADRACE_RETURN_NOT_OK(rows_->ReadNext(batch));
        if (*batch != nullptr) return Select(batch);
        rows_ = nullptr;
      }
      if (stream_->next_snapshot().value > to_) return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(std::optional<SnapshotChanges> changes, stream_->Next());
      if (!changes) return Status::OK();
      rows_ = std::move(changes->rows);
    }
  }

 private:
  Status Select(std::shared_ptr<arrow::RecordBatch>* batch) const {
    arrow::ArrayVector columns;
    for (const int place : places_) columns.push_back((*batch)->column(place));
    *batch = arrow::RecordBatch::Make(schema_, (*batch)->num_rows(), std::move(columns));
    return Status::OK();
  }

  const std::unique_ptr<ChangeStream> stream_;
  const int64_t to_;
  const std::vector<int> places_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<arrow::RecordBatchReader> rows_;
};

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenRange(const Table& table, const SourceRange& range,
                                                            const std::shared_ptr<arrow::Schema>& schema,
                                                            const std::vector<int>& columns) {
  ChangeStreamOptions options;
  options.from = SnapshotId(range.from);
  const int kind = schema->num_fields() - 1;
  std::vector<int> places;
  arrow::FieldVector fields;
  for (const int column : columns) {
    if (column != kind) options.columns.push_back(schema->field(column)->name());
    fields.push_back(schema->field(column));
  }
  if (options.columns.empty()) options.columns.push_back(schema->field(0)->name());
  int next = 0;
  for (const int column : columns)
    places.push_back(column == kind ? static_cast<int>(options.columns.size()) : next++);
  HEADRACE_ASSIGN_OR_RETURN(auto stream, ChangeStream::Open(table, std::move(options)));
  return std::make_unique<RangeReader>(std::move(stream), range.to, std::move(places),
                                       arrow::schema(std::move(fields)));
}

int64_t ChangedRows(const Snapshot& snapshot) {
  return std::max<int64_t>(std::abs(snapshot.delta_record_count.value_or(0)),
                           snapshot.changelog_record_count.value_or(0));
}

}  // namespace

Result<SourceRange> FindRange(const Table& table, int64_t next, int64_t most_rows) {
  SourceRange range;
  range.from = next;
  range.to = next - 1;
  int64_t rows = 0;
  while (rows < most_rows || range.empty()) {
    const int64_t id = range.to + 1;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> snapshot,
                              FindSnapshotOrChangelog(table, SnapshotId(id)));
    if (!snapshot) {
      HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(table));
      if (!latest || id > latest->value) break;
      // Made since it was looked for, or gone: who follows tells which.
      HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, {.from = SnapshotId(id)}));
      HEADRACE_RETURN_NOT_OK(stream->Next().status());
      continue;
    }
    range.to = id;
    range.overwritten |= snapshot->commit_kind == CommitKind::kOverwrite;
    rows += ChangedRows(*snapshot);
    range.rows = rows;
  }
  if (range.empty()) {
    // Positions behind the end are those of another table.
    HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, {.from = SnapshotId(next)}));
    HEADRACE_RETURN_NOT_OK(stream->Next().status());
    return range;
  }
  // The state is read at the end of the range: of the snapshots that have gone only changes are left.
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> earliest, FindEarliestSnapshotId(table));
  while (earliest && range.to < earliest->value) {
    ++range.to;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> snapshot,
                              FindSnapshotOrChangelog(table, SnapshotId(range.to)));
    range.overwritten |= snapshot && snapshot->commit_kind == CommitKind::kOverwrite;
  }
  return range;
}

bool NeedsLookups(const Table& table) {
  return table.schema->has_primary_key() && (table.options.changelog_producer == ChangelogProducer::kNone ||
                                             table.options.changelog_producer == ChangelogProducer::kInput);
}

Result<std::optional<Snapshot>> StateBefore(const Table& table, int64_t from) {
  if (from <= 1) return std::nullopt;
  HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, ReadSnapshot(table, SnapshotId(from - 1)));
  return snapshot;
}

std::shared_ptr<Relation> ChangesOf(const Table& table, const SourceRange& range) {
  arrow::FieldVector fields = ToArrowSchema(table.schema->fields)->fields();
  fields.push_back(arrow::field(kChangeKindColumn, arrow::int8()));
  const auto schema = arrow::schema(std::move(fields));
  return MakeReaderRelation(schema, [table, range, schema](const std::vector<int>& columns) {
    return OpenRange(table, range, schema, columns);
  });
}

Result<bool> CanLookUp(const Table& table, const std::optional<Snapshot>& snapshot) {
  if (!snapshot || NeedsLookups(table)) return true;
  if (!table.schema->has_primary_key() || table.options.changelog_producer != ChangelogProducer::kLookup)
    return false;
  // Level 0 is in the table, and in no changelog yet.
  bool all_shown = true;
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, *snapshot, filter, [&](ManifestEntry&& entry) {
    all_shown &= entry.file.level > Level(0);
    return Status::OK();
  }));
  return all_shown;
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> RowsOfKeys(
    const Table& table, const std::optional<Snapshot>& snapshot,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& keys, LookupCache* cache) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> found;
  if (!snapshot || keys.empty()) return found;
  HEADRACE_ASSIGN_OR_RETURN(const auto lookup, TableLookup::Open(table, *snapshot, {}, cache));
  const std::vector<DataField> fields = table.schema->FieldsOf(table.schema->primary_keys);
  for (const auto& batch : keys) {
    HEADRACE_ASSIGN_OR_RETURN(const auto fitted,
                              FitColumns(*batch, 0, fields, [](const DataField&) { return false; }));
    for (int64_t row = 0; row < fitted->num_rows(); row += kKeysALookup) {
      HEADRACE_ASSIGN_OR_RETURN(KeyedRows rows, lookup->FindAll(fitted->Slice(row, kKeysALookup)->columns()));
      if (rows.rows != nullptr && rows.rows->num_rows() > 0) found.push_back(std::move(rows.rows));
    }
  }
  return found;
}

}  // namespace headrace::pipeline
