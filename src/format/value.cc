// Order of values, and values from and to Arrow arrays.
#include "format/value.h"

#include <cmath>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "format/civil_time.h"

namespace headrace {
namespace {

template <typename T>
int ThreeWay(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

template <typename Float>
int CompareFloats(Float a, Float b) {
  if (a < b) return -1;
  if (b < a) return 1;
  // Equal, or a NaN is there: NaN is the largest, and the negative zero is below the positive one.
  const auto rank = [](Float x) { return std::isnan(x) ? 2 : (std::signbit(x) ? 0 : 1); };
  if (std::isnan(a) || std::isnan(b) || a == 0) return ThreeWay(rank(a), rank(b));
  return 0;
}

int64_t UnitsPerMilli(arrow::TimeUnit::type unit) {
  if (unit == arrow::TimeUnit::MICRO) return 1000;
  return unit == arrow::TimeUnit::NANO ? 1000000 : 1;
}

Timestamp TimestampOf(int64_t count, arrow::TimeUnit::type unit) {
  const int64_t units = UnitsPerMilli(unit);
  Timestamp timestamp;
  timestamp.millis = FloorDiv(count, units);
  timestamp.nanos_of_milli = static_cast<int32_t>(FloorMod(count, units) * (1000000 / units));
  return timestamp;
}

Result<int64_t> CountOf(const Timestamp& timestamp, arrow::TimeUnit::type unit) {
  const int64_t units = UnitsPerMilli(unit);
  int64_t count = 0;
  if (__builtin_mul_overflow(timestamp.millis, units, &count) ||
      __builtin_add_overflow(count, timestamp.nanos_of_milli / (1000000 / units), &count)) {
    return Unsupported("timestamp of ", timestamp.millis, " ms since 1970 is outside the range of ",
                       unit == arrow::TimeUnit::NANO ? "nanosecond" : "microsecond", " columns");
  }
  return count;
}

template <typename ArrayType>
auto Cell(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

Result<std::shared_ptr<arrow::Scalar>> ScalarOf(const Value& value, const DataType& type) {
  const std::shared_ptr<arrow::DataType> arrow_type = ToArrowType(type);
  switch (type.root) {
    case TypeRoot::kBoolean: return std::make_shared<arrow::BooleanScalar>(std::get<bool>(value));
    case TypeRoot::kTinyInt: return std::make_shared<arrow::Int8Scalar>(std::get<int8_t>(value));
    case TypeRoot::kSmallInt: return std::make_shared<arrow::Int16Scalar>(std::get<int16_t>(value));
    case TypeRoot::kInt: return std::make_shared<arrow::Int32Scalar>(std::get<int32_t>(value));
    case TypeRoot::kBigInt: return std::make_shared<arrow::Int64Scalar>(std::get<int64_t>(value));
    case TypeRoot::kFloat: return std::make_shared<arrow::FloatScalar>(std::get<float>(value));
    case TypeRoot::kDouble: return std::make_shared<arrow::DoubleScalar>(std::get<double>(value));
    case TypeRoot::kDecimal:
      return std::make_shared<arrow::Decimal128Scalar>(std::get<arrow::Decimal128>(value), arrow_type);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return std::make_shared<arrow::StringScalar>(std::get<std::string>(value));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return std::make_shared<arrow::BinaryScalar>(std::get<std::string>(value));
    case TypeRoot::kDate: return std::make_shared<arrow::Date32Scalar>(std::get<int32_t>(value));
    case TypeRoot::kTime: return std::make_shared<arrow::Time32Scalar>(std::get<int32_t>(value), arrow_type);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      const auto unit = static_cast<const arrow::TimestampType&>(*arrow_type).unit();
      HEADRACE_ASSIGN_OR_RETURN(int64_t count, CountOf(std::get<Timestamp>(value), unit));
      return std::make_shared<arrow::TimestampScalar>(count, arrow_type);
    }
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: break;
  }
  return Unsupported("a single value of the nested type ", ToSql(type));
}

}  // namespace

bool FitsType(const Value& value, const DataType& type) {
  if (IsNull(value)) return true;
  switch (type.root) {
    case TypeRoot::kBoolean: return std::holds_alternative<bool>(value);
    case TypeRoot::kTinyInt: return std::holds_alternative<int8_t>(value);
    case TypeRoot::kSmallInt: return std::holds_alternative<int16_t>(value);
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return std::holds_alternative<int32_t>(value);
    case TypeRoot::kBigInt: return std::holds_alternative<int64_t>(value);
    case TypeRoot::kFloat: return std::holds_alternative<float>(value);
    case TypeRoot::kDouble: return std::holds_alternative<double>(value);
    case TypeRoot::kDecimal: return std::holds_alternative<arrow::Decimal128>(value);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return std::holds_alternative<std::string>(value);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return std::holds_alternative<Timestamp>(value);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return false;
  }
  return false;
}

int CompareValues(const Value& a, const Value& b) {
  if (a.index() != b.index()) return ThreeWay(a.index(), b.index());  // null is alternative 0: it comes first
  return std::visit(
      [&b](const auto& left) -> int {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, std::monostate>) {
          return 0;
        } else if constexpr (std::is_floating_point_v<T>) {
          return CompareFloats(left, right);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return ThreeWay(left.compare(right), 0);  // char_traits<char> compares as unsigned bytes
        } else {
          return ThreeWay(left, right);
        }
      },
      a);
}

Result<Value> ValueAt(const arrow::Array& array, int64_t row, const DataType& type) {
  if (array.IsNull(row)) return Value();
  switch (type.root) {
    case TypeRoot::kBoolean: return Value(Cell<arrow::BooleanArray>(array, row));
    case TypeRoot::kTinyInt: return Value(Cell<arrow::Int8Array>(array, row));
    case TypeRoot::kSmallInt: return Value(Cell<arrow::Int16Array>(array, row));
    case TypeRoot::kInt: return Value(Cell<arrow::Int32Array>(array, row));
    case TypeRoot::kBigInt: return Value(Cell<arrow::Int64Array>(array, row));
    case TypeRoot::kFloat: return Value(Cell<arrow::FloatArray>(array, row));
    case TypeRoot::kDouble: return Value(Cell<arrow::DoubleArray>(array, row));
    case TypeRoot::kDecimal:
      return Value(arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)));
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return Value(std::string(static_cast<const arrow::BinaryArray&>(array).GetView(row)));
    case TypeRoot::kDate: return Value(Cell<arrow::Date32Array>(array, row));
    case TypeRoot::kTime: return Value(Cell<arrow::Time32Array>(array, row));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      const auto& timestamps = static_cast<const arrow::TimestampArray&>(array);
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      return Value(TimestampOf(timestamps.Value(row), unit));
    }
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: break;
  }
  return Unsupported("a single value of the nested type ", ToSql(type));
}

Result<std::shared_ptr<arrow::Array>> ArrayOf(const Value& value, const DataType& type, int64_t length,
                                              arrow::MemoryPool* pool) {
  if (IsNull(value)) return arrow::MakeArrayOfNull(ToArrowType(type), length, pool);
  if (!FitsType(value, type)) return Invalid("a value of another type where ", ToSql(type), " is expected");
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Scalar> scalar, ScalarOf(value, type));
  return arrow::MakeArrayFromScalar(*scalar, length, pool);
}

}  // namespace headrace
