#include "pipeline/window_close.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/table_relation.h"
#include "sql/assigned_value.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

std::string TimeOf(int64_t ms) {
  return "(TIMESTAMP '1970-01-01' + to_milliseconds(CAST(" + std::to_string(ms) + " AS BIGINT)))";
}

// Whether the window that begins at `start` has ended.
std::string HasEnded(const StagePlan& plan, const std::string& start, std::optional<int64_t> watermark) {
  if (!watermark) return "FALSE";
  return "(" + start + " + " + plan.closes->window.size + " <= " + TimeOf(*watermark) + ")";
}

const DataField& TimeColumn(const StageWork& work) {
  const TableSchema& schema = *work.sources[0].table.schema;
  return schema.fields[static_cast<size_t>(schema.FieldIndex(work.plan.closes->window.column))];
}

// Conditions on the time's column, from the bounds that a query gives, either of which may be null.
Result<std::vector<RowCondition>> Between(StageWork* work, const std::string& low, const std::string& high,
                                          const std::string& from) {
  const DataField& time = TimeColumn(*work);
  // By TIMESTAMP: DuckDB casts no TIMESTAMP_NS, which a window's beginning may be, to coarser types.
  const auto assigned = [&](const std::string& bound) {
    return AssignedSql("CAST(" + bound + " AS TIMESTAMP)", time.type);
  };
  HEADRACE_ASSIGN_OR_RETURN(const auto batches,
                            work->Batches("SELECT " + assigned(low) + ", " + assigned(high) + from));
  std::vector<RowCondition> conditions;
  for (const auto& batch : batches) {
    HEADRACE_ASSIGN_OR_RETURN(const auto bounds,
                              FitColumns(*batch, 0, {time, time}, [](const DataField&) { return false; }));
    HEADRACE_ASSIGN_OR_RETURN(Value least, ValueAt(*bounds->column(0), 0, time.type));
    HEADRACE_ASSIGN_OR_RETURN(Value most, ValueAt(*bounds->column(1), 0, time.type));
    if (!IsNull(least)) conditions.push_back({time.name, Comparison::kGreaterOrEqual, {std::move(least)}});
    // What the column has no digits for was cut of it: the bound itself is within.
    if (!IsNull(most)) conditions.push_back({time.name, Comparison::kLessOrEqual, {std::move(most)}});
  }
  return conditions;
}

// "closing": rows of the windows that end after the watermark before and by the one now, and others about them.
Status PutClosing(StageWork* work) {
  const StageSource& source = work->sources[0];
  const std::string size = work->plan.closes->window.size;
  // A month before the end of a window may be some days off its beginning.
  const std::string slack = "(CASE WHEN date_part('month', " + size + ") <> 0 OR date_part('year', " + size +
                            ") <> 0 THEN INTERVAL 3 DAY ELSE INTERVAL 0 DAY END)";
  const std::string low = work->watermark_before
                              ? "(" + TimeOf(*work->watermark_before) + " - " + size + " - " + slack + ")"
                              : "NULL";
  HEADRACE_ASSIGN_OR_RETURN(auto times, Between(work, low, TimeOf(*work->watermark), ""));
  work->relations.Put("closing",
                      MakeStateRelation(source.table, source.now, ToArrowSchema(source.table.schema->fields),
                                        TableView::kStream, std::move(times)));
  return Status::OK();
}

}  // namespace

Status AdvanceWatermark(StageWork* work, const std::string& from) {
  work->watermark_before = work->watermark;
  const std::string time = QuotedName(work->plan.closes->window.column);
  HEADRACE_ASSIGN_OR_RETURN(const auto batches,
                            work->Batches("SELECT epoch_ms(date_trunc('millisecond', CAST(max(" + time +
                                          ") AS TIMESTAMP)))" + from));
  for (const auto& batch : batches) {
    const auto& greatest = static_cast<const arrow::Int64Array&>(*batch->column(0));
    if (greatest.IsNull(0)) continue;
    const int64_t by_row = greatest.Value(0) - work->plan.closes->delay_ms;
    work->watermark = std::max(work->watermark.value_or(by_row), by_row);
  }
  return Status::OK();
}

Status AdvanceByChanges(StageWork* work) {
  const StageSource& source = work->sources[0];
  // What an overwrite brought no stream tells.
  if (source.range.overwritten) return AdvanceWatermark(work, FromRelation("state 0"));
  work->relations.Put("seen", ChangesOf(source.table, source.range));
  return AdvanceWatermark(work, FromRelation("seen") + " WHERE " + QuotedName(kChangeKindColumn) + " IN (" +
                                    std::to_string(static_cast<int>(RowKind::kInsert)) + ", " +
                                    std::to_string(static_cast<int>(RowKind::kUpdateAfter)) + ")");
}

std::string WhereClosed(const StagePlan& plan, std::optional<int64_t> watermark) {
  if (!plan.closes) return {};
  return " WHERE " + HasEnded(plan, "c" + std::to_string(plan.closes->window.output), watermark);
}

Result<bool> FindClosed(StageWork* work, const QueryBranch& branch) {
  const std::string start = TouchedColumn(work->plan.closes->window.key);
  work->relations.PutSource(0, "SELECT " + ColumnList(work->sources[0].table.schema->fields) + " FROM " +
                                   TemporaryTable("$delta 0"));
  HEADRACE_RETURN_NOT_OK(
      work->Run(MakeTemporary("$touched", "SELECT * FROM (" + TouchedQuery(branch) + ") WHERE " +
                                              HasEnded(work->plan, start, work->watermark))));
  if (work->watermark != work->watermark_before) {
    HEADRACE_RETURN_NOT_OK(PutClosing(work));
    work->relations.PutSource(0, "SELECT *" + FromRelation("closing"));
    const std::string had_ended = HasEnded(work->plan, start, work->watermark_before);
    HEADRACE_RETURN_NOT_OK(work->Run("INSERT INTO " + TemporaryTable("$touched") + " SELECT * FROM (" +
                                     TouchedQuery(branch) + ") WHERE " +
                                     HasEnded(work->plan, start, work->watermark) + " AND NOT " + had_ended));
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto rows,
                            work->Batches("SELECT 1 FROM " + TemporaryTable("$touched") + " LIMIT 1"));
  return !rows.empty();
}

Result<std::vector<RowCondition>> TimesOfTouched(StageWork* work) {
  const std::string start = TouchedColumn(work->plan.closes->window.key);
  return Between(work, "min(" + start + ")", "(max(" + start + ") + " + work->plan.closes->window.size + ")",
                 " FROM " + TemporaryTable("$touched"));
}

}  // namespace headrace::pipeline
