// The first commit of a stage: the whole answer over the sources as they are.
//
// Into a target that has rows already what differs is written, of the answer's keys alone; `rebuild`: all of the target that the answer does not have goes.
#pragma once

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// Over `now` of every source, which becomes "state i".
Status WriteFirstAnswer(StageWork* work, bool rebuild);

}  // namespace headrace::pipeline
