// Names to relations: a state, the changes, or one of the small tables of `show`.
#include "api/sql_relations.h"

#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/open_table.h"
#include "api/public_rows.h"
#include "base/error.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "pipeline/table_relation.h"
#include "read/scan.h"

namespace headrace {
namespace {

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

// `columns` are places in the schema of the changes: the first two are told of every change, the rest are the table's.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenChangeColumns(const Table& table,
                                                                    ChangesOptions options,
                                                                    const arrow::Schema& schema,
                                                                    const std::vector<int>& columns) {
  std::vector<int> places;
  for (const int column : columns) {
    if (column >= 2) options.columns.push_back(schema.field(column)->name());
    places.push_back(column < 2 ? column : static_cast<int>(1 + options.columns.size()));
  }
  if (options.columns.empty()) options.columns.push_back(schema.field(2)->name());
  HEADRACE_ASSIGN_OR_RETURN(auto changes, OpenChangeReader(table, options));
  return std::make_unique<SelectedColumns>(std::move(changes), std::move(places));
}

Result<std::shared_ptr<Relation>> OpenState(const Table& table, std::optional<int64_t> id) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, id));
  HEADRACE_ASSIGN_OR_RETURN(Table shaped,
                            id && snapshot ? TableAsOf(table, *snapshot) : Result<Table>(table));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(shaped, {}));
  return MakeStateRelation(std::move(shaped), std::move(snapshot), std::move(schema), TableView::kScan);
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
  const auto schema = changes->schema();
  // In one piece: the order of changes is theirs.
  return MakeReaderRelation(schema, [table = std::make_shared<const Table>(table),
                                     options = std::move(options), schema](const std::vector<int>& columns) {
    return OpenChangeColumns(*table, options, *schema, columns);
  });
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
  const auto schema = batch->schema();
  return MakeBatchesRelation(schema, {std::move(batch)});
}

}  // namespace

Result<std::shared_ptr<Relation>> EngineRelations::Open(const RelationName& name) {
  const size_t dollar = name.table.find('$');
  const std::string full = name.database + "." + name.table.substr(0, dollar);
  HEADRACE_ASSIGN_OR_RETURN(const Table table, engine_->OpenForReading(full));
  if (dollar != std::string::npos) return OpenTold(table, name.table.substr(dollar + 1));
  if (name.of == RelationName::Of::kChanges) return OpenChanges(table, name);
  return OpenState(table, name.snapshot);
}

}  // namespace headrace
