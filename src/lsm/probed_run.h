// A sorted run being asked for keys: which of its files may hold which keys, and what they hold.
//
// Keys ascend strictly. Files without a key in their range are not opened; rows that the view's deletion vectors hide are passed over, and
// positions count them. Immutable; any thread. What is found goes into a Hits, one thread each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/file_probe.h"
#include "lsm/segments.h"

namespace headrace {

// Rows found, in the order they were met.
struct Hits {
  std::vector<std::shared_ptr<const RowBlock>> blocks;  // of the view's schema
  std::vector<RowRef> rows;
  std::vector<const ProbedFile*> files;  // of each row
  std::vector<int64_t> positions;        // of each row: physical, in its file
  std::vector<int64_t> keys;             // of each row: which key it answers
};

class ProbedRun {
 public:
  ProbedRun(const FileView& view, Level level, const std::vector<TreeFilePtr>& files);

  Level level() const { return level_; }
  int64_t max_sequence() const { return max_sequence_; }
  // `wanted[i]`: whether key i is looked for.
  Status Find(const FileView& view, const KeyColumn& keys, const std::vector<bool>& wanted, Hits* hits) const;

 private:
  static Status FindInFile(const FileView& view, const ProbedFile& file, const KeyColumn& keys, int64_t begin,
                           int64_t end, const std::vector<bool>& wanted, Hits* hits);

  Level level_;
  int64_t max_sequence_ = -1;
  std::vector<ProbedFile> files_;  // ascending by key
};

// The rows of `picked` (indices into hits.rows) of these columns of the blocks, as a batch of `schema`. Precondition: not
// empty.
Result<std::shared_ptr<arrow::RecordBatch>> GatherHits(const Hits& hits, std::span<const int32_t> picked,
                                                       std::span<const int> columns,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       arrow::MemoryPool* pool);

}  // namespace headrace
