// Copying picked rows out of several arrays, type by type.
#include "lsm/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "base/error.h"

namespace headrace {
namespace {

using Sources = std::span<const std::shared_ptr<arrow::Array>>;

struct Validity {
  std::shared_ptr<arrow::Buffer> bits;  // null: no nulls
  int64_t null_count = 0;
};

Result<Validity> GatherValidity(Sources sources, std::span<const RowRef> rows, arrow::MemoryPool* pool) {
  Validity validity;
  if (std::all_of(sources.begin(), sources.end(), [](const auto& s) { return s->null_count() == 0; }))
    return validity;
  HEADRACE_ASSIGN_OR_RETURN(validity.bits,
                            arrow::AllocateEmptyBitmap(static_cast<int64_t>(rows.size()), pool));
  uint8_t* bits = validity.bits->mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (sources[rows[i].batch]->IsValid(rows[i].row)) {
      arrow::bit_util::SetBit(bits, static_cast<int64_t>(i));
    } else {
      ++validity.null_count;
    }
  }
  return validity;
}

std::shared_ptr<arrow::Array> Assemble(const Sources& sources, size_t rows, Validity validity,
                                       std::vector<std::shared_ptr<arrow::Buffer>> data) {
  data.insert(data.begin(), std::move(validity.bits));
  return arrow::MakeArray(arrow::ArrayData::Make(sources[0]->type(), static_cast<int64_t>(rows),
                                                 std::move(data), validity.null_count));
}

struct Wide16 {
  uint64_t low, high;
};

template <typename T>
Result<std::shared_ptr<arrow::Array>> GatherFixed(Sources sources, std::span<const RowRef> rows,
                                                  arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(Validity validity, GatherValidity(sources, rows, pool));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer,
                            arrow::AllocateBuffer(static_cast<int64_t>(rows.size() * sizeof(T)), pool));
  std::vector<const T*> values;
  for (const auto& source : sources) values.push_back(source->data()->template GetValues<T>(1));
  T* out = reinterpret_cast<T*>(buffer->mutable_data());
  for (const RowRef ref : rows) *out++ = values[ref.batch][ref.row];
  return Assemble(sources, rows.size(), std::move(validity), {std::move(buffer)});
}

Result<std::shared_ptr<arrow::Array>> GatherBooleans(Sources sources, std::span<const RowRef> rows,
                                                     arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(Validity validity, GatherValidity(sources, rows, pool));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer,
                            arrow::AllocateEmptyBitmap(static_cast<int64_t>(rows.size()), pool));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& source = static_cast<const arrow::BooleanArray&>(*sources[rows[i].batch]);
    if (source.Value(rows[i].row)) arrow::bit_util::SetBit(buffer->mutable_data(), static_cast<int64_t>(i));
  }
  return Assemble(sources, rows.size(), std::move(validity), {std::move(buffer)});
}

// memcpy without a call for the short strings that most are; reads and writes nothing outside [0, n).
inline void CopyShort(char* to, const char* from, size_t n) {
  if (n > 32) {
    std::memcpy(to, from, n);
  } else if (n >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + n - 16, from + n - 16, 16);
  } else if (n >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + n - 8, from + n - 8, 8);
  } else if (n >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + n - 4, from + n - 4, 4);
  } else if (n > 0) {
    to[0] = from[0];
    to[n / 2] = from[n / 2];
    to[n - 1] = from[n - 1];
  }
}

Result<std::shared_ptr<arrow::Array>> GatherText(Sources sources, std::span<const RowRef> rows,
                                                 arrow::MemoryPool* pool) {
  struct Source {
    const int32_t* offsets;
    const char* data;
  };
  std::vector<Source> from;
  for (const auto& source : sources) {
    const auto& text = static_cast<const arrow::BinaryArray&>(*source);
    from.push_back({text.raw_value_offsets(), reinterpret_cast<const char*>(text.raw_data())});
  }
  HEADRACE_ASSIGN_OR_RETURN(Validity validity, GatherValidity(sources, rows, pool));
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::Buffer> offset_buffer,
      arrow::AllocateBuffer(static_cast<int64_t>((rows.size() + 1) * sizeof(int32_t)), pool));
  auto* offsets = reinterpret_cast<int32_t*>(offset_buffer->mutable_data());
  int64_t total = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    offsets[i] = static_cast<int32_t>(total);
    const int32_t* at = from[rows[i].batch].offsets + rows[i].row;
    total += at[1] - at[0];
    if (total > std::numeric_limits<int32_t>::max()) {
      return OverBudget("gathering ", rows.size(), " values of type ", sources[0]->type()->ToString(),
                        " passes 2 GB; use smaller batches");
    }
  }
  offsets[rows.size()] = static_cast<int32_t>(total);
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> data_buffer, arrow::AllocateBuffer(total, pool));
  auto* data = reinterpret_cast<char*>(data_buffer->mutable_data());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Source& source = from[rows[i].batch];
    const int32_t* at = source.offsets + rows[i].row;
    CopyShort(data + offsets[i], source.data + at[0], static_cast<size_t>(at[1] - at[0]));
  }
  return Assemble(sources, rows.size(), std::move(validity),
                  {std::move(offset_buffer), std::move(data_buffer)});
}

