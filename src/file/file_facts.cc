#include "file/file_facts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/metadata.h>

#include "file/footer_bounds.h"
#include "file/physical_columns.h"

namespace headrace {
namespace {

template <typename ArrayType>
bool HasNan(const arrow::Array& array) {
  const auto* values = static_cast<const ArrayType&>(array).raw_values();
  bool seen = false;
  for (int64_t i = 0; i < array.length(); ++i) seen |= values[i] != values[i];
  if (!seen || array.null_count() == 0) return seen;
  // Below a null anything may lie.
  for (int64_t i = 0; i < array.length(); ++i) {
    if (values[i] != values[i] && array.IsValid(i)) return true;
  }
  return false;
}

bool ContainsNan(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::FLOAT) return HasNan<arrow::FloatArray>(array);
  return array.type_id() == arrow::Type::DOUBLE && HasNan<arrow::DoubleArray>(array);
}

// How many leaf columns of Parquet a type takes.
int LeafCount(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kArray: return LeafCount(*type.element);
    case TypeRoot::kMap: return LeafCount(*type.key) + LeafCount(*type.value);
    case TypeRoot::kMultiset: return LeafCount(*type.element) + 1;
    case TypeRoot::kRow: {
      int count = 0;
      for (const DataField& field : type.fields) count += LeafCount(field.type);
      return count;
    }
    default: return 1;
  }
}

}  // namespace

FactsPlan PlanKeyValueFacts(std::shared_ptr<const TableSchema> schema, const TableOptions& options,
                            Level level) {
  FactsPlan plan;
  const std::vector<std::string> keys = schema->TrimmedPrimaryKeys();
  plan.key_types = schema->TypesOf(keys);
  plan.fields = KeyValueFields(*schema);
  if (options.thin_mode) plan.dropped_columns = static_cast<int>(keys.size());
  plan.fields.erase(plan.fields.begin(), plan.fields.begin() + plan.dropped_columns);
  const int stored_keys = options.thin_mode ? 0 : static_cast<int>(keys.size());
  plan.sequence_column = stored_keys;
  plan.kind_column = stored_keys + 1;
  plan.first_value_column = stored_keys + 2;
  for (size_t i = 0; i < keys.size(); ++i) {
    plan.key_columns.push_back(options.thin_mode ? plan.first_value_column + schema->FieldIndex(keys[i])
                                                 : static_cast<int>(i));
  }
  plan.value_modes = StatsModesFor(options, level, schema->ColumnNames(),
                                   options.thin_mode ? keys : std::vector<std::string>{});
  plan.schema = std::move(schema);
  return plan;
}

FactsPlan PlanRowFacts(std::shared_ptr<const TableSchema> schema, const TableOptions& options, Level level) {
  FactsPlan plan;
  plan.fields = schema->fields;
  plan.value_modes = StatsModesFor(options, level, schema->ColumnNames());
  plan.schema = std::move(schema);
  return plan;
}

FileFacts::FileFacts(const FactsPlan* plan, int64_t first_sequence)
    : plan_(plan),
      min_sequence_(plan->sequence_column < 0 ? first_sequence : std::numeric_limits<int64_t>::max()),
      max_sequence_(plan->sequence_column < 0 ? first_sequence - 1 : std::numeric_limits<int64_t>::min()),
      null_counts_(plan->fields.size(), 0),
      saw_nan_(plan->fields.size(), false) {}

Status FileFacts::Add(const arrow::RecordBatch& batch) {
  if (batch.num_rows() == 0) return Status::OK();
  for (int i = 0; i < batch.num_columns(); ++i) {
    const arrow::Array& column = *batch.column(i);
    null_counts_[i] += column.null_count();
    if (!saw_nan_[i] && ContainsNan(column)) saw_nan_[i] = true;
  }
  if (!plan_->key_columns.empty()) HEADRACE_RETURN_NOT_OK(AddKeys(batch));
  AddSequencesAndKinds(batch);
  row_count_ += batch.num_rows();
  return Status::OK();
}

