#include "maintain/column_extremes.h"

#include <cmath>
#include <utility>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

namespace headrace {
namespace {

struct Places {
  int64_t min = -1;  // rows of the batch; -1: no value
  int64_t max = -1;
};

template <typename Get, typename Less>
Places Find(const arrow::Array& array, Get&& get, Less&& less) {
  Places places;
  for (int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) continue;
    if (places.min < 0) {
      places = {row, row};
      continue;
    }
    if (less(get(row), get(places.min))) places.min = row;
    if (less(get(places.max), get(row))) places.max = row;
  }
  return places;
}

template <typename ArrayType>
Places FindPlain(const arrow::Array& array) {
  const auto& values = static_cast<const ArrayType&>(array);
  return Find(
      array, [&](int64_t row) { return values.Value(row); }, [](auto a, auto b) { return a < b; });
}

template <typename ArrayType>
Places FindFloating(const arrow::Array& array) {
  const auto& values = static_cast<const ArrayType&>(array);
  return Find(
      array, [&](int64_t row) { return values.Value(row); },
      [](auto a, auto b) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
        return a == b ? std::signbit(a) && !std::signbit(b) : a < b;
      });
}

Places FindIn(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::BOOL: return FindPlain<arrow::BooleanArray>(array);
    case arrow::Type::INT8: return FindPlain<arrow::Int8Array>(array);
    case arrow::Type::INT16: return FindPlain<arrow::Int16Array>(array);
    case arrow::Type::INT32: return FindPlain<arrow::Int32Array>(array);
    case arrow::Type::INT64: return FindPlain<arrow::Int64Array>(array);
    case arrow::Type::DATE32: return FindPlain<arrow::Date32Array>(array);
    case arrow::Type::TIME32: return FindPlain<arrow::Time32Array>(array);
    case arrow::Type::TIMESTAMP: return FindPlain<arrow::TimestampArray>(array);
    case arrow::Type::FLOAT: return FindFloating<arrow::FloatArray>(array);
    case arrow::Type::DOUBLE: return FindFloating<arrow::DoubleArray>(array);
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const auto& values = static_cast<const arrow::BinaryArray&>(array);
      return Find(
          array, [&](int64_t row) { return values.GetView(row); },
          [](std::string_view a, std::string_view b) { return a < b; });
    }
    case arrow::Type::DECIMAL128: {
      const auto& values = static_cast<const arrow::Decimal128Array&>(array);
      return Find(
          array, [&](int64_t row) { return arrow::Decimal128(values.GetValue(row)); },
          [](const arrow::Decimal128& a, const arrow::Decimal128& b) { return a < b; });
    }
    default: return {};
  }
}

}  // namespace

Status ColumnExtremes::Add(const arrow::Array& array) {
  null_count_ += array.null_count();
  if (type_.is_nested()) return Status::OK();
  const Places places = FindIn(array);
  if (places.min < 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(Value min, ValueAt(array, places.min, type_));
  HEADRACE_ASSIGN_OR_RETURN(Value max, ValueAt(array, places.max, type_));
  if (IsNull(min_) || CompareValues(min, min_) < 0) min_ = std::move(min);
  if (IsNull(max_) || CompareValues(max, max_) > 0) max_ = std::move(max);
  return Status::OK();
}

}  // namespace headrace
