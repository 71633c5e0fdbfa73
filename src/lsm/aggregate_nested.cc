// collect, merge_map, nested_update: lists whose elements come from several versions.
//
// An accumulator lists elements by where they stand; values are gathered once, at the end. Elements are equal when their bytes are
// (`AppendBytes`). Order, which Java leaves to its hash tables: as elements came, a replaced one keeping its place.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "lsm/aggregate_column.h"
#include "lsm/gather.h"

namespace headrace {
namespace {

using Elements = std::vector<RowRef>;  // rows of the sources' child arrays
using Accumulator = std::optional<Elements>;

void AppendRaw(const void* bytes, size_t size, std::string* out) {
  out->append(static_cast<const char*>(bytes), size);
}

template <typename Float>
void AppendFloat(const arrow::Array& array, int64_t row, std::string* out) {
  Float value = array.data()->GetValues<Float>(1)[row];
  if (std::isnan(value)) value = std::numeric_limits<Float>::quiet_NaN();
  AppendRaw(&value, sizeof(value), out);
}

// A value so that equal values have equal bytes, inside one type.
void AppendBytes(const arrow::Array& array, int64_t row, std::string* out) {
  out->push_back(array.IsValid(row) ? 1 : 0);
  if (array.IsNull(row)) return;
  const auto append_range = [&](const arrow::Array& child, int64_t begin, int64_t length) {
    AppendRaw(&length, sizeof(length), out);
    for (int64_t at = begin; at < begin + length; ++at) AppendBytes(child, at, out);
  };
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      out->push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0);
      return;
    case arrow::Type::FLOAT: return AppendFloat<float>(array, row, out);
    case arrow::Type::DOUBLE: return AppendFloat<double>(array, row, out);
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const std::string_view text = static_cast<const arrow::BinaryArray&>(array).GetView(row);
      const size_t size = text.size();
      AppendRaw(&size, sizeof(size), out);
      return AppendRaw(text.data(), size, out);
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return append_range(*list.values(), list.value_offset(row), list.value_length(row));
    }
    case arrow::Type::STRUCT: {
      const auto& fields = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < fields.num_fields(); ++i) AppendBytes(*fields.field(i), row, out);
      return;
    }
    default: {
      const int width = array.type()->byte_width();
      AppendRaw(array.data()->buffers[1]->data() + (array.offset() + row) * width, static_cast<size_t>(width),
                out);
    }
  }
}

// The child arrays of every source, and what tells their elements apart.
struct Children {
  std::vector<std::shared_ptr<arrow::Array>> elements;            // of a list; of a map its entries
  std::vector<std::vector<std::shared_ptr<arrow::Array>>> keyed;  // by source: the columns of the key

  bool IsNull(RowRef ref) const { return elements[ref.batch]->IsNull(ref.row); }
  std::string KeyOf(RowRef ref) const {
    std::string key;
    for (const auto& column : keyed[ref.batch]) AppendBytes(*column, ref.row, &key);
    return key;
  }
};

using Keys = std::unordered_set<std::string>;

// ---- collect

Accumulator Collect(const Children& children, bool distinct, Accumulator acc, const Accumulator& in) {
  if (!distinct) {
    if (!acc.has_value()) return in;
    if (in.has_value()) acc->insert(acc->end(), in->begin(), in->end());
    return acc;
  }
  if (!acc.has_value() && !in.has_value()) return acc;
  Elements result;
  Keys known;
  for (const Accumulator* part : {&std::as_const(acc), &in}) {
    if (!part->has_value()) continue;
    for (const RowRef ref : **part) {
      if (known.insert(children.KeyOf(ref)).second) result.push_back(ref);
    }
  }
  return result;
}

// Each element taken back removes one equal one.
Accumulator TakeOut(const Children& children, Accumulator acc, const Accumulator& in) {
  if (!acc.has_value() || !in.has_value()) return acc;
  std::unordered_map<std::string, size_t> leaving;
  for (const RowRef ref : *in) ++leaving[children.KeyOf(ref)];
  std::erase_if(*acc, [&](RowRef ref) {
    const auto found = leaving.find(children.KeyOf(ref));
    if (found == leaving.end() || found->second == 0) return false;
    --found->second;
    return true;
  });
  return acc;
}

