#include "write/change_kinds.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include "file/physical_columns.h"
#include "format/value.h"

namespace headrace {
namespace {

Result<std::shared_ptr<arrow::Array>> KindsFromColumn(const Table& table, const arrow::RecordBatch& rows,
                                                      arrow::MemoryPool* pool) {
  const std::string& name = table.options.kind_column;
  const auto& texts = static_cast<const arrow::StringArray&>(*rows.column(table.schema->FieldIndex(name)));
  arrow::Int8Builder kinds(pool);
  HEADRACE_RETURN_NOT_OK(kinds.Reserve(rows.num_rows()));
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    int8_t kind = 0;
    while (kind < 4 && (texts.IsNull(row) || texts.GetView(row) != ShortName(static_cast<RowKind>(kind))))
      ++kind;
    if (kind == 4) {
      return Invalid("writing to table ", table.name, ": row ", row + 1, " has ",
                     texts.IsNull(row) ? std::string("null") : "'" + texts.GetString(row) + "'",
                     " in column ", name,
                     ", which says what kind of change it is ('rowkind.field'); allowed are "
                     "+I, -U, +U, -D");
    }
    kinds.UnsafeAppend(kind);
  }
  return kinds.Finish();
}

Result<CheckedRows> WithoutUpdateBefore(CheckedRows rows, arrow::MemoryPool* pool) {
  const auto& kinds = static_cast<const arrow::Int8Array&>(*rows.kinds);
  arrow::Int64Builder kept(pool);
  for (int64_t row = 0; row < kinds.length(); ++row) {
    if (kinds.Value(row) != static_cast<int8_t>(RowKind::kUpdateBefore))
      HEADRACE_RETURN_NOT_OK(kept.Append(row));
  }
  if (kept.length() == kinds.length()) return rows;
  HEADRACE_ASSIGN_OR_RETURN(const auto picks, kept.Finish());
  arrow::compute::ExecContext context(pool);
  const arrow::compute::TakeOptions options = arrow::compute::TakeOptions::NoBoundsCheck();
  HEADRACE_ASSIGN_OR_RETURN(
      const arrow::Datum taken,
      arrow::compute::Take(arrow::Datum(rows.rows), arrow::Datum(picks), options, &context));
  HEADRACE_ASSIGN_OR_RETURN(rows.kinds, arrow::compute::Take(*rows.kinds, *picks, options, &context));
  rows.rows = taken.record_batch();
  return rows;
}

bool CannotTakeBack(const AggregateRule& rule) { return !CanRetract(rule.function) && !rule.ignore_retract; }

// Which retractions an engine could not merge, and why.
class RetractionRule {
 public:
  explicit RetractionRule(const Table& table) : table_(table), rules_(table.options.merge_rules) {}

  bool TakesAll() const {
    const MergeEngine engine = table_.options.merge_engine;
    if (table_.options.ignore_delete || engine == MergeEngine::kDeduplicate) return true;
    if (engine == MergeEngine::kFirstRow) return false;
    if (engine == MergeEngine::kPartialUpdate && rules_.groups.empty()) return rules_.remove_on_delete;
    return std::none_of(rules_.aggregates.begin(), rules_.aggregates.end(),
                        [](const auto& aggregate) { return CannotTakeBack(aggregate.second); });
  }

  // Nothing: the row can be merged.
  std::optional<std::string> WhyNot(const arrow::RecordBatch& rows, int64_t row, bool is_delete) const {
    switch (table_.options.merge_engine) {
      case MergeEngine::kDeduplicate: return std::nullopt;
      case MergeEngine::kFirstRow:
        return "merge-engine first-row takes none; set 'ignore-delete' = 'true' to drop them";
      case MergeEngine::kPartialUpdate:
        if (rules_.groups.empty()) return WhyNotPartialUpdate();
        return WhyNotInGroups(rows, row, is_delete);
      case MergeEngine::kAggregation:
        if (rules_.remove_on_delete && is_delete) return std::nullopt;
        for (const auto& [column, rule] : rules_.aggregates) {
          if (CannotTakeBack(rule)) return WhyNotColumn(column, rule);
        }
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static std::string WhyNotPartialUpdate() {
    return "merge-engine partial-update takes none, unless one of these options says what it means: "
           "'ignore-delete' = 'true' drops it, 'partial-update.remove-record-on-delete' = 'true' lets -D "
           "remove "
           "the row, 'fields.<column>.sequence-group' lets it take back the columns of the group";
  }
  static std::string WhyNotColumn(const std::string& column, const AggregateRule& rule) {
    return "column " + column + " has the function " + rule.name +
           ", which cannot take a value back; set 'fields." + column +
           ".ignore-retract' = 'true' to leave the column as it is";
  }

  bool IsSet(const SequenceGroup& group, const arrow::RecordBatch& rows, int64_t row) const {
    return std::any_of(group.order.begin(), group.order.end(), [&](const std::string& name) {
      return rows.column(table_.schema->FieldIndex(name))->IsValid(row);
    });
  }

  std::optional<std::string> WhyNotInGroups(const arrow::RecordBatch& rows, int64_t row,
                                            bool is_delete) const {
    std::optional<std::string> why;
    for (const SequenceGroup& group : rules_.groups) {
      if (!IsSet(group, rows, row)) continue;
      if (is_delete && group.removes_row) return std::nullopt;
      for (const std::string& column : group.columns) {
        const auto rule = rules_.aggregates.find(column);
        if (rule != rules_.aggregates.end() && CannotTakeBack(rule->second))
          why = WhyNotColumn(column, rule->second);
      }
    }
    return why;
  }

  const Table& table_;
  const MergeRules& rules_;
};

std::string KeyOf(const Table& table, const arrow::RecordBatch& rows, int64_t row) {
  std::string text;
  for (const DataField& field : table.schema->FieldsOf(table.schema->primary_keys)) {
    const Result<Value> value = ValueAt(*rows.column(table.schema->FieldIndex(field.name)), row, field.type);
    text += (text.empty() ? "" : ", ") + field.name + "=" +
            (value.ok() ? ToText(*value, field.type) : std::string("?"));
  }
  return text;
}

Status CheckRetractions(const Table& table, const CheckedRows& rows) {
  const RetractionRule rule(table);
  if (rule.TakesAll()) return Status::OK();
  const auto& kinds = static_cast<const arrow::Int8Array&>(*rows.kinds);
  for (int64_t row = 0; row < kinds.length(); ++row) {
    const int8_t kind = kinds.Value(row);
    if (!IsRetract(kind)) continue;
    const auto why = rule.WhyNot(*rows.rows, row, kind == static_cast<int8_t>(RowKind::kDelete));
    if (!why.has_value()) continue;
    return Invalid("writing to table ", table.name, ": row ", row + 1, " (", KeyOf(table, *rows.rows, row),
                   ") is a ", ShortName(static_cast<RowKind>(kind)), ": ", *why);
  }
  return Status::OK();
}

}  // namespace

Result<CheckedRows> WithChangeKinds(const Table& table, CheckedRows rows, arrow::MemoryPool* pool) {
  if (!table.options.kind_column.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(rows.kinds, KindsFromColumn(table, *rows.rows, pool));
  }
  if (rows.kinds == nullptr) return rows;
  if (table.options.ignore_update_before) {
    HEADRACE_ASSIGN_OR_RETURN(rows, WithoutUpdateBefore(std::move(rows), pool));
  }
  if (table.schema->has_primary_key()) HEADRACE_RETURN_NOT_OK(CheckRetractions(table, rows));
  return rows;
}

}  // namespace headrace
