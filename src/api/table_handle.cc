// The table handle: each public method in terms of the rooms below.
#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/held_sources.h"
#include "api/open_table.h"
#include "api/public_rows.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "catalog/tags.h"
#include "format/value.h"
#include "ingest/jobs.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

TableInfo InfoOf(const Table& table) {
  TableInfo info;
  info.name = table.name;
  info.path = table.path;
  info.schema_id = table.schema->id.value;
  for (const DataField& field : table.schema->fields) {
    info.columns.push_back({field.id, field.name, ToSql(field.type), field.description.value_or("")});
  }
  info.primary_key = table.schema->primary_keys;
  info.partition_by = table.schema->partition_keys;
  info.options = table.schema->options;
  info.comment = table.schema->comment.value_or("");
  info.unknown_options = table.unknown_options;
  return info;
}

// Those of jobs and lookups are theirs.
Status CheckConsumerId(const std::string& id) {
  HEADRACE_RETURN_NOT_OK(WithContext("the consumer's name", ingest::CheckJobName(id)));
  if (!id.starts_with("headrace-") && !id.starts_with("lookup-")) return Status::OK();
  return Invalid("the consumer's name ", id,
                 ": names that begin with headrace- or lookup- are those of jobs and lookups");
}

class OpenedTable final : public TableHandle {
 public:
  OpenedTable(std::shared_ptr<SharedState> state, Table table, TableInfo info)
      : state_(std::move(state)), table_(std::move(table)), info_(std::move(info)) {}

  const TableInfo& info() const override { return info_; }

  Result<std::unique_ptr<arrow::RecordBatchReader>> Read(const ReadOptions& options) override {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table_, options.snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const Table table, TableFor(options, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(table, options.columns));
    std::unique_ptr<arrow::RecordBatchReader> rows;
    if (snapshot) {
      HEADRACE_ASSIGN_OR_RETURN(rows, OpenScan(table, *snapshot, ScanOptionsOf(options)));
    }
    return WithSchema(std::move(rows), std::move(schema));
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Get(const std::vector<std::pair<std::string, std::string>>& key,
                                                  const ReadOptions& options) override {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table_, options.snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const Table table, TableFor(options, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(table, options.columns));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> values, KeyValues(table, key));
    if (!snapshot) return nullptr;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> row,
                              FindByKey(table, *snapshot, values, ScanOptionsOf(options)));
    if (row == nullptr) return nullptr;
    return arrow::RecordBatch::Make(schema, row->num_rows(), row->columns());
  }

  Result<std::unique_ptr<Lookup>> OpenLookup(const LookupOptions& options) override {
    return OpenTableLookup(state_, table_, options);
  }

  Result<std::unique_ptr<ChangeReader>> Changes(const ChangesOptions& options) override {
    return OpenChangeReader(table_, options);
  }

  Result<std::optional<int64_t>> ConsumerPosition(const std::string& id) override {
    HEADRACE_RETURN_NOT_OK(CheckConsumerId(id));
    const std::string path = ConsumerPath(table_, id);
    HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(table_.store->ReadAll(path)));
    if (!bytes) return std::nullopt;
    HEADRACE_ASSIGN_OR_RETURN(const auto json, ParseJson(*bytes, path));
    HEADRACE_ASSIGN_OR_RETURN(const int64_t next, GetInt64(json, "nextSnapshot", path));
    return next;
  }

  Status MoveConsumer(const std::string& id, int64_t next_snapshot) override {
    HEADRACE_RETURN_NOT_OK(CheckConsumerId(id));
    JsonWriter out;
    out.BeginObject().Field("nextSnapshot", next_snapshot).EndObject();
    return table_.store->Replace(ConsumerPath(table_, id), std::move(out).Finish());
  }

  Result<std::unique_ptr<TableWriter>> OpenWriter() override {
    HEADRACE_ASSIGN_OR_RETURN(Table writable, OpenForWriting());
    return OpenTableWriter(state_, writable);
  }

  Result<RescaledTable> Rescale(const RescaleOptions& options) override {
    HEADRACE_ASSIGN_OR_RETURN(const Table writable, OpenForWriting());
    return RescaleTable(state_.get(), writable, options);
  }

  Result<CompactResult> Compact(bool full) override {
    HEADRACE_ASSIGN_OR_RETURN(Table writable, OpenForWriting());
    return CompactTable(state_.get(), writable, full);
  }

  Result<ExpireResult> Expire(const ExpireOptions& options) override {
    HEADRACE_ASSIGN_OR_RETURN(Table writable, OpenForWriting());
    return ExpireTable(writable, options);
  }

  Result<CheckReport> Check(const CheckOptions& options) override {
    return CheckOpenTable(state_.get(), table_, options);
  }

  Result<KeyHistory> Why(const std::vector<std::pair<std::string, std::string>>& key,
                         std::optional<int64_t> snapshot) override {
    return WhyOf(table_, key, snapshot);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> ShowSchemas() override { return SchemasOf(table_); }
  Result<std::shared_ptr<arrow::RecordBatch>> ShowSnapshots() override { return SnapshotsOf(table_); }
  Result<std::shared_ptr<arrow::RecordBatch>> ShowOptions() override { return OptionsOf(table_); }
  Result<std::shared_ptr<arrow::RecordBatch>> ShowFiles(std::optional<int64_t> snapshot) override {
    return FilesOf(table_, snapshot);
  }
  Result<std::shared_ptr<arrow::RecordBatch>> ShowManifests(std::optional<int64_t> snapshot) override {
    return ManifestsOf(table_, snapshot);
  }
  Result<std::shared_ptr<arrow::RecordBatch>> ShowJobs() override { return JobsOf(table_); }

  Status DropJob(const std::string& job) override {
    HEADRACE_ASSIGN_OR_RETURN(Table writable, OpenForWriting());
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<ingest::JobInfo> jobs, ingest::ListJobs(writable));
    const auto known =
        std::find_if(jobs.begin(), jobs.end(), [&](const ingest::JobInfo& one) { return one.job == job; });
    const Status dropped = ingest::DropJob(writable, job);
    if (!dropped.ok() && !IsKind(dropped, ErrorKind::kNotFound)) return dropped;
    // What a stage of a pipeline held back in its sources goes as well. One that never had an answer holds them all the same; its name tells its target.
    const bool is_stage =
        known != jobs.end() ? !known->position.sources.empty() : IsStageOf(job, writable.name);
    if (!is_stage) return dropped;
    HEADRACE_ASSIGN_OR_RETURN(const bool held, ReleaseHeldSources(writable, job));
    return held ? Status::OK() : dropped;
  }

  Result<std::vector<BucketInfo>> Tree(std::optional<int64_t> snapshot) override {
    return ReadTree(table_, snapshot);
  }

  Result<std::optional<int64_t>> LatestSnapshot() override {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<SnapshotId> id, FindLatestSnapshotId(table_));
    if (!id) return std::nullopt;
    return id->value;
  }

 private:
  Result<Table> OpenForWriting() const {
    return OpenTableAt(state_->store, state_->clock, table_.path, table_.name, Access::kWrite);
  }

  // A snapshot that is asked for shows its rows in the shape they had then, as Java's time travel does.
  Result<Table> TableFor(const ReadOptions& options, const std::optional<Snapshot>& snapshot) const {
    return options.snapshot && snapshot ? TableAsOf(table_, *snapshot) : Result<Table>(table_);
  }

  static ScanOptions ScanOptionsOf(const ReadOptions& options) {
    return {.columns = options.columns,
            .key_ordered = options.key_ordered,
            .read_optimized = options.read_optimized,
            .batch_rows = options.batch_rows,
            .pool = nullptr};
  }

  std::shared_ptr<SharedState> state_;
  Table table_;
  TableInfo info_;
};

}  // namespace

