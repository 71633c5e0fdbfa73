// The sorted runs of one bucket. Level 0 holds many runs, newest first; every other level at most one.
//
// Invariants, checked when made (kCorruption names the files): the files of a level ≥ 1 do not overlap and ascend by key; no
// file is listed twice; a file's smallest key is not above its largest.
// Newest first in level 0: larger maximum sequence number, then smaller minimum, then earlier creation, then name.
// Immutable: an edit returns new Levels, so it is safe to share between threads. Source: Levels, SortedRun, LevelSortedRun.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "format/data_file_meta.h"
#include "lsm/key_order.h"

namespace headrace {

// A data file of a tree, with its key range ready to compare.
struct TreeFile {
  DataFileMeta meta;
  EncodedKey min_key;
  EncodedKey max_key;

  bool may_hold_deletes() const { return meta.delete_row_count.value_or(1) > 0; }
};
using TreeFilePtr = std::shared_ptr<const TreeFile>;

Result<TreeFilePtr> MakeTreeFile(const KeyOrder& order, DataFileMeta meta);

// True when `a` is the newer level-0 file.
bool IsNewer(const DataFileMeta& a, const DataFileMeta& b);

struct SortedRun {
  Level level{0};
  std::vector<TreeFilePtr> files;  // disjoint, ascending by key

  int64_t size_bytes() const;
};

class Levels {
 public:
  // Levels 0 … max(num_levels, highest level seen + 1, 2) - 1.
  static Result<Levels> Make(std::vector<TreeFilePtr> files, int32_t num_levels);
  static Result<Levels> Make(const KeyOrder& order, const std::vector<DataFileMeta>& files,
                             int32_t num_levels);

  Levels() = default;  // empty, two levels

  // Newest data first: each level-0 file, then the levels that have files, 1, 2, …
  std::span<const SortedRun> runs() const { return runs_; }
  std::vector<TreeFilePtr> files() const;
  size_t level0_count() const;
  Level max_level() const { return max_level_; }
  // The highest level with files; 0 when only level 0 has some, -1 when there are none.
  Level highest_level() const;
  int64_t max_sequence() const;  // -1 when empty

  // Without the files named in `removed` (all must be there) and with `added`.
  Result<Levels> Edit(const std::vector<DataFileMeta>& removed, std::vector<TreeFilePtr> added) const;

 private:
  std::vector<SortedRun> runs_;
  Level max_level_{1};
};

}  // namespace headrace
