#include "catalog/entry_matcher.h"

#include <algorithm>

namespace headrace {
namespace {

bool Within(const std::vector<Value>& values, const std::vector<Value>& low, const std::vector<Value>& high,
            const std::vector<std::optional<int64_t>>& null_counts) {
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<int64_t> nulls = i < null_counts.size() ? null_counts[i] : std::nullopt;
    if (IsNull(values[i])) {
      if (nulls.has_value() && *nulls == 0) return false;
      continue;
    }
    if (!IsNull(low[i]) && CompareValues(values[i], low[i]) < 0) return false;
    if (!IsNull(high[i]) && CompareValues(values[i], high[i]) > 0) return false;
  }
  return true;
}

}  // namespace

Result<EntryMatcher> EntryMatcher::Make(const Table& table, const EntryFilter& filter) {
  EntryMatcher matcher;
  matcher.bucket_ = filter.bucket;
  matcher.detail_ = filter.detail;
  if (!filter.partitions.has_value()) return matcher;
  matcher.by_partition_ = true;
  matcher.types_ = table.schema->TypesOf(table.schema->partition_keys);
  for (const BinaryRow& partition : *filter.partitions) {
    if (!matcher.wanted_.insert(SerializeBinaryRow(partition)).second) continue;
    HEADRACE_ASSIGN_OR_RETURN(auto values, DecodeBinaryRow(partition, matcher.types_));
    matcher.partitions_.push_back(std::move(values));
  }
  return matcher;
}

bool EntryMatcher::Wants(const ManifestEntry& entry) const {
  if (bucket_.has_value() && entry.bucket != *bucket_) return false;
  return !by_partition_ || wanted_.contains(SerializeBinaryRow(entry.partition));
}

Result<bool> EntryMatcher::MayHold(const ManifestFileMeta& manifest) const {
  if (bucket_.has_value() && manifest.min_bucket.has_value() && manifest.max_bucket.has_value() &&
      (bucket_->value < *manifest.min_bucket || bucket_->value > *manifest.max_bucket))
    return false;
  if (!by_partition_) return true;
  const SimpleStats& stats = manifest.partition_stats;
  const auto arity = static_cast<int32_t>(types_.size());
  if (stats.min_values.arity != arity || stats.max_values.arity != arity) return true;
  HEADRACE_ASSIGN_OR_RETURN(const auto low, DecodeBinaryRow(stats.min_values, types_));
  HEADRACE_ASSIGN_OR_RETURN(const auto high, DecodeBinaryRow(stats.max_values, types_));
  return std::any_of(partitions_.begin(), partitions_.end(), [&](const std::vector<Value>& values) {
    return Within(values, low, high, stats.null_counts);
  });
}

}  // namespace headrace