Result<std::unique_ptr<TableHandle>> OpenTableHandle(std::shared_ptr<SharedState> state,
                                                     const std::string& path, const std::string& name) {
  HEADRACE_ASSIGN_OR_RETURN(Table table, OpenTableAt(state->store, state->clock, path, name, Access::kRead));
  TableInfo info = InfoOf(table);
  return std::make_unique<OpenedTable>(std::move(state), std::move(table), std::move(info));
}

Result<std::vector<Value>> KeyValues(const Table& table,
                                     const std::vector<std::pair<std::string, std::string>>& key) {
  const TableSchema& schema = *table.schema;
  if (!schema.has_primary_key())
    return Invalid("looking up a key in table ", table.name, ": it has no primary key; use read");
  std::vector<Value> values(schema.primary_keys.size());
  std::vector<bool> given(values.size());
  for (const auto& [column, text] : key) {
    const auto found = std::find(schema.primary_keys.begin(), schema.primary_keys.end(), column);
    if (found == schema.primary_keys.end()) {
      return Invalid("looking up a key in table ", table.name, ": ", column,
                     " is not part of its primary key (", Joined(schema.primary_keys), ")");
    }
    const size_t i = found - schema.primary_keys.begin();
    if (given[i]) return Invalid("looking up a key in table ", table.name, ": ", column, " is given twice");
    const auto value = ValueFromText(text, schema.fields[schema.FieldIndex(column)].type);
    if (!value.ok())
      return WithContext("looking up a key in table " + table.name + ", column " + column, value.status());
    values[i] = *value;
    given[i] = true;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      return Invalid("looking up a key in table ", table.name, ": ", schema.primary_keys[i],
                     "=… is missing; the primary key is ", Joined(schema.primary_keys));
    }
  }
  return values;
}

Result<std::shared_ptr<arrow::Schema>> PublicSchema(const Table& table,
                                                    const std::vector<std::string>& columns) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ColumnsWanted(table, columns));
  return PublicSchemaOf(table.schema->FieldsOf(names));
}

Result<std::optional<Snapshot>> SnapshotFor(const Table& table, std::optional<int64_t> id) {
  if (!id) return ReadLatestSnapshot(table);
  HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, ReadSnapshot(table, SnapshotId(*id)));
  return snapshot;
}

}  // namespace headrace
