// Decide and reduce for any merge engine: the versions of each key in, at most one row a key out.
//
// A merger is made once per table and columns wanted and is told of segments as *order* cuts them (segments.h): oldest version first.
// Versions that do not take part are left out by the merger itself; which levels take part is the caller's business. A segment of one
// version passes through as it is stored, whatever its kind. Results that are deletes are handed out: callers drop them where they must.
// One thread; the object only keeps its memory between calls. Source: MergeFunction and its wrappers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/table_schema.h"
#include "lsm/merge_policy.h"
#include "lsm/segments.h"

namespace headrace {

// One batch that RowRefs point into.
struct MergeSource {
  std::vector<std::shared_ptr<arrow::Array>> columns;  // those of SegmentMerger::reads(), in its order
  const int64_t* numbers = nullptr;                    // sequence numbers; null: the caller wants none out
  const int8_t* kinds = nullptr;
};

// One row a segment that has a result, segments ascending.
struct MergedRows {
  std::vector<std::shared_ptr<arrow::Array>> values;  // the columns wanted, in order
  std::vector<int64_t> numbers;                       // empty when the sources have none
  std::vector<int8_t> kinds;
  std::vector<uint32_t> segments;  // the segment of each row

  int64_t size() const { return static_cast<int64_t>(kinds.size()); }
};

class SegmentMerger {
 public:
  // `values`: the columns wanted, a subset of the table's. kInvalid names an option that does not fit the schema.
  static Result<std::unique_ptr<SegmentMerger>> Make(const TableSchema& schema, const MergePolicy& policy,
                                                     std::vector<std::string> values,
                                                     arrow::MemoryPool* pool);
  virtual ~SegmentMerger() = default;

  // The columns it has to see: those wanted, in their order (each once), then those that its rules look at.
  virtual const std::vector<std::string>& reads() const = 0;

  // kInvalid names the column and the key where a rule cannot be kept: an overflow (overflow.h), a retraction that an aggregate does not have.
  virtual Result<MergedRows> Merge(const Segments& segments, std::span<const MergeSource> sources) = 0;
};

}  // namespace headrace
