// sum and product: folds over numbers that never wrap. A result that the type cannot hold is an error.
//
// Decimals are folded as unscaled integers; a product is rounded half up to the column's scale, as a quotient is, which must have
// an end (1 / 3 has none). Java: FieldSumAgg, FieldProductAgg of 2.x; where Java turns a decimal overflow into null, this is an error.
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type_traits.h>
#include <arrow/util/decimal.h>

#include "lsm/aggregate_column.h"
#include "lsm/overflow.h"

namespace headrace {
namespace {

enum class Operation { kAdd, kSubtract, kMultiply, kDivide };

char SignOf(Operation operation) {
  switch (operation) {
    case Operation::kAdd: return '+';
    case Operation::kSubtract: return '-';
    case Operation::kMultiply: return '*';
    case Operation::kDivide: return '/';
  }
  return '?';
}

// Integers and floats. Nothing: the type cannot hold the result.
template <typename T>
std::optional<T> Apply(Operation operation, T a, T b, const DataType& /*type*/) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (operation) {
      case Operation::kAdd: return a + b;
      case Operation::kSubtract: return a - b;
      case Operation::kMultiply: return a * b;
      case Operation::kDivide: return a / b;
    }
  } else {
    T result = 0;
    switch (operation) {
      case Operation::kAdd:
        if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
        return result;
      case Operation::kSubtract:
        if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
        return result;
      case Operation::kMultiply:
        if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
        return result;
      case Operation::kDivide:
        if (b == 0 || (b == -1 && a == std::numeric_limits<T>::min())) return std::nullopt;
        return static_cast<T>(a / b);
    }
  }
  return std::nullopt;
}

// Divided by a power of ten or any divisor, halves away from zero.
arrow::Decimal256 DivideHalfUp(const arrow::Decimal256& a, const arrow::Decimal256& b) {
  arrow::Decimal256 quotient = a / b;
  const arrow::Decimal256 rest = a + -(quotient * b);
  const arrow::Decimal256 twice = arrow::Decimal256::Abs(rest) + arrow::Decimal256::Abs(rest);
  if (twice < arrow::Decimal256::Abs(b)) return quotient;
  const bool negative = (a < arrow::Decimal256(0)) != (b < arrow::Decimal256(0));
  return quotient + arrow::Decimal256(negative ? -1 : 1);
}

// Whether a / b has an end as a decimal fraction: b without what it shares with a is made of twos and fives.
bool QuotientEnds(const arrow::Decimal256& a, const arrow::Decimal256& b) {
  const arrow::Decimal256 zero(0);
  arrow::Decimal256 x = arrow::Decimal256::Abs(a);
  arrow::Decimal256 y = arrow::Decimal256::Abs(b);
  while (y != zero) x = std::exchange(y, x % y);
  arrow::Decimal256 rest = arrow::Decimal256::Abs(b) / x;
  for (const arrow::Decimal256& prime : {arrow::Decimal256(2), arrow::Decimal256(5)}) {
    while (rest % prime == zero) rest = rest / prime;
  }
  return rest == arrow::Decimal256(1);
}

template <>
std::optional<arrow::Decimal128> Apply(Operation operation, arrow::Decimal128 a, arrow::Decimal128 b,
                                       const DataType& type) {
  // 256 bits hold the product of any two, so nothing is lost before the check.
  const arrow::Decimal256 x(a);
  const arrow::Decimal256 y(b);
  const arrow::Decimal256 one(arrow::Decimal256::GetScaleMultiplier(type.scale));
  arrow::Decimal256 result;
  switch (operation) {
    case Operation::kAdd: result = x + y; break;
    case Operation::kSubtract: result = x + -y; break;
    case Operation::kMultiply: result = DivideHalfUp(x * y, one); break;
    case Operation::kDivide:
      if (b == arrow::Decimal128(0) || !QuotientEnds(x, y)) return std::nullopt;
      result = DivideHalfUp(x * one, y);
      break;
  }
  if (!result.FitsInPrecision(type.precision)) return std::nullopt;
  const auto& words = result.little_endian_array();
  return arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]);
}

template <typename T>
std::string TextOf(const T& value, const DataType& type) {
  if constexpr (std::is_same_v<T, arrow::Decimal128>) return value.ToString(type.scale);
  std::ostringstream text;
  if constexpr (std::is_integral_v<T>) text << static_cast<int64_t>(value);
  if constexpr (std::is_floating_point_v<T>) text << value;
  return text.str();
}

