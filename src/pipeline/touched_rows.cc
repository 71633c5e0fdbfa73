// Touched keys by SQL; their rows by primary key where that costs less than a scan, else by a scan that leaves files and pages out.
#include "pipeline/touched_rows.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/stage_sources.h"
#include "pipeline/table_relation.h"
#include "pipeline/touched_keys.h"
#include "pipeline/window_close.h"
#include "sql/assigned_value.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

// So many keys are always looked up, and of a table one in so many rows.
constexpr int64_t kFewKeys = 64;
constexpr int64_t kRowsAKey = 20;
// Of more values files and pages are not left out by them.
constexpr int64_t kMostValues = 1024;

// By which files and pages without rows of the keys are left out: keys that are columns, where there are not too many values.
Result<std::vector<RowCondition>> ConditionsOf(StageWork* work, const std::string& keys,
                                               const QueryBranch& branch, size_t i) {
  std::vector<RowCondition> conditions;
  if (work->plan.closes) {
    HEADRACE_ASSIGN_OR_RETURN(conditions, TimesOfTouched(work));
  }
  const TableSchema& schema = *work->sources[work->TableOf(branch, i)].table.schema;
  const KeyedCopy* copy = work->plan.CopyNamed(branch.sources[i].ToString());
  for (size_t k = 0; k < branch.keys[i].size(); ++k) {
    if (!branch.keys[i][k].column) continue;
    const bool by_copy = copy != nullptr && copy->column == *branch.keys[i][k].column;
    const std::string column = by_copy ? kCopyKeyColumn : *branch.keys[i][k].column;
    const DataField& field = schema.fields[static_cast<size_t>(schema.FieldIndex(column))];
    HEADRACE_ASSIGN_OR_RETURN(const auto batches,
                              work->Batches(TouchedValuesQuery(keys, k, field.type, kMostValues + 1,
                                                               by_copy ? copy->null_as : "")));
    RowCondition condition{field.name, RowCondition::Is::kIn, {}};
    int64_t rows = 0;
    bool has_null = false;
    for (const auto& batch : batches) {
      HEADRACE_ASSIGN_OR_RETURN(const auto values,
                                FitColumns(*batch, 0, {field}, [](const DataField&) { return false; }));
      rows += batch->num_rows();
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        has_null |= static_cast<const arrow::BooleanArray&>(*batch->column(1)).Value(row);
        HEADRACE_ASSIGN_OR_RETURN(Value value, ValueAt(*values->column(0), row, field.type));
        if (!IsNull(value)) condition.values.push_back(std::move(value));
      }
    }
    if (!has_null && rows <= kMostValues && !condition.values.empty())
      conditions.push_back(std::move(condition));
  }
  return conditions;
}

// "$now i": the rows of the source that have keys of a temporary table; by their primary keys where that is what these are.
Status PutRowsOf(StageWork* work, const std::string& keys, const QueryBranch& branch, size_t i) {
  const size_t table = work->TableOf(branch, i);
  StageSource& source = work->sources[table];
  const std::string whole = FromRelation(Named("state", table));
  std::string from = whole;
  const std::string by_key = TouchedPrimaryKeysQuery(keys, branch, i, *source.table.schema);
  bool can = false;
  if (!by_key.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(can, CanLookUp(source.table, source.now));
  }
  if (can) {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindByPrimaryKey(work, table, by_key, Named("found", i)));
    from = found.value_or(whole);
  }
  if (from == whole) {
    HEADRACE_ASSIGN_OR_RETURN(from, PutPart(work, keys, branch, i));
  }
  return work->Run(MakeTemporary(Named("$now", i), TouchedRowsQuery(keys, branch, i, from)));
}

}  // namespace

Result<std::string> PutPart(StageWork* work, const std::string& keys, const QueryBranch& branch, size_t i,
                            const std::optional<RowCondition>& also) {
  const StageSource& source = work->sources[work->TableOf(branch, i)];
  HEADRACE_ASSIGN_OR_RETURN(std::vector<RowCondition> only, ConditionsOf(work, keys, branch, i));
  if (also) only.push_back(*also);
  work->relations.Put(Named("part", i),
                      MakeStateRelation(source.table, source.now, ToArrowSchema(source.table.schema->fields),
                                        TableView::kStream, std::move(only)));
  return FromRelation(Named("part", i));
}

Result<std::optional<std::string>> FindByPrimaryKey(StageWork* work, size_t table,
                                                    const std::string& keys_query, const std::string& name) {
  const StageSource& source = work->sources[table];
  HEADRACE_ASSIGN_OR_RETURN(const TouchedKeys keys, TouchedKeys::Of(work, keys_query));
  const int64_t rows = source.now ? source.now->total_record_count.value_or(0) : 0;
  if (keys.count() > std::max(kFewKeys, rows / kRowsAKey)) return std::nullopt;
  return keys.RowsIn(name, source.table, source.now);
}

Result<bool> FindTouched(StageWork* work, const QueryBranch& branch) {
  if (work->plan.closes) return FindClosed(work, branch);
  if (branch.row_wise) return true;  // what came and what went, as they are
  for (size_t i = 0; i < branch.sources.size(); ++i) {
    const size_t table = work->TableOf(branch, i);
    work->relations.PutSource(i, "SELECT " + ColumnList(work->sources[table].table.schema->fields) +
                                     " FROM " + TemporaryTable(Named("$delta", table)));
  }
  if (branch.keys[0].empty()) {
    std::string any;
    for (size_t i = 0; i < branch.sources.size(); ++i)
      any += (i == 0 ? "" : " UNION ALL ") +
             ("SELECT 1 FROM " + TemporaryTable(Named("$delta", work->TableOf(branch, i))));
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, work->Batches("SELECT * FROM (" + any + ") LIMIT 1"));
    return !rows.empty();
  }
  HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary("$touched", TouchedQuery(branch))));
  HEADRACE_ASSIGN_OR_RETURN(const auto rows,
                            work->Batches("SELECT 1 FROM " + TemporaryTable("$touched") + " LIMIT 1"));
  return !rows.empty();
}

Status PutNowAndThen(StageWork* work, const QueryBranch& branch, size_t i) {
  const size_t table = work->TableOf(branch, i);
  const TableSchema& schema = *work->sources[table].table.schema;
  const std::string now = Named("$now", i), then = Named("$then", i);
  const bool alone = GivesAlone(*work, branch, i);
  if (alone && !OthersChanged(*work, branch, i)) {
    HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary(now, DeltaRowsQuery(schema.fields, table, true))));
    return work->Run(MakeTemporary(then, DeltaRowsQuery(schema.fields, table, false)));
  }
  if (alone) HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary("$shared", TouchedQuery(branch, i))));
  HEADRACE_RETURN_NOT_OK(PutRowsOf(work, alone ? "$shared" : "$touched", branch, i));
  const bool changed = !work->sources[table].range.empty();
  HEADRACE_RETURN_NOT_OK(work->Run(
      MakeTemporary(then, changed ? RowsBeforeQuery(schema, i, table) : "FROM " + TemporaryTable(now))));
  if (!alone) return Status::OK();
  // What went is in "$then i" as it is, of whichever keys.
  return work->Run(AddToTemporary(
      now, RowsOfOtherKeysQuery("$shared", branch, i, "(" + DeltaRowsQuery(schema.fields, table, true) + ")"),
      /*anew=*/false));
}

}  // namespace headrace::pipeline
