// Collecting findings: bounded in number and in length, safe to print whatever a hostile file put into a name.
//
// One thread. What was found in a state that expired meanwhile can be taken back (`BeginState`, `Forget`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "headrace/check_terms.h"
#include "maintain/finding_kinds.h"

namespace headrace {

// The parts of a text joined as an ostream prints them.
template <typename... Parts>
std::string Told(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

class Findings {
 public:
  // `root` is cut off the paths of files below it. `max`: of each severity.
  Findings(std::string root, int64_t max) : root_(std::move(root) + "/"), max_(max) {}

  void Add(FindingKind kind, std::string_view file, std::string_view found, std::string_view expected);

  // From here to EndState findings belong to one state, named by the number that is given.
  int BeginState();
  // Whether there were any.
  bool EndState();
  void Forget(int state);

  // Into the report.
  void MoveTo(CheckReport* report);

 private:
  std::string WithoutRoot(std::string_view text) const;

  const std::string root_;
  const int64_t max_;
  static constexpr int kNoState = 0;

  struct Owned {
    int state = kNoState;
    Finding finding;
  };
  using Counts = std::array<int64_t, 3>;  // by severity

  std::vector<Owned> findings_;
  Counts counts_{};
  std::map<int, Counts> counts_of_state_;
  int state_ = kNoState;
  int states_ = 0;
  std::unordered_set<size_t> seen_;  // hashes of what was told: states that share a damaged file tell it once
};

}  // namespace headrace
