// Makes a failing history small: leaves out statements, rows, options and columns as long as the same law stays broken.
//
// Delta debugging: ever smaller pieces are left out until none can be. Deterministic; it ends after a number of trials at the latest.
#pragma once

#include <vector>

#include "tests/laws/harness/trial.h"

namespace headrace::laws {

struct Shrunk {
  std::vector<scenario::Statement> history;
  Failure failure;
  int trials = 0;
};

// `history` fails with `failure`.
Shrunk Shrink(std::vector<scenario::Statement> history, const Failure& failure, const TrialOptions& options,
              int most_trials = 3000);

}  // namespace headrace::laws
