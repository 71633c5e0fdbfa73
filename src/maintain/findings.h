// Collecting findings: bounded in number and in length, safe to print whatever a hostile file put into a name.
//
// One thread. What was found about a snapshot that expired meanwhile can be taken back (`Here`, `ForgetSince`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

  struct Mark {
    size_t size = 0;
    size_t seen = 0;
    std::array<int64_t, 3> counts{};
  };
  Mark Here() const { return {findings_.size(), seen_in_order_.size(), counts_}; }
  void ForgetSince(const Mark& mark);

  // Into the report.
  void MoveTo(CheckReport* report);

 private:
  std::string WithoutRoot(std::string_view text) const;

  const std::string root_;
  const int64_t max_;
  std::vector<Finding> findings_;
  std::array<int64_t, 3> counts_{};  // by severity
  // Hashes of what was told: states that share a damaged file tell it once.
  std::unordered_set<size_t> seen_;
  std::vector<size_t> seen_in_order_;
};

}  // namespace headrace
