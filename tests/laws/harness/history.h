// A random history of one table: its shape and what is done to it, as statements of a scenario, from a seed.
//
// The statements do not depend on what happens when they run, so that any of them can be left out. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/laws/harness/shape.h"
#include "tests/scenarios/scenario.h"

namespace headrace::laws {

struct HistoryOptions {
  int steps = 60;
  bool faults = true;
  Buckets buckets = Buckets::kAny;
};

// The first statement is the `create`.
std::vector<scenario::Statement> MakeHistory(uint64_t seed, const HistoryOptions& options);

}  // namespace headrace::laws
