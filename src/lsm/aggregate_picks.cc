// Functions whose result is the value of one of the versions: only validity, or the order of values, decides which.
#include <cmath>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>

#include "lsm/aggregate_column.h"

namespace headrace {
namespace {

// Whether rows of one source are null.
class Validity {
 public:
  explicit Validity(const arrow::Array& array)
      : bits_(array.null_count() == 0 ? nullptr : array.null_bitmap_data()), offset_(array.offset()) {}
  bool operator()(uint32_t row) const {
    return bits_ == nullptr || arrow::bit_util::GetBit(bits_, offset_ + row);
  }

 private:
  const uint8_t* bits_;
  int64_t offset_;
};

// What a rule sees of the versions, and the one it has chosen so far.
struct Picking {
  std::vector<Validity> valid;
  bool nullable = true;
  RowRef pick = kNoVersion;
  bool seen = false;  // first_…: a version has settled it

  bool IsValid(RowRef ref) const { return valid[ref.batch](ref.row); }
  bool HasValue() const { return IsVersion(pick) && IsValid(pick); }
};

struct GroupOrder {
  static void Add(Picking* p, RowRef ref) { p->pick = ref; }
  static void LateAdd(Picking*, RowRef) {}
  static void Retract(Picking* p, RowRef ref) { p->pick = ref; }
  static void LateRetract(Picking*, RowRef) {}
};

struct GroupMember {
  static void Add(Picking* p, RowRef ref) { p->pick = ref; }
  static void LateAdd(Picking*, RowRef) {}
  static void Retract(Picking* p, RowRef) { p->pick = kNoVersion; }
  static void LateRetract(Picking*, RowRef) {}
};

struct LastValue {
  static void Add(Picking* p, RowRef ref) { p->pick = ref; }
  static void LateAdd(Picking*, RowRef) {}
  static void Retract(Picking* p, RowRef) { p->pick = kNoVersion; }
  static void LateRetract(Picking* p, RowRef ref) { Retract(p, ref); }
};

struct LastNonNullValue {
  static void Add(Picking* p, RowRef ref) {
    if (p->IsValid(ref)) p->pick = ref;
  }
  static void LateAdd(Picking* p, RowRef ref) {
    if (!p->HasValue()) Add(p, ref);
  }
  static void Retract(Picking* p, RowRef ref) {
    if (p->IsValid(ref)) p->pick = kNoVersion;
  }
  static void LateRetract(Picking* p, RowRef ref) { Retract(p, ref); }
};

struct FirstValue {
  static void Add(Picking* p, RowRef ref) {
    if (!std::exchange(p->seen, true)) p->pick = ref;
  }
  // What is late comes before the first, unless nothing was there: then it is as if the value had been.
  static void LateAdd(Picking* p, RowRef ref) {
    if (std::exchange(p->seen, true)) p->pick = ref;
  }
  static void Retract(Picking*, RowRef) {}
  static void LateRetract(Picking*, RowRef) {}
};

struct FirstNonNullValue {
  static void Add(Picking* p, RowRef ref) {
    if (p->seen || !p->IsValid(ref)) return;
    p->seen = true;
    p->pick = ref;
  }
  // As Java: a late version replaces the value even with null.
  static void LateAdd(Picking* p, RowRef ref) {
    if (!p->seen && p->HasValue()) {
      p->seen = true;
    } else {
      p->pick = ref;
    }
  }
  static void Retract(Picking*, RowRef) {}
  static void LateRetract(Picking*, RowRef) {}
};

// The values of one source, by type. `Less` is Paimon's order.
template <typename ArrowType>
struct ValuesOf {
  using Array = typename arrow::TypeTraits<ArrowType>::ArrayType;
  const Array* array;
  auto operator[](uint32_t row) const {
    if constexpr (arrow::is_decimal_type<ArrowType>::value) {
      return arrow::Decimal128(array->GetValue(row));
    } else {
      return array->GetView(row);
    }
  }
};

template <typename T>
bool Less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a == a && b != b;  // NaN is the largest
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

// Max keeps what it has on a tie, min takes the newer one; both as Java, though only -0.0 and its like could tell.
template <typename ArrowType, bool kLargest>
class Extreme {
 public:
  explicit Extreme(ColumnSources sources) {
    for (const auto& source : sources)
      values_.push_back({static_cast<const typename ValuesOf<ArrowType>::Array*>(source.get())});
  }

