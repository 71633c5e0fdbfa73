// Checks of a table, and why a key has the row it has.
#include "headrace/check.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

#include "api/engine_state.h"
#include "api/open_table.h"
#include "maintain/check.h"
#include "maintain/finding_kinds.h"
#include "maintain/why.h"
#include "read/scan.h"

namespace headrace {

Result<CheckReport> CheckTable(Engine* engine, const std::string& name, const CheckOptions& options) {
  auto* internals = static_cast<EngineInternals*>(engine);
  HEADRACE_ASSIGN_OR_RETURN(TablePlace place, internals->PlaceOf(name));
  const SharedState* state = internals->state().get();
  Result<CheckReport> report = RunCheck(
      {state->store, state->clock, std::move(place.path), std::move(place.name), state->budget.limit()},
      options);
  if (!IsKind(report.status(), ErrorKind::kNotFound)) return report;
  // Opening says which table was meant.
  const Status opened = internals->OpenForReading(name).status();
  return IsKind(opened, ErrorKind::kNotFound) ? Result<CheckReport>(opened) : report;
}

std::span<const FindingKindInfo> FindingKinds() { return AllFindingKinds(); }

Result<CheckReport> CheckOpenTable(SharedState* state, const Table& table, const CheckOptions& options) {
  return RunCheck({state->store, state->clock, table.path, table.name, state->budget.limit()}, options);
}

Result<KeyHistory> WhyOf(const Table& table, const std::vector<std::pair<std::string, std::string>>& key,
                         std::optional<int64_t> snapshot_id) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, snapshot_id));
  HEADRACE_ASSIGN_OR_RETURN(const Table then,
                            snapshot_id&& snapshot ? TableAsOf(table, *snapshot) : Result<Table>(table));
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [column, text] : key) {
    const int index = then.schema->FieldIndex(column);
    // A column that is not there is told with those that are wanted.
    Value value;
    if (index >= 0) {
      HEADRACE_ASSIGN_OR_RETURN(value,
                                ValueFromText(text, then.schema->fields[static_cast<size_t>(index)].type));
    }
    values.emplace_back(column, std::move(value));
  }
  KeyHistory history;
  if (snapshot.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(history, ExplainKey(then, *snapshot, values, nullptr));
  } else {
    HEADRACE_RETURN_NOT_OK(CheckExplainable(then, values));
    history.conclusion = "nothing has been committed to the table yet: no row";
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Schema> schema, PublicSchema(then, {}));
  for (KeyVersion& version : history.versions)
    version.row = arrow::RecordBatch::Make(schema, version.row->num_rows(), version.row->columns());
  return history;
}

}  // namespace headrace