Result<std::shared_ptr<arrow::Array>> Take(const std::shared_ptr<arrow::Array>& from,
                                           const std::vector<int64_t>& at, arrow::MemoryPool* pool) {
  const auto indices =
      std::make_shared<arrow::Int64Array>(static_cast<int64_t>(at.size()), arrow::Buffer::Wrap(at));
  arrow::compute::ExecContext context(pool);
  HEADRACE_ASSIGN_OR_RETURN(
      const arrow::Datum taken,
      arrow::compute::Take(from, indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return taken.make_array();
}

// Any type: each source's rows are taken, the pieces joined, and then put in order.
Result<std::shared_ptr<arrow::Array>> GatherByTake(Sources sources, std::span<const RowRef> rows,
                                                   arrow::MemoryPool* pool) {
  std::vector<std::vector<int64_t>> wanted(sources.size());
  for (const RowRef ref : rows) wanted[ref.batch].push_back(ref.row);
  std::vector<int64_t> next(sources.size(), 0);  // where the source's pieces stand once joined
  arrow::ArrayVector pieces;
  int64_t begin = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    next[s] = begin;
    if (wanted[s].empty()) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> piece, Take(sources[s], wanted[s], pool));
    begin += piece->length();
    pieces.push_back(std::move(piece));
  }
  if (pieces.size() == 1) return pieces[0];
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> joined, arrow::Concatenate(pieces, pool));
  std::vector<int64_t> order;
  order.reserve(rows.size());
  for (const RowRef ref : rows) order.push_back(next[ref.batch]++);
  return Take(joined, order, pool);
}

bool IsOneSlice(std::span<const RowRef> rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].batch != rows[0].batch || rows[i].row != rows[i - 1].row + 1) return false;
  }
  return !rows.empty();
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> GatherColumn(Sources sources, std::span<const RowRef> rows,
                                                   arrow::MemoryPool* pool) {
  if (pool == nullptr) pool = arrow::default_memory_pool();
  if (rows.empty()) return sources[0]->Slice(0, 0);
  const arrow::DataType& type = *sources[0]->type();
  if (type.id() == arrow::Type::BOOL) return GatherBooleans(sources, rows, pool);
  if (arrow::is_base_binary_like(type.id()) && type.id() != arrow::Type::LARGE_STRING &&
      type.id() != arrow::Type::LARGE_BINARY) {
    return GatherText(sources, rows, pool);
  }
  if (arrow::is_primitive(type.id()) || arrow::is_decimal(type.id())) {
    switch (type.byte_width()) {
      case 1: return GatherFixed<uint8_t>(sources, rows, pool);
      case 2: return GatherFixed<uint16_t>(sources, rows, pool);
      case 4: return GatherFixed<uint32_t>(sources, rows, pool);
      case 8: return GatherFixed<uint64_t>(sources, rows, pool);
      case 16: return GatherFixed<Wide16>(sources, rows, pool);
      default: break;
    }
  }
  return GatherByTake(sources, rows, pool);
}

Result<std::shared_ptr<arrow::RecordBatch>> GatherRows(
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, std::span<const RowRef> rows,
    arrow::MemoryPool* pool) {
  if (IsOneSlice(rows)) return batches[rows[0].batch]->Slice(rows[0].row, static_cast<int64_t>(rows.size()));
  const int width = batches[0]->num_columns();
  std::vector<std::shared_ptr<arrow::Array>> columns;
  std::vector<std::shared_ptr<arrow::Array>> sources(batches.size());
  for (int c = 0; c < width; ++c) {
    for (size_t b = 0; b < batches.size(); ++b) sources[b] = batches[b]->column(c);
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column, GatherColumn(sources, rows, pool));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(batches[0]->schema(), static_cast<int64_t>(rows.size()),
                                  std::move(columns));
}

}  // namespace headrace
