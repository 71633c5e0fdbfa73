// One step's answer to changes of the sources, written into the target: by the cheapest way that is exact.
//
// Ways: row by row over the changes themselves; parts that the target's engine adds up; groups that fold; rows looked up; touched keys, before and after; whole answers
// where a source was overwritten. docs/decisions/0007-continuous-sql.md has the reasons.
#pragma once

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// Whether the target is the same by what the changes come to as by each of them.
bool CanGoBySums(const StageWork& work);

// The ranges of the sources are known, and "state i" is each at the end of its own.
Status WriteChangedAnswer(StageWork* work);

}  // namespace headrace::pipeline
