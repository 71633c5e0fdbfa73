// Looks for a history that breaks a law, seed after seed; what is found is shrunk, written down as a scenario and told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/laws/harness/history.h"
#include "tests/laws/harness/shrink.h"

namespace headrace::laws {

struct Found {
  uint64_t seed = 0;
  Shrunk shrunk;
  std::string text;         // the scenario
  std::string path;         // where it was written; empty when it could not be
  bool reproduces = false;  // the text, parsed and played, fails
  // Everything above, for a person.
  std::string Describe() const;
};

struct Search {
  HistoryOptions history = {};
  TrialOptions trial = {};
  std::string folder = {};  // where scenarios go; empty: the system's temporary folder
};

struct Progress {
  uint64_t seed = 0;
  int64_t statements = 0;
  int64_t snapshots = 0;
  int64_t faults = 0;
};

// Plays one seed. Adds to `progress`.
std::optional<Found> SearchSeed(uint64_t seed, const Search& search, Progress* progress);

}  // namespace headrace::laws
