// What stages need of the engine they run in: its tables by name, and what writers share. Plain values; outlives the stages.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/task_group.h"
#include "catalog/table.h"
#include "io/scratch.h"
#include "sql/query_session.h"

namespace headrace {
class LookupCache;  // lsm/lookup_cache.h
}

namespace headrace::pipeline {

struct StageRoom {
  std::function<Result<Table>(const std::string& name, Access access)> open;  // "db.table"
  MemoryBudget* budget = nullptr;                                             // required
  TaskGroup* compactors = nullptr;
  LookupCache* lookup_cache = nullptr;
  Scratch* scratch = nullptr;
  QuerySessionOptions queries;
  int64_t most_rows_a_step =
      500'000;  // changed rows of a source that one step takes, but at least one snapshot
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace headrace::pipeline
