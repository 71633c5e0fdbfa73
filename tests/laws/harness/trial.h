// A trial: a history is played, and after every snapshot that appears the laws are checked against a model.
//
// One law is broken or none: the trial ends with the first. What was done up to there and what should have been seen make a scenario that
// shows the same failure by itself. Each trial has a store of its own; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/scenarios/scenario.h"
#include "tests/scenarios/stage.h"

namespace headrace::laws {

struct TrialOptions {
  // What becomes of rows on their way: for the test of this harness.
  std::function<void(std::vector<scenario::Row>* rows)> tamper = {};
};

struct Failure {
  std::string law;           // "the rows of a snapshot": by this a smaller failure is known to be the same
  std::string message;       // what was found
  size_t statement = 0;      // the last one that was played
  scenario::Scenario shown;  // reproduces it
};

struct TrialResult {
  std::optional<Failure> failure;
  int64_t snapshots = 0;
  int64_t faults = 0;  // that happened
};

TrialResult Try(const std::vector<scenario::Statement>& history, const TrialOptions& options = {});

}  // namespace headrace::laws
