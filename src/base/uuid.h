// Random (version 4) UUIDs in their 36-character lower-case text.
//
// NewUuid draws from the operating system and is safe in any thread, also after a fork. A UuidSource with a seed gives the same
// sequence each time, for tests; it is thread-safe too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/lock.h"
#include "base/random.h"

namespace headrace {

std::string NewUuid();

class UuidSource {
 public:
  UuidSource() = default;                                        // from the operating system
  explicit UuidSource(uint64_t seed) : random_(Random(seed)) {}  // repeatable

  std::string Next();

 private:
  Mutex mutex_;
  std::optional<Random> random_ GUARDED_BY(mutex_);
};

}  // namespace headrace
