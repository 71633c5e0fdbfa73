// Plays a whole scenario on a stage of its own.
#pragma once

#include "base/error.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/stage.h"

namespace headrace::scenario {

// Statement after statement up to the first that does not go as expected: an error that begins with "<origin>:<line>: ". A local store gets a
// new folder, which is removed afterwards. Thread-safe.
Status Play(const Scenario& scenario, StageOptions options = {});

}  // namespace headrace::scenario
