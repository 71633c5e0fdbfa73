// Choosing a way for a step, branch by branch, and going it.
#include "pipeline/changed_answer.h"

#include <algorithm>
#include <optional>
#include <string>

#include "pipeline/answer_difference.h"
#include "pipeline/folded_groups.h"
#include "pipeline/lookup_join.h"
#include "pipeline/stage_queries.h"
#include "pipeline/stage_sources.h"
#include "pipeline/touched_rows.h"
#include "pipeline/window_close.h"

namespace headrace::pipeline {
namespace {

Status AnswerChanges(StageWork* work, const QueryBranch& branch) {
  const size_t first = work->TableOf(branch, 0);
  if (branch.row_wise && work->sources[first].range.empty()) return Status::OK();
  if (branch.row_wise && work->sources[first].raw_is_whole && !(work->by_sums && CanGoBySums(*work))) {
    work->relations.PutSource(0, "SELECT *" + FromRelation(Named("changes", first)));
    return WithMisfit(
        work, branch.text_over_changes, /*has_kind=*/true,
        WriteRows(work, ChangedAnswerQuery(work->plan, branch.text_over_changes, work->target_schema())));
  }
  if (work->plan.adds) {
    work->relations.PutSource(0, "SELECT *" + FromRelation(Named("changes", first)));
    HEADRACE_RETURN_NOT_OK(work->Run(EmptyAnswer(*work, "$old")));
    HEADRACE_RETURN_NOT_OK(
        work->Run(MakeTemporary("$new", AnswerQuery(work->plan, branch.text, work->target_schema()))));
    return WriteDifference(work);
  }
  if (branch.folds && work->target_folds) {
    const Result<bool> folded = FoldChanges(work, branch);
    // Parts of a sum may be beyond its type where the whole is not.
    if (!IsKind(folded.status(), ErrorKind::kInvalid)) HEADRACE_RETURN_NOT_OK(folded.status());
    if (folded.ok() && *folded) return WriteDifference(work);
  }
  HEADRACE_ASSIGN_OR_RETURN(const bool touched, FindTouched(work, branch));
  if (!touched) return Status::OK();
  for (size_t i = 0; i < branch.sources.size(); ++i) HEADRACE_RETURN_NOT_OK(PutNowAndThen(work, branch, i));
  HEADRACE_RETURN_NOT_OK(EmptyAnswers(work));
  HEADRACE_RETURN_NOT_OK(AddAnswers(work, branch, "$now", "$then"));
  return WriteDifference(work);
}

// Whether a row of the target may go from one branch of the query to another.
bool BranchesMeet(const StageWork& work) {
  return work.plan.branches.size() > 1 && work.target_schema().has_primary_key() &&
         work.writer.target().options.merge_engine == MergeEngine::kDeduplicate && !AppendsOnly(work);
}

// Of several branches what they gave and what they give is compared as one: what came by one of them may not be taken out by another.
Status AnswerTogether(StageWork* work) {
  HEADRACE_RETURN_NOT_OK(EmptyAnswers(work));
  for (const QueryBranch& branch : work->plan.branches) {
    if (branch.row_wise && work->sources[work->TableOf(branch, 0)].range.empty()) continue;
    HEADRACE_ASSIGN_OR_RETURN(const bool touched, FindTouched(work, branch));
    if (!touched) continue;
    for (size_t i = 0; i < branch.sources.size(); ++i) HEADRACE_RETURN_NOT_OK(PutNowAndThen(work, branch, i));
    HEADRACE_RETURN_NOT_OK(AddAnswers(work, branch, "$now", "$then"));
  }
  return WriteDifference(work);
}

// A source was overwritten: both answers as a whole.
Status AnswerWhole(StageWork* work) {
  if (work->plan.adds)
    return Unsupported(
        "a source was overwritten, and ", work->plan.target,
        " can only add to what it has; make it anew and run the pipeline under another --name");
  for (size_t i = 0; i < work->sources.size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> before, ReadStateBefore(*work, work->sources[i]));
    work->PutState(i, Named("state before", i), before);
  }
  HEADRACE_RETURN_NOT_OK(EmptyAnswers(work));
  for (const QueryBranch& branch : work->plan.branches) {
    for (const bool is_new : {true, false}) {
      for (size_t i = 0; i < branch.sources.size(); ++i)
        work->relations.PutSource(
            i, work->plan.SelectAll(branch.sources[i]) +
                   FromRelation(Named(is_new ? "state" : "state before", work->TableOf(branch, i))));
      HEADRACE_RETURN_NOT_OK(AddAnswer(work, is_new ? "$new" : "$old", branch));
    }
  }
  return WriteDifference(work);
}

}  // namespace

bool CanGoBySums(const StageWork& work) {
  return work.target_schema().has_primary_key() &&
         work.writer.target().options.merge_engine == MergeEngine::kDeduplicate &&
         std::all_of(work.plan.branches.begin(), work.plan.branches.end(), [&](const QueryBranch& branch) {
           return branch.row_wise && work.sources[work.TableOf(branch, 0)].table.schema->has_primary_key();
         });
}

Status WriteChangedAnswer(StageWork* work) {
  if (work->plan.branches[0].is_lookup) return AnswerByLookups(work);
  if (work->plan.closes) HEADRACE_RETURN_NOT_OK(AdvanceByChanges(work));
  if (Overwritten(*work)) return AnswerWhole(work);
  for (size_t i = 0; i < work->sources.size(); ++i) HEADRACE_RETURN_NOT_OK(SumChanges(work, i));
  if (BranchesMeet(*work)) return AnswerTogether(work);
  for (const QueryBranch& branch : work->plan.branches) HEADRACE_RETURN_NOT_OK(AnswerChanges(work, branch));
  return Status::OK();
}

}  // namespace headrace::pipeline
