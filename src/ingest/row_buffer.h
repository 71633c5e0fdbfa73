// Rows being made: one growing column per table column and a row kind each, cut back when a line turns out bad.
//
// Unlike Arrow's builders a RowBuffer can take back its last rows, read what it holds, and copy rows from another; Finish turns it into a
// RecordBatch and empties it. Invariants: all columns hold rows() cells; a nested column's children hold exactly what its cells refer to.
// Sizes are bounded by the caller, who finishes a batch before byte_size() nears 2 GiB. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"

namespace headrace::ingest {

enum class RowKind : int8_t { kInsert = 0, kUpdateBefore = 1, kUpdateAfter = 2, kDelete = 3 };

// One column. Which storage a type uses: BOOLEAN one byte; integers, DATE, TIME, TIMESTAMP (in the unit of ToArrowType), FLOAT and DOUBLE
// their width; DECIMAL 16 bytes; CHAR … VARBINARY bytes; ARRAY, MAP, MULTISET offsets into children; ROW children alone.
class ColumnBuffer {
 public:
  explicit ColumnBuffer(const DataType& type);
  ColumnBuffer(ColumnBuffer&&) = default;

  const DataType& type() const { return type_; }
  int64_t size() const { return static_cast<int64_t>(valid_.size()); }
  bool IsNull(int64_t row) const { return valid_[row] == 0; }

  void AppendNull();
  // The type's zero: 0, "", an empty list, the epoch.
  void AppendZero();
  void AppendBool(bool value) { AppendFixed<uint8_t>(value ? 1 : 0); }
  template <typename T>
  void AppendFixed(T value) {
    const size_t at = fixed_.size();
    fixed_.resize(at + sizeof(T));
    std::memcpy(fixed_.data() + at, &value, sizeof(T));
    valid_.push_back(1);
  }
  void AppendBytes(std::string_view bytes);
  void AppendDecimal(const arrow::Decimal128& value);
  // Nested cells: append the children's cells first, then close the cell.
  void CloseList();
  void CloseRow() { valid_.push_back(1); }
  std::vector<ColumnBuffer>& children() { return children_; }
  const std::vector<ColumnBuffer>& children() const { return children_; }

  void AppendFrom(const ColumnBuffer& other, int64_t row);
  void TruncateTo(int64_t rows);

  template <typename T>
  T FixedAt(int64_t row) const {
    T value;
    std::memcpy(&value, fixed_.data() + row * sizeof(T), sizeof(T));
    return value;
  }
  std::string_view BytesAt(int64_t row) const;
  // Of a primitive type.
  Value ValueAt(int64_t row) const;
  // Appends bytes that are equal exactly when the cells are. Of a primitive type.
  void AppendKeyBytes(int64_t row, std::string* out) const;

  int64_t byte_size() const;
  Result<std::shared_ptr<arrow::Array>> Finish();
  // Cells of an Arrow array of ToArrowType(type()).
  Status AppendArrow(const arrow::Array& array, int64_t row);

 private:
  int32_t WidthOfFixed() const;

  DataType type_;
  int32_t width_ = 0;             // bytes of a fixed cell; 0 for bytes and nested types
  std::vector<uint8_t> valid_;    // a byte a cell
  std::vector<uint8_t> fixed_;    // width_ bytes a cell, null cells zeroed
  std::vector<int32_t> offsets_;  // size() + 1, for bytes and lists
  std::string bytes_;
  std::vector<ColumnBuffer> children_;
};

class RowBuffer {
 public:
  explicit RowBuffer(const std::vector<DataField>& fields);

  int64_t rows() const { return static_cast<int64_t>(kinds_.size()); }
  int num_columns() const { return static_cast<int>(columns_.size()); }
  ColumnBuffer& column(int i) { return columns_[i]; }
  const ColumnBuffer& column(int i) const { return columns_[i]; }
  RowKind kind(int64_t row) const { return kinds_[row]; }

  // Closes a row: every column has got one more cell.
  void CloseRow(RowKind kind) { kinds_.push_back(kind); }
  // Takes back all cells and rows after the first `rows`, an unfinished row included.
  void TruncateTo(int64_t rows);
  void AppendRowFrom(const RowBuffer& other, int64_t row, RowKind kind);
  Status AppendArrowRow(const arrow::RecordBatch& batch, int64_t row, RowKind kind);

  int64_t byte_size() const;
  struct Batch {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::shared_ptr<arrow::Array> kinds;  // int8
  };
  Result<Batch> Finish();

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<ColumnBuffer> columns_;
  std::vector<RowKind> kinds_;
};

}  // namespace headrace::ingest