Status FileFacts::AddKeys(const arrow::RecordBatch& batch) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const int index : plan_->key_columns) columns.push_back(batch.column(index));
  HEADRACE_ASSIGN_OR_RETURN(const auto encoder, BinaryRowEncoder::Make(plan_->key_types, std::move(columns)));
  const auto arity = static_cast<int32_t>(plan_->key_types.size());
  if (row_count_ == 0) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view first, encoder->EncodeRow(0));
    min_key_ = BinaryRow{arity, std::string(first)};
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::string_view last, encoder->EncodeRow(batch.num_rows() - 1));
  max_key_ = BinaryRow{arity, std::string(last)};
  return Status::OK();
}

void FileFacts::AddSequencesAndKinds(const arrow::RecordBatch& batch) {
  if (plan_->sequence_column < 0) {
    max_sequence_ += batch.num_rows();
    return;
  }
  const auto& sequences = static_cast<const arrow::Int64Array&>(*batch.column(plan_->sequence_column));
  const auto [least, most] =
      std::minmax_element(sequences.raw_values(), sequences.raw_values() + sequences.length());
  min_sequence_ = std::min(min_sequence_, *least);
  max_sequence_ = std::max(max_sequence_, *most);
  const auto& kinds = static_cast<const arrow::Int8Array&>(*batch.column(plan_->kind_column));
  int64_t deletes = 0;
  for (int64_t i = 0; i < kinds.length(); ++i) deletes += kinds.raw_values()[i] & 1;
  delete_count_ += deletes;
}

Result<std::vector<ColumnStats>> FileFacts::ExactStats(const parquet::FileMetaData& footer) const {
  std::vector<ColumnStats> all;
  int leaf = 0;
  for (size_t i = 0; i < plan_->fields.size(); ++i) {
    const DataType& type = plan_->fields[i].type;
    ColumnStats column;
    // Nested columns have no statistics, not even null counts: that is what Java's writer says of them.
    if (!type.is_nested()) {
      column.null_count = null_counts_[i];
      if (!saw_nan_[i] && null_counts_[i] < row_count_) {
        HEADRACE_ASSIGN_OR_RETURN(Bounds bounds, BoundsFromFooter(footer, leaf, type));
        column.min = std::move(bounds.min);
        column.max = std::move(bounds.max);
      }
    }
    all.push_back(std::move(column));
    leaf += LeafCount(type);
  }
  return all;
}

Status FileFacts::Finish(const parquet::FileMetaData& footer, bool dense, DataFileMeta* file) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ColumnStats> all, ExactStats(footer));
  std::vector<ColumnStats> keys;
  std::vector<DataField> key_fields;
  for (const int index : plan_->key_columns) {
    const DataField& field = plan_->fields[index];
    // In thin files the key's statistics are those of its value column, a mode of its own included.
    const int value = index - plan_->first_value_column;
    keys.push_back(
        ApplyStatsMode(all[index], value < 0 ? kKeyStatsMode : plan_->value_modes[value], field.type));
    key_fields.push_back(field);
  }
  std::vector<ColumnStats> values;
  for (size_t i = 0; i < plan_->value_modes.size(); ++i) {
    const size_t index = plan_->first_value_column + i;
    values.push_back(ApplyStatsMode(all[index], plan_->value_modes[i], plan_->fields[index].type));
  }
  HEADRACE_ASSIGN_OR_RETURN(StoredStats key_stats, BuildStats(keys, key_fields, /*dense=*/false));
  HEADRACE_ASSIGN_OR_RETURN(StoredStats value_stats, BuildStats(values, plan_->schema->fields, dense));
  file->key_stats = std::move(key_stats.stats);
  file->value_stats = std::move(value_stats.stats);
  file->value_stats_columns = std::move(value_stats.columns);
  file->row_count = row_count_;
  file->min_key = min_key_;
  file->max_key = max_key_;
  file->min_sequence = min_sequence_;
  file->max_sequence = max_sequence_;
  file->delete_row_count = delete_count_;
  return Status::OK();
}

}  // namespace headrace