// Removes what has the key of any element.
Accumulator TakeOutKeys(const Children& children, Accumulator acc, const Accumulator& in) {
  if (!acc.has_value() || !in.has_value()) return acc;
  Keys leaving;
  for (const RowRef ref : *in) {
    if (!children.IsNull(ref)) leaving.insert(children.KeyOf(ref));
  }
  std::erase_if(*acc,
                [&](RowRef ref) { return children.IsNull(ref) || leaving.contains(children.KeyOf(ref)); });
  return acc;
}

// ---- merge_map and nested_update with a key: elements by key, the newer one in the place of the older

class ByKey {
 public:
  explicit ByKey(const Children& children) : children_(children) {}

  // `most`: new keys are taken while there are fewer.
  void Put(const Elements& elements, size_t most) {
    for (const RowRef ref : elements) {
      if (children_.IsNull(ref)) continue;
      std::string key = children_.KeyOf(ref);
      const auto found = places_.find(key);
      if (found != places_.end()) {
        result_[found->second] = ref;
      } else if (result_.size() < most) {
        places_.emplace(std::move(key), result_.size());
        result_.push_back(ref);
      }
    }
  }
  Elements Take() { return std::move(result_); }

 private:
  const Children& children_;
  std::unordered_map<std::string, size_t> places_;
  Elements result_;
};

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

Accumulator MergeMap(const Children& children, Accumulator acc, const Accumulator& in) {
  if (!acc.has_value() || !in.has_value()) return acc.has_value() ? acc : in;
  ByKey by_key(children);
  by_key.Put(*acc, kNoLimit);
  by_key.Put(*in, kNoLimit);
  return by_key.Take();
}

// Appends rows that are not null, at most `most` of them.
void AppendRows(const Children& children, const Elements& rows, size_t most, Elements* result) {
  for (const RowRef ref : rows) {
    if (most == 0) return;
    if (children.IsNull(ref)) continue;
    result->push_back(ref);
    --most;
  }
}

Accumulator NestedUpdate(const Children& children, const AggregateRule& rule, Accumulator acc,
                         const Accumulator& in) {
  if (!in.has_value()) return acc;
  const auto limit = static_cast<size_t>(rule.count_limit);
  if (!rule.nested_key.empty()) {
    ByKey by_key(children);
    if (acc.has_value()) by_key.Put(*acc, kNoLimit);
    by_key.Put(*in, limit);
    return by_key.Take();
  }
  Elements result;
  if (acc.has_value()) {
    if (acc->size() >= limit) return acc;
    AppendRows(children, *acc, kNoLimit, &result);
  }
  AppendRows(children, *in, acc.has_value() ? limit - acc->size() : limit, &result);
  return result;
}

