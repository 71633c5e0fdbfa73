#include "read/wanted_keys.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace headrace {
namespace {

using Is = RowCondition::Is;

// One range of two bounds, or a range a value.
class Narrowing {
 public:
  explicit Narrowing(const KeyOrder& order) : order_(order) {}

  // False: a value has no place in the order of keys.
  bool Add(const RowCondition& condition) {
    std::vector<EncodedKey> values;
    for (const Value& value : condition.values) {
      Result<EncodedKey> encoded = order_.Encode(std::span(&value, 1));
      if (!encoded.ok()) return false;
      values.push_back(*std::move(encoded));
    }
    switch (condition.is) {
      case Is::kEqual:
      case Is::kIn: points_ = std::move(values); break;  // of several any holds all rows
      case Is::kGreater:
      case Is::kGreaterOrEqual: first_ = std::max(first_, values[0]); break;
      case Is::kLess:
      case Is::kLessOrEqual: last_ = last_ ? std::min(*last_, values[0]) : values[0]; break;
      case Is::kNull:
      case Is::kNotNull: break;
    }
    return true;
  }

  bool narrows() const { return points_ || last_ || !first_.empty(); }

  std::vector<KeyRange> Ranges() && {
    if (!points_) return {{std::move(first_), std::move(last_)}};
    std::sort(points_->begin(), points_->end());
    points_->erase(std::unique(points_->begin(), points_->end()), points_->end());
    std::vector<KeyRange> ranges;
    for (EncodedKey& point : *points_) {
      if (point >= first_ && (!last_ || point <= *last_)) ranges.push_back({point, point});
    }
    return ranges;
  }

 private:
  const KeyOrder& order_;
  EncodedKey first_;
  std::optional<EncodedKey> last_;
  std::optional<std::vector<EncodedKey>> points_;
};

}  // namespace

std::shared_ptr<const KeyRanges> WantedKeys(const TableSchema& schema,
                                            const std::vector<RowCondition>& conditions) {
  const std::vector<std::string> keys = schema.TrimmedPrimaryKeys();
  if (keys.empty()) return nullptr;
  const DataType type = schema.TypesOf(keys)[0];
  Result<KeyOrder> order = KeyOrder::OfKey({type});
  if (!order.ok() || !HasPlainOrder(type.root)) return nullptr;
  Narrowing narrowing(*order);
  for (const RowCondition& condition : conditions) {
    if (condition.column == keys[0] && !narrowing.Add(condition)) return nullptr;
  }
  if (!narrowing.narrows()) return nullptr;
  return std::make_shared<const KeyRanges>(KeyRanges{*std::move(order), std::move(narrowing).Ranges()});
}

}  // namespace headrace
