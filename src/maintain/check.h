// Checking a whole table: schemas and the chain of snapshots, then the states that are asked for.
//
// Damage is a finding and never an error: an error means that there is no such table or snapshot. Changes nothing, and may run beside
// writers and expiry. What is decoded at once is bounded: files of metadata by their size, data pages by `memory_bytes`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "headrace/check_terms.h"
#include "io/store.h"

namespace headrace {

struct CheckTarget {
  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock;
  std::string path;  // the table's folder
  std::string name;  // for messages
  int64_t memory_bytes = 1LL << 30;
};

Result<CheckReport> RunCheck(const CheckTarget& target, const CheckOptions& options);

}  // namespace headrace