class NestedReducer final : public ColumnReducer {
 public:
  NestedReducer(const DataField& column, AggregateRule rule) : column_(column), rule_(std::move(rule)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* /*failed*/) const override {
    if (pool == nullptr) pool = arrow::default_memory_pool();
    const Children children = ChildrenOf(sources);
    const auto count = static_cast<int64_t>(steps.count());
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> validity,
                              arrow::AllocateEmptyBitmap(count, pool));
    HEADRACE_ASSIGN_OR_RETURN(
        std::shared_ptr<arrow::Buffer> offsets,
        arrow::AllocateBuffer((count + 1) * static_cast<int64_t>(sizeof(int32_t)), pool));
    auto* offset = reinterpret_cast<int32_t*>(offsets->mutable_data());
    Elements all;
    int64_t nulls = 0;
    for (size_t i = 0; i < steps.count(); ++i) {
      *offset++ = static_cast<int32_t>(all.size());
      Accumulator result;
      for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
        result = Take(steps.steps[at], children, std::move(result), ElementsOf(sources, steps.rows[at]));
      }
      if (!result.has_value()) {
        ++nulls;
        continue;
      }
      arrow::bit_util::SetBit(validity->mutable_data(), static_cast<int64_t>(i));
      all.insert(all.end(), result->begin(), result->end());
      if (all.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        return OverBudget("merging column '", column_.name, "' passes 2^31 elements; use smaller batches");
    }
    *offset = static_cast<int32_t>(all.size());
    return Assemble(sources, children, all, {std::move(validity), std::move(offsets)}, count, nulls, pool);
  }

 private:
  bool is_map() const { return column_.type.root == TypeRoot::kMap; }

  Children ChildrenOf(ColumnSources sources) const {
    Children children;
    for (const auto& source : sources) {
      const auto& list = static_cast<const arrow::ListArray&>(*source);
      children.elements.push_back(list.values());
      std::vector<std::shared_ptr<arrow::Array>>& keyed = children.keyed.emplace_back();
      if (is_map()) {
        keyed = {static_cast<const arrow::MapArray&>(*source).keys()};
      } else if (rule_.nested_key.empty()) {
        keyed = {list.values()};
      } else {
        const auto& rows = static_cast<const arrow::StructArray&>(*list.values());
        for (const std::string& key : rule_.nested_key) keyed.push_back(rows.GetFieldByName(key));
      }
    }
    return children;
  }

  static Accumulator ElementsOf(ColumnSources sources, RowRef ref) {
    const auto& list = static_cast<const arrow::ListArray&>(*sources[ref.batch]);
    if (list.IsNull(ref.row)) return std::nullopt;
    Elements elements;
    const auto begin = static_cast<uint32_t>(list.value_offset(ref.row));
    const auto end = begin + static_cast<uint32_t>(list.value_length(ref.row));
    for (uint32_t at = begin; at < end; ++at) elements.push_back({ref.batch, at});
    return elements;
  }

  Accumulator Take(Step step, const Children& children, Accumulator acc, Accumulator in) const {
    switch (step) {
      case Step::kWhole: return in;
      case Step::kStart: return column_.type.nullable ? std::nullopt : std::move(in);
      case Step::kAdd: return Add(children, std::move(acc), in);
      case Step::kLateAdd:
        // What collect holds has no order worth turning round.
        return rule_.function == AggregateFunction::kCollect ? Add(children, std::move(acc), in)
                                                             : Add(children, std::move(in), acc);
      case Step::kRetract:
      case Step::kLateRetract: return Retract(children, std::move(acc), in);
    }
    return acc;
  }

  Accumulator Add(const Children& children, Accumulator acc, const Accumulator& in) const {
    if (rule_.function == AggregateFunction::kCollect)
      return Collect(children, rule_.distinct, std::move(acc), in);
    if (rule_.function == AggregateFunction::kMergeMap) return MergeMap(children, std::move(acc), in);
    return NestedUpdate(children, rule_, std::move(acc), in);
  }

  Accumulator Retract(const Children& children, Accumulator acc, const Accumulator& in) const {
    if (rule_.function == AggregateFunction::kCollect) return TakeOut(children, std::move(acc), in);
    return TakeOutKeys(children, std::move(acc), in);
  }

  Result<std::shared_ptr<arrow::Array>> Assemble(ColumnSources sources, const Children& children,
                                                 const Elements& all,
                                                 std::vector<std::shared_ptr<arrow::Buffer>> buffers,
                                                 int64_t count, int64_t nulls,
                                                 arrow::MemoryPool* pool) const {
    const std::shared_ptr<arrow::DataType> type =
        sources.empty() ? ToArrowType(column_.type) : sources[0]->type();
    if (sources.empty()) return arrow::MakeArrayOfNull(type, count, pool);
    std::shared_ptr<arrow::ArrayData> child;
    if (is_map()) {
      std::vector<std::shared_ptr<arrow::Array>> keys;
      std::vector<std::shared_ptr<arrow::Array>> items;
      for (const auto& source : sources) {
        keys.push_back(static_cast<const arrow::MapArray&>(*source).keys());
        items.push_back(static_cast<const arrow::MapArray&>(*source).items());
      }
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> key, GatherColumn(keys, all, pool));
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> item, GatherColumn(items, all, pool));
      child = arrow::ArrayData::Make(type->field(0)->type(), static_cast<int64_t>(all.size()), {nullptr},
                                     {key->data(), item->data()}, 0);
    } else {
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> element,
                                GatherColumn(children.elements, all, pool));
      child = element->data();
    }
    if (nulls == 0) buffers[0] = nullptr;
    return arrow::MakeArray(arrow::ArrayData::Make(type, count, std::move(buffers), {child}, nulls));
  }

  const DataField column_;
  const AggregateRule rule_;
};

}  // namespace

std::unique_ptr<ColumnReducer> MakeNestedReducer(const DataField& column, const AggregateRule& rule) {
  return std::make_unique<NestedReducer>(column, rule);
}

}  // namespace headrace
