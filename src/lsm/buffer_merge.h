// A write buffer's rows merged by an engine that puts rows together, block by block in key order.
//
// Batches have sequence number, kind and all columns of the table, one row a key: what a level-0 file gets, and further ones where a key
// overflows (pieces.h). The buffer stays as it is and outlives this. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.h"
#include "format/table_schema.h"
#include "lsm/pieces.h"
#include "lsm/segment_merger.h"
#include "lsm/write_buffer.h"

namespace headrace {

class BufferMerge {
 public:
  // `segments`: the buffer's, sorted. `block_keys`: about how many keys a batch.
  static Result<std::unique_ptr<BufferMerge>> Make(const WriteBuffer& buffer, const TableSchema& schema,
                                                   const MergePolicy& policy, const Segments& segments,
                                                   size_t block_keys, arrow::MemoryPool* pool);

  // Empty at the end.
  Result<Pieces> Next();

  BufferMerge(const Segments& segments, size_t block_keys, arrow::MemoryPool* pool)
      : segments_(segments), block_keys_(block_keys), pool_(pool) {}

 private:
  const Segments& segments_;
  const size_t block_keys_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<SegmentMerger> merger_;
  std::vector<std::vector<int64_t>> numbers_;  // by the buffer's batches
  std::vector<MergeSource> sources_;
  size_t next_ = 0;  // segment
};

}  // namespace headrace
