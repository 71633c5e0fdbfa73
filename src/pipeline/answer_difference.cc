// Answers into temporary tables, checks of them, and the writing of what differs.
#include "pipeline/answer_difference.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/text.h"
#include "pipeline/stage_queries.h"
#include "pipeline/touched_keys.h"
#include "pipeline/window_close.h"
#include "sql/assigned_value.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

std::string FirstRow(const arrow::RecordBatch& batch) {
  std::string text;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const auto value = batch.column(i)->GetScalar(0);
    text += (i == 0 ? "" : ", ") + batch.schema()->field(i)->name() + "=" +
            (value.ok() ? (*value)->ToString() : "?");
  }
  return text;
}

Status CheckAnswerKeys(StageWork* work) {
  HEADRACE_ASSIGN_OR_RETURN(const auto nulls, work->Batches(NullKeyQuery(work->target_schema())));
  if (!nulls.empty()) {
    return Invalid("a row of the answer has no value in the primary key (",
                   Joined(work->target_schema().primary_keys), ") of ", work->plan.target, ": ",
                   FirstRow(*nulls[0]), "; say by COALESCE what stands for NULL, in GROUP BY as well");
  }
  if (work->writer.target().options.merge_engine != MergeEngine::kDeduplicate) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto doubles, work->Batches(DoubleKeyQuery(work->target_schema())));
  if (doubles.empty() || AppendsOnly(*work)) return Status::OK();
  return Invalid("the answer has two rows of one primary key of ", work->plan.target, ": ",
                 FirstRow(*doubles[0]), "; make the key of columns that tell the rows apart");
}

// Of a UNION ALL no row that comes may have the key of one that another branch gave before.
Status CheckBranchesApart(StageWork* work) {
  if (work->plan.branches.size() < 2 || AppendsOnly(*work) ||
      work->writer.target().options.scans_skip_level_zero() ||
      work->writer.target().options.merge_engine != MergeEngine::kDeduplicate)
    return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const TouchedKeys keys,
                            TouchedKeys::Of(work, NewKeysQuery(work->target_schema())));
  if (keys.count() == 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::string rows,
                            keys.RowsIn("taken", work->writer.target(), work->writer.view()));
  HEADRACE_ASSIGN_OR_RETURN(const auto taken, work->Batches("SELECT *" + rows + " LIMIT 1"));
  if (taken.empty()) return Status::OK();
  return Invalid("the answer has two rows of one primary key of ", work->plan.target, ": beside ",
                 FirstRow(*taken[0]),
                 " of one SELECT of the UNION ALL another gives one; make the key of columns that tell the "
                 "rows apart");
}

}  // namespace

std::string EmptyAnswer(const StageWork& work, const std::string& name) {
  std::string columns;
  for (const DataField& field : work.target_schema().fields)
    columns +=
        (columns.empty() ? "" : ", ") + AssignedSql("NULL", field.type) + " AS " + QuotedName(field.name);
  return MakeTemporary(name, "SELECT " + columns + " LIMIT 0");
}

Status EmptyAnswers(StageWork* work) {
  HEADRACE_RETURN_NOT_OK(work->Run(EmptyAnswer(*work, "$new")));
  return work->Run(EmptyAnswer(*work, "$old"));
}

Status AddAnswer(StageWork* work, const std::string& name, const QueryBranch& branch) {
  return WithMisfit(
      work, branch.text, /*has_kind=*/false,
      work->Run("INSERT INTO " + TemporaryTable(name) + " " +
                AnswerQuery(work->plan, branch.text, work->target_schema()) +
                WhereClosed(work->plan, name == "$old" ? work->watermark_before : work->watermark)));
}

Status WithMisfit(StageWork* work, const std::string& text, bool has_kind, const Status& status) {
  if (!IsKind(status, ErrorKind::kInvalid)) return status;
  // What cannot be computed at all is in the query itself, and fails here as well.
  const auto misfit = work->Batches(MisfitQuery(work->plan, text, work->target_schema(), has_kind));
  if (!misfit.ok() || misfit->empty()) return status;
  return Invalid(status.message(), "; the row of the answer is ", FirstRow(*misfit->front()));
}

Status AddAnswers(StageWork* work, const QueryBranch& branch, const char* now, const char* then) {
  for (const bool is_new : {true, false}) {
    for (size_t i = 0; i < branch.sources.size(); ++i)
      work->relations.PutSource(i, work->plan.SelectAll(branch.sources[i]) + " FROM " +
                                       TemporaryTable(Named(is_new ? now : then, i)));
    HEADRACE_RETURN_NOT_OK(AddAnswer(work, is_new ? "$new" : "$old", branch));
  }
  return Status::OK();
}

Status WriteDifference(StageWork* work, bool all_new) {
  if (!work->target_schema().has_primary_key()) {
    HEADRACE_ASSIGN_OR_RETURN(const auto gone,
                              work->Batches("SELECT 1 FROM " + TemporaryTable("$old") + " LIMIT 1"));
    if (!gone.empty())
      return Unsupported("rows of the answer have gone, since a source was overwritten, and ",
                         work->plan.target,
                         " has no primary key by which they could be taken out; make it anew and run the "
                         "pipeline under another --name");
    return WriteRows(work, BothAnswersQuery(work->target_schema()));
  }
  HEADRACE_RETURN_NOT_OK(CheckAnswerKeys(work));
  HEADRACE_RETURN_NOT_OK(CheckBranchesApart(work));
  const bool before = work->writer.target().options.changelog_producer == ChangelogProducer::kInput;
  const bool as_they_are = all_new || work->writer.target().options.merge_engine != MergeEngine::kDeduplicate;
  std::string columns;
  for (const std::string& column : work->plan.columns)
    columns += (columns.empty() ? "" : ", ") + QuotedName(column);
  return WithMisfit(work, "SELECT " + columns + " FROM " + TemporaryTable("$new"), /*has_kind=*/false,
                    WriteRows(work, as_they_are ? BothAnswersQuery(work->target_schema())
                                                : ChangesOfAnswerQuery(work->target_schema(), before)));
}

Status WriteRows(StageWork* work, const std::string& query) {
  const std::vector<DataField>& fields = work->target_schema().fields;
  return work->ForEachBatch(query, [&](const std::shared_ptr<arrow::RecordBatch>& batch) -> Status {
    HEADRACE_ASSIGN_OR_RETURN(const auto rows,
                              FitColumns(*batch, 0, fields, [](const DataField&) { return true; }));
    HEADRACE_ASSIGN_OR_RETURN(
        const auto kinds,
        arrow::compute::Cast(*batch->column(static_cast<int>(fields.size())), arrow::int8()));
    return work->writer.Write(rows, kinds);
  });
}

bool AppendsOnly(const StageWork& work) {
  return std::all_of(work.plan.branches.begin(), work.plan.branches.end(),
                     [](const auto& branch) { return branch.row_wise || branch.is_lookup; }) &&
         std::none_of(work.sources.begin(), work.sources.end(), [](const auto& source) {
           return source.drives && source.table.schema->has_primary_key();
         });
}

}  // namespace headrace::pipeline
