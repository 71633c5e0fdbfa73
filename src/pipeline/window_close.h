// EMIT ON WINDOW CLOSE: a window's row is in the target once the watermark has passed the window's end, and no sooner.
//
// The watermark is the greatest time that was seen so far less the delay that the source declares; it never goes back, and is kept with the position. After each
// commit the target is the query over the source at the position, of the windows that end at or before the watermark there. What is touched by a step: the windows
// that it closes, and closed ones whose rows changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "pipeline/stage_work.h"
#include "read/pruning.h"

namespace headrace::pipeline {

// work->watermark after the rows that " FROM …" gives, columns of the first source; watermark_before is what it was.
Status AdvanceWatermark(StageWork* work, const std::string& from);
// The same after the changes of the step at hand; "state 0" is at hand.
Status AdvanceByChanges(StageWork* work);

// " WHERE …" of an answer (its columns are c0, c1, …): windows that the watermark has closed.
std::string WhereClosed(const StagePlan& plan, std::optional<int64_t> watermark);

// "$touched": keys of windows that are closed now, which were not, or of whose rows "$delta 0" has some. False where there are none.
Result<bool> FindClosed(StageWork* work, const QueryBranch& branch);
// Between which times the rows of "$touched" lie.
Result<std::vector<RowCondition>> TimesOfTouched(StageWork* work);

}  // namespace headrace::pipeline
