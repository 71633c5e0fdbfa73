// Folding, and whether it is exact.
#include "pipeline/folded_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/lost_extremes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/touched_keys.h"

namespace headrace::pipeline {
namespace {

bool HoldsExactly(const DataType& held, const DataType& given, Folds folds) {
  const auto is_whole = [](TypeRoot root) {
    return root == TypeRoot::kTinyInt || root == TypeRoot::kSmallInt || root == TypeRoot::kInt ||
           root == TypeRoot::kBigInt;
  };
  if (folds == Folds::kMin || folds == Folds::kMax)
    return held.root == given.root && held.precision == given.precision;
  if (is_whole(given.root))
    return is_whole(held.root) || (held.root == TypeRoot::kDecimal && folds != Folds::kNot);
  const bool decimal = given.root == TypeRoot::kDecimal;
  return decimal && ((held.root == TypeRoot::kDecimal && held.scale >= given.scale) ||
                     (is_whole(held.root) && given.scale == 0));
}

Result<bool> HoldsSumsExactly(StageWork* work, const QueryBranch& branch) {
  work->PutState(0, Named("state", 0), std::nullopt);
  work->relations.PutSource(0, "SELECT *" + FromRelation(Named("state", 0)));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> given, work->session->Describe(branch.text));
  for (size_t i = 0; i < given.size(); ++i) {
    // What is no part of the key may have another value before and after.
    const DataType& held =
        work->target_schema()
            .fields[static_cast<size_t>(work->target_schema().FieldIndex(work->plan.columns[i]))]
            .type;
    if (!branch.outputs[i].is_group && !HoldsExactly(held, given[i].type, branch.outputs[i].folds))
      return false;
  }
  return true;
}

bool IsKeyColumn(const StageWork& work, const std::string& column) {
  const std::vector<std::string>& keys = work.target_schema().primary_keys;
  return std::find(keys.begin(), keys.end(), column) != keys.end();
}

}  // namespace

Result<bool> TargetFolds(StageWork* work) {
  const Table& target = work->writer.target();
  if (work->plan.closes) return false;  // its windows may be half told
  if (!work->target_schema().has_primary_key() || target.options.merge_engine != MergeEngine::kDeduplicate ||
      target.options.scans_skip_level_zero() || work->plan.branches.size() != 1 ||
      !work->plan.branches[0].folds)
    return false;
  const std::vector<ShapeOutput>& outputs = work->plan.branches[0].outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    // A key that is counted would change and its row not be found; a group beside the key tells no rows apart.
    if (outputs[i].is_group != IsKeyColumn(*work, work->plan.columns[i])) return false;
  }
  return HoldsSumsExactly(work, work->plan.branches[0]);
}

Status CheckAddsUp(StageWork* work) {
  HEADRACE_ASSIGN_OR_RETURN(const bool exact, HoldsSumsExactly(work, work->plan.branches[0]));
  if (exact) return Status::OK();
  return Unsupported("the target ", work->plan.target,
                     " adds up parts of the answer, and its columns would round each of them; give them the "
                     "types that the query's sums and extremes have, which must be exact");
}

Result<bool> FoldChanges(StageWork* work, const QueryBranch& branch) {
  const size_t table = work->TableOf(branch, 0);
  const std::vector<DataField>& fields = work->sources[table].table.schema->fields;
  for (const bool came : {true, false}) {
    const char* answer = came ? "$came" : "$went";
    work->relations.PutSource(0, DeltaRowsQuery(fields, table, came));
    HEADRACE_RETURN_NOT_OK(
        work->Run(MakeTemporary(answer, AnswerQuery(work->plan, branch.text, work->target_schema()))));
  }
  HEADRACE_ASSIGN_OR_RETURN(const TouchedKeys keys,
                            TouchedKeys::Of(work, FoldedKeysQuery(work->target_schema())));
  HEADRACE_ASSIGN_OR_RETURN(const bool nulls, keys.HoldNull());
  if (nulls) return false;  // the answer as such tells what is wrong
  HEADRACE_ASSIGN_OR_RETURN(const std::string was,
                            keys.RowsIn("was", work->writer.target(), work->writer.view()));
  HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary("$old", "SELECT *" + was)));
  HEADRACE_RETURN_NOT_OK(FindLostExtremes(work, branch));
  HEADRACE_ASSIGN_OR_RETURN(const auto doubt,
                            work->Batches(UnfoldableQuery(work->plan, branch, work->target_schema())));
  if (!doubt.empty()) return false;
  HEADRACE_RETURN_NOT_OK(
      work->Run(MakeTemporary("$new", FoldedQuery(work->plan, branch, work->target_schema()))));
  return true;
}

}  // namespace headrace::pipeline
