// A block of rows decoded for lookups, and one row of it copied out.
//
// Who asks for keys at random waits for memory more than for anything else. So where each column's values lie is kept side by side, and a row
// that is copied touches that and the values alone, not the arrays behind them; nor does it keep the block. Nested columns are sliced.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"

namespace headrace {

class RowBlock {
 public:
  // Of a view's schema: column 0 is _SEQUENCE_NUMBER, column 1 _VALUE_KIND.
  explicit RowBlock(std::shared_ptr<arrow::RecordBatch> batch);

  const arrow::RecordBatch& batch() const { return *batch_; }
  int64_t number(int64_t row) const { return numbers_[row]; }
  int8_t kind(int64_t row) const { return kinds_[row]; }

  // Row `row` of these columns, as one row of `schema`.
  Result<std::shared_ptr<arrow::RecordBatch>> Copy(int64_t row, std::span<const int> columns,
                                                   const std::shared_ptr<arrow::Schema>& schema,
                                                   arrow::MemoryPool* pool) const;

 private:
  class Slab;

  struct Column {
    enum class Form : uint8_t { kFixed, kBits, kBytes, kOther };

    const uint8_t* values =
        nullptr;  // kFixed: of row 0; kBits: with `offset`; kBytes: what `offsets` point into
    const int32_t* offsets = nullptr;  // kBytes: of row 0
    const uint8_t* valid = nullptr;    // with `offset`; null: no row is null
    int64_t offset = 0;
    int16_t width = 0;  // kFixed: bytes
    Form form = Form::kOther;

    bool IsValid(int64_t row) const;
    int64_t Bytes(int64_t row) const;
    std::shared_ptr<arrow::ArrayData> Copy(int64_t row, const std::shared_ptr<arrow::DataType>& type,
                                           Slab* slab) const;
  };

  static Column ColumnOf(const arrow::ArrayData& data);

  const int64_t* numbers_ = nullptr;
  const int8_t* kinds_ = nullptr;
  std::vector<Column> columns_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

}  // namespace headrace
