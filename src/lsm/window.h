// A complete slice of a section's key space: every row of every run up to some key, and no other.
//
// Windows follow each other in key order and need one batch a run in memory, whatever the files' size. They are cut to a number of
// rows that fits the processor's cache. Where one run is alone for a stretch the window has one part, of any length.
// Parts point into the runs' batches and are valid until the next Next. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "lsm/run_reader.h"

namespace headrace {

// Rows of a window of a merge: keys, marks and references of them stay in a second-level cache.
inline constexpr int64_t kWindowRows = 16384;

struct WindowPart {
  const LoadedRows* rows = nullptr;
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

struct Window {
  std::vector<WindowPart> parts;  // none empty; one a run

  int64_t rows() const;
};

class WindowReader {
 public:
  WindowReader(std::vector<RunReader> runs, int64_t window_rows);

  // False at the end.
  Result<bool> Next(Window* window);

 private:
  size_t FirstRun() const;
  // Rows of run `first` before any key of another run; its whole batch when it is the only one left.
  int64_t AloneUntil(size_t first) const;
  void CutByRows(Window* window);

  std::vector<RunReader> runs_;
  std::vector<int64_t> ends_;  // where the last window ended in each run
  int64_t window_rows_;
};

}  // namespace headrace
