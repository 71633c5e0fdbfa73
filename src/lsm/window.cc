#include "lsm/window.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

// A stretch of one run shorter than this is not worth a window of its own.
constexpr int64_t kAloneRows = 256;
// A short run among long ones must not cut windows down to a few rows.
constexpr int64_t kLeastRowsOfARun = 64;

}  // namespace

int64_t Window::rows() const {
  int64_t rows = 0;
  for (const WindowPart& part : parts) rows += part.size();
  return rows;
}

WindowReader::WindowReader(std::vector<RunReader> runs, int64_t window_rows)
    : runs_(std::move(runs)), ends_(runs_.size(), 0), window_rows_(window_rows) {}

Result<bool> WindowReader::Next(Window* window) {
  window->parts.clear();
  for (size_t r = 0; r < runs_.size();) {
    HEADRACE_RETURN_NOT_OK(runs_[r].Advance(ends_[r]));
    if (runs_[r].done()) {
      runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(r));
      ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(r));
      continue;
    }
    ends_[r] = runs_[r].position();
    ++r;
  }
  if (runs_.empty()) return false;
  const size_t first = FirstRun();
  const int64_t alone_end = AloneUntil(first);
  if (alone_end == runs_[first].size() || alone_end - runs_[first].position() >= kAloneRows) {
    window->parts.push_back({&runs_[first].rows(), runs_[first].position(), alone_end});
    ends_[first] = alone_end;
    return true;
  }
  CutByRows(window);
  return true;
}

size_t WindowReader::FirstRun() const {
  size_t first = 0;
  for (size_t r = 1; r < runs_.size(); ++r) {
    const int order =
        runs_[r].rows().keys.Compare(runs_[r].position(), runs_[first].rows().keys, runs_[first].position());
    if (order < 0) first = r;
  }
  return first;
}

int64_t WindowReader::AloneUntil(size_t first) const {
  int64_t end = runs_[first].size();
  for (size_t r = 0; r < runs_.size(); ++r) {
    if (r == first) continue;
    end = runs_[first].rows().keys.Bound(runs_[first].position(), end, runs_[r].rows().keys,
                                         runs_[r].position(), false);
    if (end - runs_[first].position() < kAloneRows && end < runs_[first].size()) break;
  }
  return end;
}

void WindowReader::CutByRows(Window* window) {
  int64_t total = 1;
  for (const RunReader& run : runs_) total += run.remaining_rows();
  // The bound is the smallest key that some run has after its share of the window's rows.
  const KeyColumn* bound = nullptr;
  int64_t bound_row = 0;
  for (const RunReader& run : runs_) {
    const auto share =
        static_cast<int64_t>(static_cast<__int128>(window_rows_) * run.remaining_rows() / total);
    const int64_t row = std::min(run.position() + std::max(share, kLeastRowsOfARun), run.size()) - 1;
    if (bound == nullptr || run.rows().keys.Compare(row, *bound, bound_row) < 0) {
      bound = &run.rows().keys;
      bound_row = row;
    }
  }
  for (size_t r = 0; r < runs_.size(); ++r) {
    const RunReader& run = runs_[r];
    const int64_t end = run.rows().keys.Bound(run.position(), run.size(), *bound, bound_row, true);
    if (end > run.position()) window->parts.push_back({&run.rows(), run.position(), end});
    ends_[r] = end;
  }
}

}  // namespace headrace
