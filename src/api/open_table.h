// Opening a table handle, and what the parts of this room share about tables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "api/engine_state.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "format/value.h"
#include "headrace/table.h"

namespace headrace {

// `path` is absolute. The table is opened for reading; writers open it once more for writing.
Result<std::unique_ptr<TableHandle>> OpenTableHandle(std::shared_ptr<SharedState> state,
                                                     const std::string& path, const std::string& name);

// The table's columns as Arrow fields that carry their Paimon type; all columns when `columns` is empty. kNotFound names a column that the
// table does not have and those that it has.
Result<std::shared_ptr<arrow::Schema>> PublicSchema(const Table& table,
                                                    const std::vector<std::string>& columns);

// A table of the same warehouse, by its name "db.table".
Result<Table> OpenSourceOf(const Table& table, const std::string& name);

// The snapshot asked for, else the latest; nothing when the table has none yet.
Result<std::optional<Snapshot>> SnapshotFor(const Table& table, std::optional<int64_t> id);

// The values of a key given as column=text pairs, in primary-key order.
Result<std::vector<Value>> KeyValues(const Table& table,
                                     const std::vector<std::pair<std::string, std::string>>& key);

// The parts of TableHandle that have a file of their own.
Result<std::unique_ptr<ChangeReader>> OpenChangeReader(const Table& table, const ChangesOptions& options);
Result<std::unique_ptr<TableWriter>> OpenTableWriter(std::shared_ptr<SharedState> state, const Table& table);
Result<std::unique_ptr<Lookup>> OpenTableLookup(std::shared_ptr<SharedState> state, const Table& table,
                                                const LookupOptions& options);
Result<CompactResult> CompactTable(SharedState* state, const Table& table, bool full);
Result<RescaledTable> RescaleTable(SharedState* state, const Table& table, const RescaleOptions& options);
Result<ExpireResult> ExpireTable(const Table& table, const ExpireOptions& options);
Result<CheckReport> CheckOpenTable(SharedState* state, const Table& table, const CheckOptions& options);
Result<KeyHistory> WhyOf(const Table& table, const std::vector<std::pair<std::string, std::string>>& key,
                         std::optional<int64_t> snapshot);
Result<std::vector<BucketInfo>> ReadTree(const Table& table, std::optional<int64_t> snapshot);

Result<std::shared_ptr<arrow::RecordBatch>> SchemasOf(const Table& table);
Result<std::shared_ptr<arrow::RecordBatch>> SnapshotsOf(const Table& table);
Result<std::shared_ptr<arrow::RecordBatch>> OptionsOf(const Table& table);
Result<std::shared_ptr<arrow::RecordBatch>> FilesOf(const Table& table, std::optional<int64_t> snapshot);
Result<std::shared_ptr<arrow::RecordBatch>> ManifestsOf(const Table& table, std::optional<int64_t> snapshot);
Result<std::shared_ptr<arrow::RecordBatch>> JobsOf(const Table& table);

}  // namespace headrace
