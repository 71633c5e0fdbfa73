#include "lsm/row_block.h"

#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

namespace headrace {

namespace {

constexpr int64_t Padded(int64_t bytes) { return (bytes + 15) & ~int64_t{15}; }

}  // namespace

// The buffer that all columns of a copied row share: an array's offset says where in it its value lies.
class RowBlock::Slab {
 public:
  explicit Slab(std::shared_ptr<arrow::Buffer> buffer)
      : buffer_(std::move(buffer)), out_(buffer_->mutable_data()) {}

  // Where the bytes are. Positions are multiples of 16.
  int64_t Copy(const void* bytes, int64_t size) {
    const int64_t at = used_;
    if (size > 0) std::memcpy(out_ + at, bytes, static_cast<size_t>(size));
    used_ += Padded(size);
    return at;
  }
  const std::shared_ptr<arrow::Buffer>& buffer() const { return buffer_; }

 private:
  std::shared_ptr<arrow::Buffer> buffer_;
  uint8_t* out_;
  int64_t used_ = 0;
};

RowBlock::RowBlock(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {
  numbers_ = batch_->column_data(0)->GetValues<int64_t>(1);
  kinds_ = batch_->column_data(1)->GetValues<int8_t>(1);
  for (const std::shared_ptr<arrow::ArrayData>& data : batch_->column_data())
    columns_.push_back(ColumnOf(*data));
}

RowBlock::Column RowBlock::ColumnOf(const arrow::ArrayData& data) {
  Column column;
  column.offset = data.offset;
  if (data.GetNullCount() > 0 && data.buffers[0] != nullptr) column.valid = data.buffers[0]->data();
  const arrow::Type::type id = data.type->id();
  if (id == arrow::Type::BOOL) {
    column.form = Column::Form::kBits;
    column.values = data.buffers[1]->data();
  } else if (id == arrow::Type::STRING || id == arrow::Type::BINARY) {
    column.form = Column::Form::kBytes;
    column.offsets = data.GetValues<int32_t>(1);
    column.values = data.buffers[2] == nullptr ? nullptr : data.buffers[2]->data();
  } else if (arrow::is_primitive(id) || id == arrow::Type::DECIMAL128) {
    column.form = Column::Form::kFixed;
    column.width = static_cast<int16_t>(data.type->byte_width());
    column.values = data.buffers[1]->data() + data.offset * column.width;
  }
  return column;
}

bool RowBlock::Column::IsValid(int64_t row) const {
  return valid == nullptr || arrow::bit_util::GetBit(valid, offset + row);
}

// What a copy of the row takes. Fetches its value meanwhile.
int64_t RowBlock::Column::Bytes(int64_t row) const {
  switch (form) {
    case Form::kFixed: __builtin_prefetch(values + row * width); return Padded(width);
    case Form::kBits: return Padded(1);
    case Form::kBytes:
      __builtin_prefetch(values + offsets[row]);
      return Padded(2 * sizeof(int32_t)) + Padded(offsets[row + 1] - offsets[row]);
    case Form::kOther: return 0;
  }
  return 0;
}

// The column's value, its place told by the array's offset.
std::shared_ptr<arrow::ArrayData> RowBlock::Column::Copy(int64_t row,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         Slab* slab) const {
  std::vector<std::shared_ptr<arrow::Buffer>> buffers(form == Form::kBytes ? 3 : 2);
  int64_t at = 0;
  if (form == Form::kBytes) {
    const int32_t size = offsets[row + 1] - offsets[row];
    const auto begin = static_cast<int32_t>(slab->Copy(values + offsets[row], size));
    const int32_t ends[2] = {begin, begin + size};
    at = slab->Copy(ends, sizeof(ends)) / static_cast<int64_t>(sizeof(int32_t));
    buffers[2] = slab->buffer();
  } else if (form == Form::kBits) {
    const uint8_t bit = arrow::bit_util::GetBit(values, offset + row) ? 1 : 0;
    at = slab->Copy(&bit, 1) * 8;
  } else {
    at = slab->Copy(values + row * width, width) / width;
  }
  buffers[1] = slab->buffer();
  return arrow::ArrayData::Make(type, 1, std::move(buffers), 0, at);
}

Result<std::shared_ptr<arrow::RecordBatch>> RowBlock::Copy(int64_t row, std::span<const int> columns,
                                                           const std::shared_ptr<arrow::Schema>& schema,
                                                           arrow::MemoryPool* pool) const {
  int64_t bytes = 0;
  for (const int i : columns) bytes += columns_[static_cast<size_t>(i)].Bytes(row);
  if (pool == nullptr) pool = arrow::default_memory_pool();
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes, pool));
  Slab slab(std::move(buffer));
  std::vector<std::shared_ptr<arrow::ArrayData>> copied;
  copied.reserve(columns.size());
  for (size_t out = 0; out < columns.size(); ++out) {
    const Column& column = columns_[static_cast<size_t>(columns[out])];
    const std::shared_ptr<arrow::DataType>& type = schema->field(static_cast<int>(out))->type();
    if (column.form == Column::Form::kOther) {
      copied.push_back(batch_->column_data(columns[out])->Slice(row, 1));
    } else if (column.IsValid(row)) {
      copied.push_back(column.Copy(row, type, &slab));
    } else {
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> null,
                                arrow::MakeArrayOfNull(type, 1, pool));
      copied.push_back(null->data());
    }
  }
  return arrow::RecordBatch::Make(schema, 1, std::move(copied));
}

}  // namespace headrace
