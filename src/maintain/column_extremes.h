// The smallest and largest value of a column in Paimon's order, and how many nulls it has, gathered batch by batch.
//
// Exact: nothing is truncated, NaN is the largest, -0.0 is below 0.0. Nested columns have no extremes. One object a column.
#pragma once

#include <cstdint>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"

namespace headrace {

class ColumnExtremes {
 public:
  explicit ColumnExtremes(DataType type) : type_(std::move(type)) {}

  // `array` has ToArrowType of the column.
  Status Add(const arrow::Array& array);

  const Value& min() const { return min_; }  // null: no value, or a nested column
  const Value& max() const { return max_; }
  int64_t null_count() const { return null_count_; }

 private:
  DataType type_;
  Value min_;
  Value max_;
  int64_t null_count_ = 0;
};

}  // namespace headrace
