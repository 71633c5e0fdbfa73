// The stages of a pipeline, run together until they are told to end.
//
// Stages of one target take their steps one after the other, those of different targets at the same time, each on a thread of its own: one that is slow, or
// answers its query as a whole for the first time, keeps no other one waiting but those that read what it writes. A stage that fails is tried again later and
// later, and the others go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "pipeline/stage.h"

namespace headrace::pipeline {

struct StageTold {
  StageState state;  // after its last step
  Status failure;    // OK: none since the last step that went well
};

struct RunOptions {
  // End when no stage has anything new. The stages step in rounds, in their order: each sees what those before it have made.
  bool once = false;
  // Without `once`: end when every stage has taken these tables in to these snapshots, and what is made of them has followed. A failure is waited out.
  std::map<std::string, int64_t> until = {};
  // A stage looks at its sources so often, and when a stage that it reads from has committed, but not twice in half that time.
  int64_t every_ms = 200;
  Clock* clock = nullptr;                     // required
  const std::atomic<bool>* cancel = nullptr;  // ends the run, and the queries of steps at work
  // How the stages are, in their order: a few times a second at most, and at the end. On the thread that calls RunStages.
  std::function<void(const std::vector<StageTold>&)> told;
};

// OK when it was cancelled, or everything is done; with `once` the failure of a stage, after the others are done.
// The first step of a stage begins when those that it reads from have tried theirs.
Status RunStages(std::vector<std::unique_ptr<Stage>>* stages, const RunOptions& options);

}  // namespace headrace::pipeline
