// A pipeline: the stages of a SQL file, run together until they are told to end.
//
// A script is CREATE TABLE and INSERT INTO … SELECT statements, USE, and SET. Every INSERT is a stage; a stage may read what another one writes. In each
// round every stage makes a step if its sources have something new. A stage that fails is tried again later and later, and the others go on. One thread
// but for Interrupt.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "pipeline/open_tables.h"
#include "pipeline/stage.h"
#include "sql/statement.h"

namespace headrace::pipeline {

struct Script {
  std::vector<CreateTableText> tables;  // with their databases
  std::vector<InsertText> inserts;      // with their databases
  std::string database;                 // that USE named last; empty: none
  bool copies = false;                  // SET 'copies' = 'true': keyed_copies.h
};

// kUnsupported names a statement that is neither. `database`: what names without one are in at the start.
Result<Script> ParsePipeline(std::string_view text, const std::string& database);

// The job of the n-th stage of a pipeline: what its target keeps its position under.
std::string JobName(std::string_view pipeline, std::string_view target, int nth_of_target);

// kUnsupported when tables would go round in a ring, each fed by the next: they might never come to rest.
Status CheckNoRing(const std::vector<StagePlan>& plans);

struct StageFailure {
  Status status;            // OK: none since the last step that went well
  int64_t next_try_ms = 0;  // by the clock
  int tries = 0;
};

struct RunOptions {
  bool once = false;  // end when no stage has anything new
  // End when every stage has taken these tables in to these snapshots, and what is made of them has followed. A failure is waited out.
  std::map<std::string, int64_t> until = {};
  int64_t every_ms = 200;  // a round begins so often at most
  Clock* clock = nullptr;  // required
  const std::atomic<bool>* cancel = nullptr;
  // After a round, a few times a second at most: how the stages are, and their failures in the same order.
  std::function<void(const std::vector<std::unique_ptr<Stage>>&, const std::vector<StageFailure>&)> told;
};

// OK when it was cancelled, or everything is done; with `once` the failure of a stage, after the others are done.
Status RunStages(std::vector<std::unique_ptr<Stage>>* stages, const RunOptions& options);

}  // namespace headrace::pipeline
