#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace headrace {
namespace {

// Levenshtein's distance of bytes.
size_t DistanceOf(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({diagonal + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(const std::vector<std::string>& names, std::string_view word) {
  std::string nearest;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    const size_t distance = DistanceOf(name, word);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace headrace
