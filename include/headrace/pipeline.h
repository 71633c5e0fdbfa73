// Continuous SQL: INSERT INTO … SELECT statements that go on for ever, from table to table.
//
// After each of its commits a target equals its query over the state that its sources' streams have shown at the positions that the same commit holds; so a
// pipeline that is killed goes on where its tables are. docs/pipelines.md tells which queries can be kept up to date, and what is refused with what
// to write instead. Open plans and checks everything before anything runs. One thread, but for Interrupt and `cancel`; the engine outlives it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/engine.h"
#include "headrace/error.h"

namespace headrace {

struct PipelineOptions {
  std::string script;                // CREATE TABLE, INSERT INTO … SELECT, USE, SET 'copies'
  std::string name;                  // the positions in the targets are kept under it: "name.db.table"
  std::string database;              // of names without one, until USE; empty: none
  bool rebuild = false;              // computes every target anew: what differs is written in one commit each
  int64_t memory_bytes = 1LL << 30;  // of queries; past it they spill
  int threads = 2;
  std::string spill_directory;
  const std::atomic<bool>* cancel = nullptr;  // set: what is whole is committed, and Run returns
};

struct PipelineSource {
  std::string table;
  int64_t next_snapshot = 0;               // the first whose changes are not in the target
  std::optional<int64_t> latest_snapshot;  // of the source
  int64_t behind_rows = 0;  // changes that are not in the target, as up to 64 snapshots tell them
  std::optional<int64_t>
      behind_ms;  // how long ago the first snapshot was made that is not in the target; nothing: all are
};

struct PipelineStage {
  std::string target;
  std::string job;
  std::vector<PipelineSource> sources;
  std::optional<int64_t> target_snapshot;  // the last one that the stage made in this run
  int64_t commits = 0;                     // that wrote rows, in this run
  int64_t rows = 0;                        // written in this run
  int64_t step_ms = 0;                     // the last step took
  // What went wrong beside commits that stand, as the last commit that had it told it, and how many had it in this run. Empty: none did.
  std::string
      held_back;  // buckets of the target that stay uncompacted, since what a compaction would put together overflows
  int64_t commits_held_back = 0;
  std::string expiry;  // old snapshots of the target that could not be ended
  int64_t expiries_failed = 0;
  std::string error;  // why the stage does not go on; it is tried again. Empty: it does
};

struct PipelineRunOptions {
  bool once = false;  // return when no stage has anything new
  // Return when each of these tables ("db.table") is taken in to the snapshot by every stage that follows it, and what is made of them has followed.
  // kInvalid for a table that no stage follows. Empty: go on.
  std::map<std::string, int64_t> until_snapshots = {};
  // A stage looks at its sources so often, and when a stage that it reads from has committed. Without `once` each target has a thread of its own.
  int64_t every_ms = 200;
  std::function<void(const std::vector<PipelineStage>&)>
      status;  // a few times a second at most, and at the end
};

class Pipeline {
 public:
  // Makes the tables that the script creates and that are absent; `notes` tells which. kInvalid and kUnsupported name the statement and what to write instead.
  static Result<std::unique_ptr<Pipeline>> Open(Engine* engine, const PipelineOptions& options,
                                                std::vector<std::string>* notes);
  virtual ~Pipeline() = default;

  // How each statement is kept up to date.
  virtual std::string Explain() const = 0;
  // Until it is cancelled, or once. A stage's failure is tried again while others go on; with `once` it is returned after the others are done.
  virtual Status Run(const PipelineRunOptions& options) = 0;
  virtual Result<std::vector<PipelineStage>> Stages() = 0;
};

}  // namespace headrace
