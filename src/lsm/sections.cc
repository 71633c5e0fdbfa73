#include "lsm/sections.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace headrace {
namespace {

// As few runs as possible: each file goes behind the run that ended first, if it ended before the file begins.
Section RunsOf(std::vector<TreeFilePtr> files) {
  Section runs;
  const auto ends_later = [&](size_t a, size_t b) {
    return runs[a].back()->max_key > runs[b].back()->max_key;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(ends_later)> by_end(ends_later);
  for (TreeFilePtr& file : files) {
    if (by_end.empty() || file->min_key <= runs[by_end.top()].back()->max_key) {
      runs.push_back({std::move(file)});
      by_end.push(runs.size() - 1);
      continue;
    }
    const size_t run = by_end.top();
    by_end.pop();
    runs[run].push_back(std::move(file));
    by_end.push(run);
  }
  return runs;
}

}  // namespace

std::vector<Section> PartitionIntoSections(std::vector<TreeFilePtr> files) {
  std::sort(files.begin(), files.end(), [](const TreeFilePtr& a, const TreeFilePtr& b) {
    return std::tie(a->min_key, a->max_key) < std::tie(b->min_key, b->max_key);
  });
  std::vector<Section> sections;
  std::vector<TreeFilePtr> open;
  const EncodedKey* bound = nullptr;  // the largest key of the open section
  for (TreeFilePtr& file : files) {
    if (bound != nullptr && file->min_key > *bound) {
      sections.push_back(RunsOf(std::move(open)));
      open.clear();
      bound = nullptr;
    }
    if (bound == nullptr || file->max_key > *bound) bound = &file->max_key;
    open.push_back(std::move(file));
  }
  if (!open.empty()) sections.push_back(RunsOf(std::move(open)));
  return sections;
}

}  // namespace headrace
