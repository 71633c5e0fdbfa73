#include "pipeline/lost_extremes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "pipeline/answer_difference.h"
#include "pipeline/stage_queries.h"
#include "pipeline/touched_rows.h"
#include "read/column_ends.h"
#include "sql/duck_type.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

bool HasExtremes(const QueryBranch& branch) {
  return std::any_of(branch.outputs.begin(), branch.outputs.end(), [](const ShapeOutput& output) {
    return output.folds == Folds::kMin || output.folds == Folds::kMax;
  });
}

// The target's columns whose value some group lost. Precondition: the branch has extremes.
Result<std::vector<DataField>> LostColumns(StageWork* work, const QueryBranch& branch) {
  HEADRACE_ASSIGN_OR_RETURN(const auto batches,
                            work->Batches(LostExtremesQuery(work->plan, branch, work->target_schema())));
  std::vector<DataField> lost;
  for (int i = 0; i < batches[0]->num_columns(); ++i) {
    if (static_cast<const arrow::BooleanArray&>(*batches[0]->column(i)).Value(0))
      lost.push_back(work->target_schema().fields[static_cast<size_t>(i)]);
  }
  return lost;
}

// The answer for the touched groups, by rows that meet the condition among others.
Status AnswerTouched(StageWork* work, const QueryBranch& branch, const std::optional<RowCondition>& end) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string part, PutPart(work, "$touched", branch, 0, end));
  work->relations.PutSource(0, TouchedRowsQuery("$touched", branch, 0, part));
  return work->Run(MakeTemporary("$extremes", AnswerQuery(work->plan, branch.text, work->target_schema())));
}

// Whether all groups that lost the value of the column have their new one where the column ends.
Result<bool> FindAtTheEnd(StageWork* work, const QueryBranch& branch, const DataField& lost) {
  const std::vector<std::string>& columns = work->plan.columns;
  const ShapeOutput& output = branch.outputs[static_cast<size_t>(
      std::find(columns.begin(), columns.end(), lost.name) - columns.begin())];
  const StageSource& source = work->sources[work->TableOf(branch, 0)];
  const std::string& column = output.folded;
  if (column.empty() || !source.now) return false;
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<RowCondition> end,
                            EndOfColumn(source.table, *source.now, column, output.folds == Folds::kMax));
  if (!end) return false;
  const DataType& type =
      source.table.schema->fields[static_cast<size_t>(source.table.schema->FieldIndex(column))].type;
  const std::string bound =
      "CAST(" + QuotedText(ToText(end->values[0], type)) + " AS " + DuckTypeOf(type) + ")";
  for (const bool found : {false, true}) {
    // What was not beyond the bound has nothing beyond it now.
    if (found) HEADRACE_RETURN_NOT_OK(AnswerTouched(work, branch, end));
    HEADRACE_ASSIGN_OR_RETURN(
        const auto rows,
        work->Batches(NotBeyondQuery(work->plan, branch, work->target_schema(), lost, bound, found)));
    if (!rows.empty()) return false;
  }
  return true;
}

}  // namespace

Status FindLostExtremes(StageWork* work, const QueryBranch& branch) {
  HEADRACE_RETURN_NOT_OK(work->Run(EmptyAnswer(*work, "$extremes")));
  if (!HasExtremes(branch)) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> lost, LostColumns(work, branch));
  if (lost.empty()) return Status::OK();
  HEADRACE_RETURN_NOT_OK(FindTouched(work, branch).status());
  if (lost.size() == 1) {
    HEADRACE_ASSIGN_OR_RETURN(const bool found, FindAtTheEnd(work, branch, lost[0]));
    if (found) return Status::OK();
  }
  return AnswerTouched(work, branch, std::nullopt);
}

}  // namespace headrace::pipeline
