// Groups that fold and lost their least or greatest value: what it is now.
//
// It is looked for where the column ends, in the few files that may hold values that far out; where a group has none there, in all rows of the groups that were touched.
#pragma once

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// "$extremes": of "$old", "$came" and "$went", answers for the groups that lost one, true in the columns in which they did; other groups may be there.
Status FindLostExtremes(StageWork* work, const QueryBranch& branch);

}  // namespace headrace::pipeline
