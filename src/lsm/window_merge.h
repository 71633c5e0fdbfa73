// Merging windows by a SegmentMerger: order, the levels that take part, decide and reduce, for the engines that put rows together.
//
// Each window gives one batch in key order: sequence number and kind where asked for, then the columns wanted. Rows of a window of one run
// are alone with their key and pass as they are stored, unless keys repeat in a run. One thread; the object keeps its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/merge_policy.h"
#include "lsm/pieces.h"
#include "lsm/run_reader.h"
#include "lsm/segment_merger.h"
#include "lsm/window.h"

namespace headrace {

// Of a key's versions on levels ≥ 1 only those of the lowest stay. `levels[b]`: the level of batch b.
void LeaveOutDeeperLevels(std::span<const int32_t> levels, Segments* segments);

class WindowMerge {
 public:
  struct Options {
    bool sequence_and_kind = false;
    bool by_age = false;       // see versions.h
    bool keys_repeat = false;  // rows of one key may follow each other in a run
  };
  static Result<WindowMerge> Make(const TableSchema& schema, const MergePolicy& policy,
                                  const std::vector<std::string>& values, Options options,
                                  arrow::MemoryPool* pool);

  // What the runs of the windows have to read.
  Result<MergeColumns> Columns(const TableSchema& schema, bool numbers) const;

  // Null when no row is left. `columns`: as the runs were opened with.
  Result<std::shared_ptr<arrow::RecordBatch>> Merge(const Window& window, const MergeColumns& columns);
  // Of segments that are made already, with positions in the window's parts.
  Result<std::shared_ptr<arrow::RecordBatch>> Merge(const Window& window, const MergeColumns& columns,
                                                    const Segments& segments);
  // The same for a flush: with sequence number and kind, deletes included.
  Result<Pieces> MergeApart(const Window& window, const MergeColumns& columns, const Segments& segments);

 private:
  WindowMerge(MergePolicy policy, Options options, arrow::MemoryPool* pool)
      : policy_(std::move(policy)), options_(options), pool_(pool) {}

  std::vector<MergeSource> SourcesOf(const Window& window, const MergeColumns& columns) const;
  Result<std::shared_ptr<arrow::RecordBatch>> Alone(const WindowPart& part, const MergeColumns& columns);
  std::shared_ptr<arrow::RecordBatch> Stored(const arrow::RecordBatch& batch,
                                             const MergeColumns& columns) const;

  MergePolicy policy_;
  Options options_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t wanted_ = 0;
  std::unique_ptr<SegmentMerger> merger_;
  Segments segments_;
};

// Merged rows as a batch: number and kind where `sequence_and_kind`, then the values. Null when there are none, or none is left
// without deletes.
Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(MergedRows rows,
                                                    const std::shared_ptr<arrow::Schema>& schema,
                                                    bool sequence_and_kind, bool drop_deletes,
                                                    arrow::MemoryPool* pool);

}  // namespace headrace