  void Add(Picking* p, RowRef ref) const {
    if (!p->IsValid(ref)) return;
    if (!p->HasValue()) {
      p->pick = ref;
      return;
    }
    const auto has = values_[p->pick.batch][p->pick.row];
    const auto comes = values_[ref.batch][ref.row];
    if (kLargest ? Less(has, comes) : !Less(has, comes)) p->pick = ref;
  }
  void LateAdd(Picking* p, RowRef ref) const { Add(p, ref); }
  void Retract(Picking*, RowRef) const {}
  void LateRetract(Picking*, RowRef) const {}

 private:
  std::vector<ValuesOf<ArrowType>> values_;
};

template <typename Rule>
void Run(const Rule& rule, const Steps& steps, Picking* p, std::vector<RowRef>* picks) {
  picks->reserve(steps.count());
  for (size_t i = 0; i < steps.count(); ++i) {
    p->pick = kNoVersion;
    p->seen = false;
    for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
      const RowRef ref = steps.rows[at];
      switch (steps.steps[at]) {
        case Step::kWhole: p->pick = ref; break;
        case Step::kStart: p->pick = p->nullable ? kNoVersion : ref; break;
        case Step::kAdd: rule.Add(p, ref); break;
        case Step::kLateAdd: rule.LateAdd(p, ref); break;
        case Step::kRetract: rule.Retract(p, ref); break;
        case Step::kLateRetract: rule.LateRetract(p, ref); break;
      }
    }
    picks->push_back(p->pick);
  }
}

template <bool kLargest>
void RunExtreme(ColumnSources sources, const DataType& type, const Steps& steps, Picking* p,
                std::vector<RowRef>* picks) {
  const auto run = [&]<typename ArrowType>(ArrowType*) {
    Run(Extreme<ArrowType, kLargest>(sources), steps, p, picks);
  };
  switch (type.root) {
    case TypeRoot::kBoolean: return run(static_cast<arrow::BooleanType*>(nullptr));
    case TypeRoot::kTinyInt: return run(static_cast<arrow::Int8Type*>(nullptr));
    case TypeRoot::kSmallInt: return run(static_cast<arrow::Int16Type*>(nullptr));
    case TypeRoot::kInt: return run(static_cast<arrow::Int32Type*>(nullptr));
    case TypeRoot::kBigInt: return run(static_cast<arrow::Int64Type*>(nullptr));
    case TypeRoot::kFloat: return run(static_cast<arrow::FloatType*>(nullptr));
    case TypeRoot::kDouble: return run(static_cast<arrow::DoubleType*>(nullptr));
    case TypeRoot::kDecimal: return run(static_cast<arrow::Decimal128Type*>(nullptr));
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return run(static_cast<arrow::BinaryType*>(nullptr));
    case TypeRoot::kDate: return run(static_cast<arrow::Date32Type*>(nullptr));
    case TypeRoot::kTime: return run(static_cast<arrow::Time32Type*>(nullptr));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return run(static_cast<arrow::TimestampType*>(nullptr));
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return;  // refused with the options
  }
}

class PickReducer final : public ColumnReducer {
 public:
  PickReducer(DataType type, ColumnRule rule) : type_(std::move(type)), rule_(std::move(rule)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* /*failed*/) const override {
    Picking picking;
    picking.nullable = type_.nullable;
    for (const auto& source : sources) picking.valid.emplace_back(*source);
    std::vector<RowRef> picks;
    RunRule(sources, steps, &picking, &picks);
    return GatherPicks(sources, std::move(picks), type_, pool);
  }

 private:
  void RunRule(ColumnSources sources, const Steps& steps, Picking* p, std::vector<RowRef>* picks) const {
    if (rule_.kind == ColumnRule::Kind::kGroupOrder) return Run(GroupOrder(), steps, p, picks);
    if (rule_.kind == ColumnRule::Kind::kGroupMember) return Run(GroupMember(), steps, p, picks);
    switch (rule_.aggregate.function) {
      case AggregateFunction::kLastValue: return Run(LastValue(), steps, p, picks);
      case AggregateFunction::kFirstValue: return Run(FirstValue(), steps, p, picks);
      case AggregateFunction::kFirstNonNullValue: return Run(FirstNonNullValue(), steps, p, picks);
      case AggregateFunction::kMax:
      case AggregateFunction::kBoolOr: return RunExtreme<true>(sources, type_, steps, p, picks);
      case AggregateFunction::kMin:
      case AggregateFunction::kBoolAnd: return RunExtreme<false>(sources, type_, steps, p, picks);
      default: return Run(LastNonNullValue(), steps, p, picks);
    }
  }

  const DataType type_;
  const ColumnRule rule_;
};

}  // namespace

std::unique_ptr<ColumnReducer> MakePickReducer(const DataField& column, const ColumnRule& rule) {
  return std::make_unique<PickReducer>(column.type, rule);
}

}  // namespace headrace
