// Relations over splits of a snapshot, over a change reader, and over the small tables of `show`.
#include "api/sql_relations.h"

#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/open_table.h"
#include "api/public_rows.h"
#include "api/row_conditions.h"
#include "base/error.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

std::vector<std::string> NamesAt(const arrow::Schema& schema, const std::vector<int>& columns) {
  std::vector<std::string> names;
  for (const int column : columns) names.push_back(schema.field(column)->name());
  return names;
}

// The rows of one snapshot, a piece a split.
class StateRelation final : public Relation {
 public:
  StateRelation(Table table, std::optional<Snapshot> snapshot, std::shared_ptr<arrow::Schema> schema)
      : table_(std::make_shared<const Table>(std::move(table))),
        snapshot_(std::move(snapshot)),
        schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::optional<int64_t> row_count() const override {
    return snapshot_ ? snapshot_->total_record_count : int64_t{0};
  }

  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>& conditions) override {
    std::vector<RelationPiece> pieces;
    if (!snapshot_) return pieces;
    std::vector<RowCondition> of_rows;
    for (const ColumnCondition& condition : conditions) {
      if (auto of_row = RowConditionOf(table_->schema->fields, condition))
        of_rows.push_back(std::move(*of_row));
    }
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits,
                              PlanScan(*table_, *snapshot_, ScanView::kCurrent, std::move(of_rows)));
    ScanOptions options;
    options.columns = NamesAt(*schema_, columns);
    for (Split& split : splits) {
      pieces.push_back([table = table_, split = std::move(split), options, by = snapshot_->id] {
        return OpenSplits(*table, {split}, options, FilesNamedBy{by});
      });
    }
    return pieces;
  }

 private:
  const std::shared_ptr<const Table> table_;
  const std::optional<Snapshot> snapshot_;
  const std::shared_ptr<arrow::Schema> schema_;
};

// Batches with only some of their columns.
class SelectedColumns final : public arrow::RecordBatchReader {
 public:
  SelectedColumns(std::unique_ptr<ChangeReader> changes, std::vector<int> columns)
      : changes_(std::move(changes)), columns_(std::move(columns)) {
    arrow::FieldVector fields;
    for (const int column : columns_) fields.push_back(changes_->schema()->field(column));
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    HEADRACE_ASSIGN_OR_RETURN(*batch, changes_->Next());
    if (*batch == nullptr) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(*batch, (*batch)->SelectColumns(columns_));
    return Status::OK();
  }

 private:
  std::unique_ptr<ChangeReader> changes_;
  std::vector<int> columns_;
  std::shared_ptr<arrow::Schema> schema_;
};

// The changes of a range of snapshots, in one piece: their order is theirs.
class ChangesRelation final : public Relation {
 public:
  ChangesRelation(Table table, ChangesOptions options, std::shared_ptr<arrow::Schema> schema)
      : table_(std::make_shared<const Table>(std::move(table))),
        options_(std::move(options)),
        schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>&) override {
    ChangesOptions options = options_;
    // The first two are told of every change; the rest are the table's.
    std::vector<int> places;
    for (const int column : columns) {
      if (column >= 2) options.columns.push_back(schema_->field(column)->name());
      places.push_back(column < 2 ? column : static_cast<int>(1 + options.columns.size()));
    }
    if (options.columns.empty()) options.columns.push_back(schema_->field(2)->name());
    std::vector<RelationPiece> pieces;
    pieces.push_back(
        [table = table_, options, places]() -> Result<std::unique_ptr<arrow::RecordBatchReader>> {
          HEADRACE_ASSIGN_OR_RETURN(auto changes, OpenChangeReader(*table, options));
          return std::make_unique<SelectedColumns>(std::move(changes), places);
        });
    return pieces;
  }

 private:
  const std::shared_ptr<const Table> table_;
  const ChangesOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
};

// A batch at hand.
class BatchRelation final : public Relation {
 public:
  explicit BatchRelation(std::shared_ptr<arrow::RecordBatch> batch)
      : batch_(std::move(batch)), schema_(batch_->schema()) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::optional<int64_t> row_count() const override { return batch_->num_rows(); }
  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>&) override {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> selected, batch_->SelectColumns(columns));
    std::vector<RelationPiece> pieces;
    pieces.push_back([selected] { return ReaderOf(selected); });
    return pieces;
  }

 private:
  const std::shared_ptr<arrow::RecordBatch> batch_;
  const std::shared_ptr<arrow::Schema> schema_;
};

Result<std::shared_ptr<Relation>> OpenState(const Table& table, std::optional<int64_t> id) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, id));
  HEADRACE_ASSIGN_OR_RETURN(Table shaped,
                            id && snapshot ? TableAsOf(table, *snapshot) : Result<Table>(table));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(shaped, {}));
  return std::make_shared<StateRelation>(std::move(shaped), std::move(snapshot), std::move(schema));
}

Result<std::shared_ptr<Relation>> OpenChanges(const Table& table, const RelationName& name) {
  ChangesOptions options;
  if (name.from_snapshot) {
    options.from = ChangesOptions::From::kSnapshot;
    options.from_snapshot = *name.from_snapshot;
  }
  options.to_snapshot = name.to_snapshot;
  if (!options.to_snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(table));
    options.to_snapshot = latest ? latest->value : 0;
  }
  HEADRACE_ASSIGN_OR_RETURN(auto changes, OpenChangeReader(table, options));
  return std::make_shared<ChangesRelation>(table, std::move(options), changes->schema());
}

Result<std::shared_ptr<Relation>> OpenTold(const Table& table, const std::string& what) {
  std::shared_ptr<arrow::RecordBatch> batch;
  if (what == "snapshots") {
    HEADRACE_ASSIGN_OR_RETURN(batch, SnapshotsOf(table));
  } else if (what == "schemas") {
    HEADRACE_ASSIGN_OR_RETURN(batch, SchemasOf(table));
  } else if (what == "options") {
    HEADRACE_ASSIGN_OR_RETURN(batch, OptionsOf(table));
  } else if (what == "files") {
    HEADRACE_ASSIGN_OR_RETURN(batch, FilesOf(table, std::nullopt));
  } else if (what == "manifests") {
    HEADRACE_ASSIGN_OR_RETURN(batch, ManifestsOf(table, std::nullopt));
  } else if (what == "jobs") {
    HEADRACE_ASSIGN_OR_RETURN(batch, JobsOf(table));
  } else {
    return Invalid("table ", table.name, "$", what,
                   " is not known; snapshots, schemas, options, files, manifests and jobs are");
  }
  return std::make_shared<BatchRelation>(std::move(batch));
}

}  // namespace

Result<std::shared_ptr<Relation>> EngineRelations::Open(const RelationName& name) {
  const size_t dollar = name.table.find('$');
  const std::string full = name.database + "." + name.table.substr(0, dollar);
  HEADRACE_ASSIGN_OR_RETURN(const TablePlace at, engine_->PlaceOf(full));
  const SharedState* state = engine_->state().get();
  HEADRACE_ASSIGN_OR_RETURN(const Table table,
                            OpenTableAt(state->store, state->clock, at.path, at.name, Access::kRead));
  if (dollar != std::string::npos) return OpenTold(table, name.table.substr(dollar + 1));
  if (name.of == RelationName::Of::kChanges) return OpenChanges(table, name);
  return OpenState(table, name.snapshot);
}

}  // namespace headrace
