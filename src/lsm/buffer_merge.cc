#include "lsm/buffer_merge.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <arrow/record_batch.h>

namespace headrace {

Result<std::unique_ptr<BufferMerge>> BufferMerge::Make(const WriteBuffer& buffer, const TableSchema& schema,
                                                       const MergePolicy& policy, const Segments& segments,
                                                       size_t block_keys, arrow::MemoryPool* pool) {
  if (pool == nullptr) pool = arrow::default_memory_pool();
  auto merge = std::make_unique<BufferMerge>(segments, std::max<size_t>(1, block_keys), pool);
  merge->schema_ = KeyValueShape(schema).values_schema();
  HEADRACE_ASSIGN_OR_RETURN(merge->merger_, SegmentMerger::Make(schema, policy, schema.ColumnNames(), pool));
  for (const WriteBuffer::HeldRows& held : buffer.Held()) {
    std::vector<int64_t>& numbers = merge->numbers_.emplace_back(held.rows->num_rows());
    std::iota(numbers.begin(), numbers.end(), held.first_sequence);
    MergeSource& source = merge->sources_.emplace_back();
    for (const std::string& name : merge->merger_->reads())
      source.columns.push_back(held.rows->column(schema.FieldIndex(name)));
    source.numbers = numbers.data();
    source.kinds = held.kinds;
  }
  return merge;
}

Result<Pieces> BufferMerge::Next() {
  if (next_ < segments_.count()) {
    const size_t end = std::min(next_ + block_keys_, segments_.count());
    const size_t first_row = segments_.starts[next_];
    const size_t end_row = end < segments_.count() ? segments_.starts[end] : segments_.rows.size();
    Segments block;
    block.rows.assign(segments_.rows.begin() + static_cast<std::ptrdiff_t>(first_row),
                      segments_.rows.begin() + static_cast<std::ptrdiff_t>(end_row));
    for (; next_ < end; ++next_)
      block.starts.push_back(segments_.starts[next_] - static_cast<uint32_t>(first_row));
    return MergeInPieces(merger_.get(), block, sources_, schema_, pool_);
  }
  return Pieces{};
}

}  // namespace headrace
