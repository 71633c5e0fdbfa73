// Durable scenarios besides writing and committing rows: each one thing that a process does to a warehouse and that must be whole or not at all.
//
// Prepare makes the warehouse without faults. Act is one life of a process that does the thing, given the store with the fault; done again by
// another process it must end as if it had been done once. States are told as text, so that they compare and print. One thread; stateless.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/store.h"

namespace headrace::crash {

struct Scenario {
  std::string name;
  std::function<Status(const std::shared_ptr<Store>&)> prepare;
  std::function<Status(const std::shared_ptr<Store>&)> act;
  bool in_steps = false;  // it commits several times: states between the first and the last are legal as well
  // Snapshots before this one are what it ends: their files go first, so they may be broken on the way. Their changes are not told.
  int64_t first_that_stays = 1;
};
inline std::ostream& operator<<(std::ostream& out, const Scenario& scenario) { return out << scenario.name; }

std::vector<Scenario> AllScenarios();

// Every table of the warehouse: schema, rows, changes and positions, as a process that knows nothing finds them.
Result<std::string> DescribeWarehouse(const std::shared_ptr<Store>& store, bool with_changes = true);

// What is wrong with the tables; empty: nothing. Snapshots follow each other without a gap, each is what the one before it was and what it says
// that it added; every file that is named is there in full; every file that is not has a name by which it is known for a leftover.
std::vector<std::string> FindFaults(const std::shared_ptr<Store>& store, int64_t first_that_stays = 1);

}  // namespace headrace::crash
