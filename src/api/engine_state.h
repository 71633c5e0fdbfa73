// What everything opened from one engine shares, and the engine as the other files of this room see it.
//
// SharedState is owned by the engine and by each handle, so that a handle is safe until it is destroyed. Thread-safe, as its members are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/task_group.h"
#include "catalog/table.h"
#include "headrace/engine.h"
#include "io/scratch.h"
#include "io/store.h"
#include "lsm/lookup_cache.h"

namespace headrace {

struct SharedState {
  SharedState(int64_t memory_bytes, int64_t lookup_cache_bytes, int threads)
      : budget(memory_bytes), lookup_cache(lookup_cache_bytes), tasks(threads) {}

  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock;
  MemoryBudget budget;
  LookupCache lookup_cache;
  TaskGroup tasks;
  std::unique_ptr<Scratch> scratch;
};

// A table's folder, and its name for messages.
struct TablePlace {
  std::string path;
  std::string name;
};

class EngineInternals : public Engine {
 public:
  virtual const std::shared_ptr<SharedState>& state() = 0;
  // Where a table of that name or folder would lie; whether there is one is not looked at.
  virtual Result<TablePlace> PlaceOf(const std::string& name) const = 0;
  // Where there is no such table, the message says which was meant.
  virtual Result<Table> OpenForReading(const std::string& name) = 0;
  virtual Result<Table> OpenForWriting(const std::string& name) = 0;
  // Adds the defaults that a new table gets, and makes it.
  virtual Result<CreatedTable> Create(const std::string& name, NewTable table) = 0;
};

}  // namespace headrace
