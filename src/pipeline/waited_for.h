// When a run that waits for snapshots of its sources is done: each stage has taken in the tables that are waited for and, of stages before it, what these
// made of them.
//
// Stages that have nothing to do with these tables are not waited for. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "pipeline/stage.h"

namespace headrace::pipeline {

class WaitedFor {
 public:
  // The stages outlive this; `until`: a snapshot of each table ("db.table") that is waited for; empty: nothing is, and nothing is ever done.
  WaitedFor(const std::vector<std::unique_ptr<Stage>>& stages, std::map<std::string, int64_t> until);

  // After a step of the i-th stage, while it makes no other one; stages that are done go on making them.
  Status LookAt(size_t i);
  bool is_done() const;

 private:
  bool HasTakenInAll(size_t i) const;

  const std::vector<std::unique_ptr<Stage>>& stages_;
  const std::map<std::string, int64_t> until_;
  std::vector<bool> concerned_;  // by stage: it follows one of the tables, or the target of a stage that does
  std::vector<bool> is_done_;    // by stage
  std::vector<int64_t> made_;    // by stage that is done: the newest snapshot of its target then
};

}  // namespace headrace::pipeline
