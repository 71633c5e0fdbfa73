// Merging the files of one section, or of several in key order, into one row a key by the merge engine's rule.
//
// A merge is order, decide, reduce (docs/decisions/0001-order-decide-reduce.md). It works in *windows*: a window is every row
// of the section up to some key, small enough for the processor's cache, so memory is a batch a run whatever the files' size.
// Two plans give the same rows:
//   whole rows     all columns of all runs are read side by side and the newest rows gathered. Rows come out in key order.
//   winners first  keys, kinds (and sequence columns where files' sequence ranges overlap) are read first and the newest rows
//                  marked; then each file's columns are read once, for its winners alone. Rows come out file by file.
//                  For deduplicate alone.
// Ties between versions of a key: sequence fields, sequence number, add over retract, lower level, newer level-0 file.
// A merge belongs to one thread; merges are independent of each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/merge_policy.h"
#include "lsm/sections.h"

namespace headrace {

enum class MergePlan { kWholeRows, kWinnersFirst };

struct MergeRequest {
  std::vector<Section> sections;    // ascending by key
  std::vector<std::string> values;  // the columns wanted; others that the merge reads are taken off again
  bool sequence_and_kind = false;   // put _SEQUENCE_NUMBER and _VALUE_KIND before the values
  bool key_ordered = false;         // rows must ascend by key
  MergePolicy policy;
  int64_t batch_rows = 32768;
  // About what winners first may hold for its marks, and whole rows for its batches.
  int64_t memory_bytes = 32LL << 20;
};

class RowStream {
 public:
  virtual ~RowStream() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  // The next rows, never an empty batch; null at the end.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

// Winners first where the newest row wins, order is not asked for, more is wanted than the merge reads anyway, and its marks fit the memory; else whole
// rows.
MergePlan PlanMerge(const TableSchema& schema, const MergeRequest& request);

Result<std::unique_ptr<RowStream>> OpenMerge(const BucketFiles& files, MergeRequest request);
Result<std::unique_ptr<RowStream>> OpenMerge(const BucketFiles& files, MergeRequest request, MergePlan plan);

// Rows of files as they are, one file after the other.
Result<std::unique_ptr<RowStream>> OpenConcatenation(const BucketFiles& files,
                                                     std::vector<DataFileMeta> metas, ReadColumns columns,
                                                     int64_t batch_rows);

}  // namespace headrace