template <typename ArrowType>
class NumberReducer final : public ColumnReducer {
  using Array = typename arrow::TypeTraits<ArrowType>::ArrayType;
  using Builder = typename arrow::TypeTraits<ArrowType>::BuilderType;
  static constexpr bool kDecimal = arrow::is_decimal_type<ArrowType>::value;

 public:
  NumberReducer(const DataField& column, AggregateRule rule) : column_(column), rule_(std::move(rule)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* failed) const override {
    Builder builder(ToArrowType(column_.type), pool == nullptr ? arrow::default_memory_pool() : pool);
    HEADRACE_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(steps.count())));
    std::vector<const Array*> arrays;
    for (const auto& source : sources) arrays.push_back(static_cast<const Array*>(source.get()));
    for (size_t i = 0; i < steps.count(); ++i) {
      std::optional<Number> result;
      for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
        const RowRef ref = steps.rows[at];
        const Status taken = Take(steps.steps[at], *arrays[ref.batch], ref.row, &result);
        if (!taken.ok()) {
          *failed = i;
          return taken;
        }
      }
      if (result.has_value()) {
        builder.UnsafeAppend(*result);
      } else {
        builder.UnsafeAppendNull();
      }
    }
    return builder.Finish();
  }

 private:
  struct DecimalOrPlain {
    static auto At(const Array& array, uint32_t row) {
      if constexpr (kDecimal) {
        return arrow::Decimal128(array.GetValue(row));
      } else {
        return array.Value(row);
      }
    }
  };
  using Number = decltype(DecimalOrPlain::At(std::declval<const Array&>(), 0));

  Status Take(Step step, const Array& array, uint32_t row, std::optional<Number>* result) const {
    const bool whole = step == Step::kWhole || step == Step::kStart;
    if (whole) result->reset();
    if (array.IsNull(row) || (step == Step::kStart && column_.type.nullable)) return Status::OK();
    const Number value = DecimalOrPlain::At(array, row);
    const bool retract = step == Step::kRetract || step == Step::kLateRetract;
    if (rule_.function == AggregateFunction::kSum) {
      if (result->has_value())
        return Combine(retract ? Operation::kSubtract : Operation::kAdd, **result, value, result);
      if (retract) return Negate(value, result);
    } else if (result->has_value()) {
      return Combine(retract ? Operation::kDivide : Operation::kMultiply, **result, value, result);
    } else if (retract) {
      return Status::OK();
    }
    *result = value;
    return Status::OK();
  }

  Status Negate(Number value, std::optional<Number>* result) const {
    if constexpr (std::is_floating_point_v<Number>) {
      *result = -value;
      return Status::OK();
    } else {
      return Combine(Operation::kSubtract, Number(0), value, result);
    }
  }

  Status Combine(Operation operation, Number a, Number b, std::optional<Number>* result) const {
    *result = Apply<Number>(operation, a, b, column_.type);
    if (result->has_value()) return Status::OK();
    const std::string text =
        TextOf(a, column_.type) + " " + SignOf(operation) + " " + TextOf(b, column_.type);
    const std::string column = "column '" + column_.name + "': ";
    const std::string type = ToSql(column_.type);
    return Overflow(column + (operation == Operation::kDivide
                                  ? "taking a factor back by " + text + " has no result of type " + type
                                  : "the " + rule_.name + " " + text + " overflows " + type));
  }

  const DataField column_;
  const AggregateRule rule_;
};

}  // namespace

std::unique_ptr<ColumnReducer> MakeNumberReducer(const DataField& column, const AggregateRule& rule) {
  switch (column.type.root) {
    case TypeRoot::kTinyInt: return std::make_unique<NumberReducer<arrow::Int8Type>>(column, rule);
    case TypeRoot::kSmallInt: return std::make_unique<NumberReducer<arrow::Int16Type>>(column, rule);
    case TypeRoot::kInt: return std::make_unique<NumberReducer<arrow::Int32Type>>(column, rule);
    case TypeRoot::kBigInt: return std::make_unique<NumberReducer<arrow::Int64Type>>(column, rule);
    case TypeRoot::kFloat: return std::make_unique<NumberReducer<arrow::FloatType>>(column, rule);
    case TypeRoot::kDouble: return std::make_unique<NumberReducer<arrow::DoubleType>>(column, rule);
    default: return std::make_unique<NumberReducer<arrow::Decimal128Type>>(column, rule);
  }
}

}  // namespace headrace
