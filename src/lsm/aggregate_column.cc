#include "lsm/aggregate_column.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>

#include "lsm/gather.h"

namespace headrace {
namespace {

bool IsRetractStep(Step step) { return step == Step::kRetract || step == Step::kLateRetract; }

// The steps that are no retractions.
Steps WithoutRetractions(const Steps& steps) {
  Steps kept;
  for (size_t i = 0; i < steps.count(); ++i) {
    kept.Begin();
    for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
      if (!IsRetractStep(steps.steps[at])) kept.Push(steps.steps[at], steps.rows[at]);
    }
  }
  return kept;
}

// A function that takes no retraction, or is told to ignore it.
class AddsOnly final : public ColumnReducer {
 public:
  AddsOnly(std::string column, AggregateRule rule, std::unique_ptr<ColumnReducer> adds)
      : column_(std::move(column)), rule_(std::move(rule)), adds_(std::move(adds)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* failed) const override {
    const auto found = std::find_if(steps.steps.begin(), steps.steps.end(), IsRetractStep);
    if (found == steps.steps.end()) return adds_->Reduce(sources, steps, pool, failed);
    if (rule_.ignore_retract) return adds_->Reduce(sources, WithoutRetractions(steps), pool, failed);
    const auto at = static_cast<uint32_t>(found - steps.steps.begin());
    *failed = static_cast<size_t>(std::upper_bound(steps.starts.begin(), steps.starts.end(), at) -
                                  steps.starts.begin()) -
              1;
    return Invalid("column '", column_, "': the function ", rule_.name,
                   " cannot take back a value, and the key has a -U or -D; set 'fields.", column_,
                   ".ignore-retract' = 'true' to pass over such rows in this column");
  }

 private:
  const std::string column_;
  const AggregateRule rule_;
  const std::unique_ptr<ColumnReducer> adds_;
};

Result<std::unique_ptr<ColumnReducer>> MakeFunction(const DataField& column, const ColumnRule& rule) {
  switch (rule.aggregate.function) {
    case AggregateFunction::kSum:
    case AggregateFunction::kProduct: return MakeNumberReducer(column, rule.aggregate);
    case AggregateFunction::kListagg: return MakeListaggReducer(column, rule.aggregate);
    case AggregateFunction::kCollect:
    case AggregateFunction::kMergeMap:
    case AggregateFunction::kNestedUpdate: return MakeNestedReducer(column, rule.aggregate);
    case AggregateFunction::kRbm32:
    case AggregateFunction::kRbm64: return MakeBitmapReducer(column, rule.aggregate);
    case AggregateFunction::kMax:
    case AggregateFunction::kMin:
    case AggregateFunction::kLastValue:
    case AggregateFunction::kLastNonNullValue:
    case AggregateFunction::kFirstValue:
    case AggregateFunction::kFirstNonNullValue:
    case AggregateFunction::kBoolAnd:
    case AggregateFunction::kBoolOr: return MakePickReducer(column, rule);
    case AggregateFunction::kNotBuilt: break;
  }
  return Unsupported("column '", column.name, "': the function ", rule.aggregate.name,
                     " is not built, so its rows cannot be merged here; read the other columns");
}

}  // namespace

Result<std::unique_ptr<ColumnReducer>> MakeColumnReducer(const DataField& column, const ColumnRule& rule) {
  if (rule.kind != ColumnRule::Kind::kAggregate) return MakePickReducer(column, rule);
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<ColumnReducer> made, MakeFunction(column, rule));
  if (CanRetract(rule.aggregate.function) && !rule.aggregate.ignore_retract) return made;
  return std::make_unique<AddsOnly>(column.name, rule.aggregate, std::move(made));
}

Result<std::shared_ptr<arrow::Array>> GatherPicks(ColumnSources sources, std::vector<RowRef> picks,
                                                  const DataType& type, arrow::MemoryPool* pool) {
  bool any_null = false;
  const auto nothing = static_cast<uint32_t>(sources.size());
  for (RowRef& pick : picks) {
    if (IsVersion(pick)) continue;
    any_null = true;
    pick = {nothing, 0};
  }
  if (!any_null && !sources.empty()) return GatherColumn(sources, picks, pool);
  std::vector<std::shared_ptr<arrow::Array>> with_null(sources.begin(), sources.end());
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::Array> null,
      arrow::MakeArrayOfNull(ToArrowType(type), 1, pool == nullptr ? arrow::default_memory_pool() : pool));
  with_null.push_back(std::move(null));
  return GatherColumn(with_null, picks, pool);
}

}  // namespace headrace
