// Groups that fold: their new rows follow from the target's row, what came and what went, without reading the source.
//
// Only where that gives exactly what the query would: whole numbers and decimals in types that lose nothing, in a target whose rows are this stage's
// and are seen at once.
#pragma once

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// Whether the target holds exactly what the query gave, and shows it at once: one writer's rows, sums in types that lose nothing.
Result<bool> TargetFolds(StageWork* work);
// Of a plan that adds: kUnsupported where the target's columns would round the parts.
Status CheckAddsUp(StageWork* work);

// "$new" and "$old" of groups, by what they were in the target, what came and what went. False where that does not tell.
Result<bool> FoldChanges(StageWork* work, const QueryBranch& branch);

}  // namespace headrace::pipeline
