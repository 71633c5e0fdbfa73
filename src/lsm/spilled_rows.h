// The rows of one bucket's writer that memory could not hold: runs put aside, and their merge with what the buffer still has.
//
// Each run is the buffer as it was at some moment, sorted: the newest row of each key, or every row where a changelog wants them or the
// merge engine puts rows together (how a flush groups them could show in the result). Runs have an age, and all numbers of a run come after those of older ones. A flush merges runs and buffer as any merge does (order, decide,
// reduce), so that files hold the same rows as if nothing had been put aside. Memory of a merge stays within
// `memory_bytes`: where more runs have gathered than that allows, neighbours are merged into one first. One thread.
// On failure every row is still there. Source: BinaryExternalSortBuffer, SortBufferWriteBuffer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"
#include "lsm/key_value_batch.h"
#include "lsm/merge_policy.h"
#include "lsm/run_reader.h"
#include "lsm/spill.h"
#include "lsm/write_buffer.h"

namespace headrace {

struct SpilledRowsSpec {
  SpillSpec spill;
  int64_t memory_bytes = 64LL << 20;  // of a merge
  int32_t fan_in = 128;               // runs merged at once, at most
  bool every_version = false;         // keep all rows, for a changelog
};

class SpilledRows {
 public:
  static Result<std::unique_ptr<SpilledRows>> Make(const TableSchema& schema, MergePolicy policy,
                                                   SpilledRowsSpec spec);

  int64_t rows() const;
  int64_t disk_bytes() const;
  size_t runs() const { return runs_.size(); }

  // The buffer's rows become a run; the caller clears the buffer.
  Status Add(const WriteBuffer& buffer);
  // Runs and buffer become level-0 files and, with `every_version`, changelog files. The caller clears both.
  Result<FileIncrement> Flush(const WriteBuffer& buffer, const BucketFiles& files, FileNames* names);
  void Clear() { runs_.clear(); }

 private:
  using Runs = std::vector<std::unique_ptr<SpilledRun>>;

  SpilledRows(const TableSchema& schema, MergeColumns columns, MergePolicy policy, SpilledRowsSpec spec);

  bool every_row() const { return spec_.every_version || !policy_.newest_wins(); }
  int64_t BlockBytes() const;
  size_t FanIn() const;
  // Merges neighbours until runs and buffer can be merged at once.
  Status Thin();
  Result<std::unique_ptr<SpilledRun>> MergeNeighbours(size_t begin, size_t count) const;
  std::vector<RunReader> OpenRuns(size_t begin, size_t count) const;

  TableSchema schema_;
  MergeColumns columns_;
  MergePolicy policy_;
  SpilledRowsSpec spec_;
  KeyValueShape shape_;
  Runs runs_;  // oldest first
};

}  // namespace headrace
