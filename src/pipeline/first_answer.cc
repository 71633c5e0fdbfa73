// Filling a target: by its key, or in the order in which rows were written.
#include "pipeline/first_answer.h"

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/answer_difference.h"
#include "pipeline/lookup_join.h"
#include "pipeline/stage_queries.h"
#include "pipeline/table_relation.h"
#include "pipeline/window_close.h"
#include "read/scan.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

// "$old" before the first commit: to be made anew, all that the target has. Else what it has of the answer's keys, which the answer replaces: a job
// that was dropped and comes back then writes what differs alone; rows of other keys may be another statement's.
Status TakeOldRows(StageWork* work, bool rebuild) {
  const bool replaces = work->target_schema().has_primary_key() &&
                        work->writer.target().options.merge_engine == MergeEngine::kDeduplicate;
  if (!work->writer.view() || (!rebuild && !replaces)) return Status::OK();
  work->relations.Put("target",
                      MakeStateRelation(work->writer.target(), work->writer.view(),
                                        ToArrowSchema(work->target_schema().fields), TableView::kScan));
  const std::string of_answer =
      " SEMI JOIN " + TemporaryTable("$new") + " USING (" +
      ColumnList(work->target_schema().FieldsOf(work->target_schema().primary_keys)) + ")";
  return work->Run(MakeTemporary("$old", "SELECT *" + FromRelation("target") + (rebuild ? "" : of_answer)));
}

Status FillByKey(StageWork* work, bool rebuild) {
  HEADRACE_RETURN_NOT_OK(EmptyAnswers(work));
  for (const QueryBranch& branch : work->plan.branches) {
    for (size_t i = 0; i < branch.sources.size(); ++i)
      work->relations.PutSource(i, work->plan.SelectAll(branch.sources[i]) +
                                       FromRelation(Named("state", work->TableOf(branch, i))));
    HEADRACE_RETURN_NOT_OK(AddAnswer(work, "$new", branch));
  }
  if (!work->writer.view() || work->writer.view()->total_record_count == 0)
    return WriteDifference(work, /*all_new=*/true);
  HEADRACE_RETURN_NOT_OK(TakeOldRows(work, rebuild));
  return WriteDifference(work);
}

// Of append tables: the rows in the order in which they were written, so that of two of a key the later one counts.
Status FillInOrder(StageWork* work, bool rebuild) {
  if (rebuild && work->writer.view()) {
    HEADRACE_RETURN_NOT_OK(work->Run(EmptyAnswer(*work, "$new")));
    HEADRACE_RETURN_NOT_OK(TakeOldRows(work, rebuild));
    HEADRACE_RETURN_NOT_OK(WriteRows(work, BothAnswersQuery(work->target_schema())));
  }
  for (const QueryBranch& branch : work->plan.branches) {
    const StageSource& source = work->sources[work->TableOf(branch, 0)];
    if (!source.now) continue;
    const auto schema = ToArrowSchema(source.table.schema->fields);
    work->relations.Put("in order",
                        MakeReaderRelation(schema, [&source, schema](const std::vector<int>& columns) {
                          ScanOptions options;
                          for (const int column : columns)
                            options.columns.push_back(schema->field(column)->name());
                          return OpenScan(source.table, *source.now, options);
                        }));
    if (branch.is_lookup) {
      HEADRACE_RETURN_NOT_OK(WriteInOrder(work, branch,
                                          ", " + std::to_string(static_cast<int>(RowKind::kInsert)) + " AS " +
                                              QuotedName(kChangeKindColumn) + FromRelation("in order")));
      continue;
    }
    work->relations.PutSource(0, "SELECT *" + FromRelation("in order"));
    HEADRACE_RETURN_NOT_OK(WriteRows(
        work, "SELECT *, 0 FROM (" + AnswerQuery(work->plan, branch.text, work->target_schema()) + ")"));
  }
  return Status::OK();
}

}  // namespace

Status WriteFirstAnswer(StageWork* work, bool rebuild) {
  for (size_t i = 0; i < work->sources.size(); ++i)
    work->PutState(i, Named("state", i), work->sources[i].now);
  if (work->plan.closes) HEADRACE_RETURN_NOT_OK(AdvanceWatermark(work, FromRelation("state 0")));
  return AppendsOnly(*work) && work->target_schema().has_primary_key() ? FillInOrder(work, rebuild)
                                                                       : FillByKey(work, rebuild);
}

}  // namespace headrace::pipeline
