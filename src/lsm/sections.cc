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

int64_t BatchRowsThatFit(const Section& section, int64_t memory_bytes, int64_t most) {
  constexpr int64_t kLeast = 1024;
  constexpr int64_t kDecodedPerStored = 4;
  int64_t bytes = 0;
  int64_t rows = 1;
  for (const RunFiles& run : section) {
    for (const TreeFilePtr& file : run) {
      bytes += file->meta.size_bytes;
      rows += file->meta.row_count;
    }
  }
  const int64_t row_bytes = bytes / rows * kDecodedPerStored + 64;
  const int64_t fitting = memory_bytes / (static_cast<int64_t>(section.size()) * row_bytes);
  return std::clamp(fitting, std::min(kLeast, most), most);
}

}  // namespace headrace
