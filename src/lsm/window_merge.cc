#include "lsm/window_merge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "lsm/decide.h"
#include "lsm/gather.h"
#include "lsm/order.h"

namespace headrace {
namespace {

int32_t LevelOf(const WindowPart& part) {
  const TreeFilePtr& file = part.rows->file->file;
  return file == nullptr ? 0 : file->meta.level.value;
}

template <typename ArrayType, typename T>
Result<std::shared_ptr<arrow::Array>> ArrayFrom(const std::vector<T>& values, arrow::MemoryPool* pool) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes, pool));
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(buffer->mutable_data()));
  return std::make_shared<ArrayType>(static_cast<int64_t>(values.size()), std::move(buffer));
}

}  // namespace

void LeaveOutDeeperLevels(std::span<const int32_t> levels, Segments* segments) {
  const auto is_deep = [](int32_t level) { return level > 0; };
  if (std::count_if(levels.begin(), levels.end(), is_deep) < 2) return;
  constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
  size_t kept = 0;
  for (size_t i = 0; i < segments->count(); ++i) {
    const size_t begin = segments->starts[i];
    const size_t end = i + 1 < segments->count() ? segments->starts[i + 1] : segments->rows.size();
    int32_t lowest = kNone;
    for (size_t at = begin; at < end; ++at) {
      const int32_t level = levels[segments->rows[at].batch];
      if (level > 0) lowest = std::min(lowest, level);
    }
    segments->starts[i] = static_cast<uint32_t>(kept);
    for (size_t at = begin; at < end; ++at) {
      if (levels[segments->rows[at].batch] <= lowest) segments->rows[kept++] = segments->rows[at];
    }
  }
  segments->rows.resize(kept);
}

Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(MergedRows rows,
                                                    const std::shared_ptr<arrow::Schema>& schema,
                                                    bool sequence_and_kind, bool drop_deletes,
                                                    arrow::MemoryPool* pool) {
  const int64_t count = rows.size();
  std::vector<RowRef> kept;
  if (drop_deletes) {
    for (uint32_t row = 0; row < count; ++row) {
      if (!IsRetract(rows.kinds[row])) kept.push_back({0, row});
    }
    if (kept.empty()) return nullptr;
  }
  if (count == 0) return nullptr;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  if (sequence_and_kind) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> numbers,
                              ArrayFrom<arrow::Int64Array>(rows.numbers, pool));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> kinds,
                              ArrayFrom<arrow::Int8Array>(rows.kinds, pool));
    columns = {std::move(numbers), std::move(kinds)};
  }
  std::move(rows.values.begin(), rows.values.end(), std::back_inserter(columns));
  std::shared_ptr<arrow::RecordBatch> batch = arrow::RecordBatch::Make(schema, count, std::move(columns));
  if (!drop_deletes || static_cast<int64_t>(kept.size()) == count) return batch;
  return GatherRows({std::move(batch)}, kept, pool);
}

Result<WindowMerge> WindowMerge::Make(const TableSchema& schema, const MergePolicy& policy,
                                      const std::vector<std::string>& values, Options options,
                                      arrow::MemoryPool* pool) {
  WindowMerge merge(policy, options, pool == nullptr ? arrow::default_memory_pool() : pool);
  HEADRACE_ASSIGN_OR_RETURN(merge.merger_, SegmentMerger::Make(schema, policy, values, merge.pool_));
  std::vector<DataField> fields;
  if (options.sequence_and_kind) fields = SequenceAndKindFields();
  for (DataField& field : schema.FieldsOf(values)) fields.push_back(std::move(field));
  merge.schema_ = ToArrowSchema(fields);
  merge.wanted_ = values.size();
  return merge;
}

Result<MergeColumns> WindowMerge::Columns(const TableSchema& schema, bool numbers) const {
  return MergeColumns::Make(schema, policy_, merger_->reads(), numbers, options_.sequence_and_kind);
}

// The columns that are handed out come first among those read.
std::shared_ptr<arrow::RecordBatch> WindowMerge::Stored(const arrow::RecordBatch& batch,
                                                        const MergeColumns& columns) const {
  std::vector<std::shared_ptr<arrow::Array>> stored;
  const size_t count = wanted_ + (options_.sequence_and_kind ? 2 : 0);
  for (size_t i = 0; i < count; ++i) stored.push_back(batch.column(columns.output[i]));
  return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(stored));
}

Result<std::shared_ptr<arrow::RecordBatch>> WindowMerge::Alone(const WindowPart& part,
                                                               const MergeColumns& columns) {
  std::vector<RowRef> kept;
  for (int64_t row = part.begin; row < part.end; ++row) {
    const int8_t kind = part.rows->kinds[row];
    if (TakesPart(kind, policy_) && Survives(kind, policy_)) kept.push_back({0, static_cast<uint32_t>(row)});
  }
  if (kept.empty()) return nullptr;
  return GatherRows({Stored(*part.rows->batch, columns)}, kept, pool_);
}

Result<std::shared_ptr<arrow::RecordBatch>> WindowMerge::Merge(const Window& window,
                                                               const MergeColumns& columns) {
  if (window.parts.size() == 1 && !options_.keys_repeat) return Alone(window.parts[0], columns);
  OrderRows(window, options_.by_age, &segments_);
  if (policy_.lowest_level_alone) {
    std::vector<int32_t> levels;
    for (const WindowPart& part : window.parts) levels.push_back(LevelOf(part));
    LeaveOutDeeperLevels(levels, &segments_);
  }
  return Merge(window, columns, segments_);
}

std::vector<MergeSource> WindowMerge::SourcesOf(const Window& window, const MergeColumns& columns) const {
  const size_t first = options_.sequence_and_kind ? 2 : 0;
  std::vector<MergeSource> sources;
  for (const WindowPart& part : window.parts) {
    MergeSource& source = sources.emplace_back();
    for (size_t i = first; i < columns.output.size(); ++i)
      source.columns.push_back(part.rows->batch->column(columns.output[i]));
    if (options_.sequence_and_kind) source.numbers = part.rows->numbers;
    source.kinds = part.rows->kinds;
  }
  return sources;
}

Result<std::shared_ptr<arrow::RecordBatch>> WindowMerge::Merge(const Window& window,
                                                               const MergeColumns& columns,
                                                               const Segments& segments) {
  HEADRACE_ASSIGN_OR_RETURN(MergedRows rows, merger_->Merge(segments, SourcesOf(window, columns)));
  return BatchOf(std::move(rows), schema_, options_.sequence_and_kind, policy_.drop_deletes, pool_);
}

Result<Pieces> WindowMerge::MergeApart(const Window& window, const MergeColumns& columns,
                                       const Segments& segments) {
  return MergeInPieces(merger_.get(), segments, SourcesOf(window, columns), schema_, pool_);
}

}  // namespace headrace
