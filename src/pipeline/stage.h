// One stage at work: from what its target holds to what its sources hold now: a step is a commit, or one for each source whose changes are taken by turns.
//
// After each commit the target equals the query over the stream-visible state of its sources at the positions that the commit holds. A step that fails
// leaves the target as it was; the next one begins at the committed position. A step that finds no rows to write moves the position in memory, and
// in the target now and then. One thread; `room` outlives it. What a step does in which order: docs/decisions/0007-continuous-sql.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/source_lag.h"
#include "pipeline/open_tables.h"
#include "pipeline/stage_plan.h"
#include "pipeline/stage_writer.h"

namespace headrace::pipeline {

struct StageSourceState {
  std::string table;
  int64_t next_snapshot = 0;  // the first whose changes are not in the target
  SourceLag lag;              // when it was last looked at
};

struct StageState {
  std::string target;
  std::string job;
  std::vector<StageSourceState> sources;
  std::optional<int64_t> target_snapshot;  // the last one that this stage made
  std::optional<int64_t> target_seen;      // the newest that the stage knows, whoever made it
  int64_t steps = 0;                       // that wrote rows, in this run
  int64_t rows = 0;                        // written in this run
  int64_t step_ms = 0;                     // the last step took
  CommitTroubles troubles;                 // of this run's commits, which stand
};

class Stage {
 public:
  // kInvalid when the target holds the position of another statement under the job's name, and `rebuild` is not said.
  static Result<std::unique_ptr<Stage>> Open(StagePlan plan, const StageRoom* room, bool rebuild);
  virtual ~Stage() = default;

  // One step, or nothing when the sources have nothing new: false.
  virtual Result<bool> Step() = 0;
  // Makes the position that is only in memory durable.
  virtual Status Close() = 0;
  // Ends the query of a running step, from any thread.
  virtual void Interrupt() = 0;

  // Whether the changes of the table up to the snapshot are in the target. True of a table whose changes the stage does not follow.
  virtual bool HasTakenIn(const std::string& table, int64_t snapshot) const = 0;

  virtual const StagePlan& plan() const = 0;
  virtual Result<StageState> State() = 0;
};

}  // namespace headrace::pipeline
