// Conditions against partitions, buckets and statistics.
#include "read/pruning.h"

#include <algorithm>
#include <utility>

#include "file/evolve.h"
#include "format/binary_row.h"

namespace headrace {
namespace {

using Is = RowCondition::Is;

}  // namespace

bool HasPlainOrder(TypeRoot root) {
  switch (root) {
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kDecimal:
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kDate:
    case TypeRoot::kTimestamp: return true;
    default: return false;
  }
}

bool Meets(const Value& value, const RowCondition& condition) {
  if (condition.is == Is::kNull) return IsNull(value);
  if (IsNull(value)) return false;
  if (condition.is == Is::kNotNull) return true;
  return std::any_of(condition.values.begin(), condition.values.end(), [&](const Value& wanted) {
    const int order = CompareValues(value, wanted);
    switch (condition.is) {
      case Is::kLess: return order < 0;
      case Is::kLessOrEqual: return order <= 0;
      case Is::kGreater: return order > 0;
      case Is::kGreaterOrEqual: return order >= 0;
      default: return order == 0;
    }
  });
}

bool MayMeet(const ColumnStats& stats, int64_t rows, const RowCondition& condition) {
  if (condition.is == Is::kNull) return stats.null_count != int64_t{0};
  if (stats.all_null(rows)) return false;
  if (condition.is == Is::kNotNull) return true;
  return std::any_of(condition.values.begin(), condition.values.end(), [&](const Value& wanted) {
    // Not beyond an end that is known.
    const int to_min = IsNull(stats.min) ? 1 : CompareValues(wanted, stats.min);
    const int to_max = IsNull(stats.max) ? -1 : CompareValues(wanted, stats.max);
    switch (condition.is) {
      case Is::kLess: return to_min > 0;
      case Is::kLessOrEqual: return to_min >= 0;
      case Is::kGreater: return to_max < 0;
      case Is::kGreaterOrEqual: return to_max <= 0;
      default: return to_min >= 0 && to_max <= 0;
    }
  });
}

FilePruner::FilePruner(const Table& table, std::vector<RowCondition> conditions) : table_(table) {
  for (RowCondition& condition : conditions) {
    const int field = table.schema->FieldIndex(condition.column);
    if (field < 0) continue;
    const bool compares = condition.is != Is::kNull && condition.is != Is::kNotNull;
    if (compares && !HasPlainOrder(table.schema->fields[static_cast<size_t>(field)].type.root)) continue;
    const bool is_one =
        condition.is == Is::kEqual || (condition.is == Is::kIn && condition.values.size() == 1);
    if (is_one) equal_.insert_or_assign(condition.column, condition.values[0]);
    conditions_.push_back(std::move(condition));
  }
}

Result<bool> FilePruner::MayHold(const ManifestEntry& entry) const {
  HEADRACE_ASSIGN_OR_RETURN(const bool in_partition, IsInPartition(entry.partition));
  if (!in_partition) return false;
  HEADRACE_ASSIGN_OR_RETURN(const bool in_bucket, IsInBucket(entry));
  if (!in_bucket) return false;
  if (!table_.schema->has_primary_key()) return MayHoldAsItIs(entry.file);
  return MayHoldByStats(entry.file, entry.file.key_stats, std::nullopt, true);
}

Result<bool> FilePruner::MayHoldAsItIs(const DataFileMeta& file) const {
  return MayHoldByStats(file, file.value_stats, file.value_stats_columns, false);
}

Result<bool> FilePruner::IsInPartition(const BinaryRow& partition) const {
  const std::vector<std::string>& keys = table_.schema->partition_keys;
  if (keys.empty()) return true;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values,
                            DecodeBinaryRow(partition, table_.schema->TypesOf(keys)));
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const RowCondition& condition) {
    const auto key = std::find(keys.begin(), keys.end(), condition.column);
    return key == keys.end() || Meets(values[static_cast<size_t>(key - keys.begin())], condition);
  });
}

Result<bool> FilePruner::IsInBucket(const ManifestEntry& entry) const {
  if (!HasAll(equal_, table_.schema->BucketKeys())) return true;
  HEADRACE_ASSIGN_OR_RETURN(
      const std::optional<BucketId> bucket,
      BucketOfKey(*table_.schema, table_.options.bucket_function, equal_, entry.total_buckets));
  return !bucket || *bucket == entry.bucket;
}

Result<bool> FilePruner::MayHoldByStats(const DataFileMeta& file, const SimpleStats& stats,
                                        const std::optional<std::vector<std::string>>& listed,
                                        bool of_keys) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> written,
                            table_.schema_by_id(file.schema_id));
  const std::vector<DataField> fields =
      of_keys ? written->FieldsOf(written->TrimmedPrimaryKeys()) : written->fields;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ColumnStats> columns, ReadStats(stats, listed, fields));
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const RowCondition& condition) {
    const DataField& now =
        table_.schema->fields[static_cast<size_t>(table_.schema->FieldIndex(condition.column))];
    const DataField* then = FindFieldById(fields, now.id);
    if (then == nullptr) return true;
    const ColumnStats& column = columns[static_cast<size_t>(then - fields.data())];
    return MayMeet(EvolveStats(column, then->type, now.type), file.row_count, condition);
  });
}

}  // namespace headrace
