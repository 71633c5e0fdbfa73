// How the rows of one key become one in the engines partial-update and aggregation: the options of a table as plain values.
//
// Column names stand for themselves; every one of them exists. Read from options by merge_engine_options.cc, which also refuses
// what does not go together. Immutable once parsed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class AggregateFunction {
  kSum,
  kProduct,
  kMax,
  kMin,
  kLastValue,
  kLastNonNullValue,
  kFirstValue,
  kFirstNonNullValue,
  kListagg,
  kBoolAnd,
  kBoolOr,
  kCollect,
  kMergeMap,
  kNestedUpdate,
  kRbm32,
  kRbm64,
  kNotBuilt,  // known to Paimon: a table with it is not written, and the column is read only where nothing is to be merged
};

struct AggregateRule {
  AggregateFunction function = AggregateFunction::kLastNonNullValue;  // fields.<f>.aggregate-function
  std::string name = "last_non_null_value";                           // as the option has it
  bool ignore_retract = false;                                        // fields.<f>.ignore-retract
  std::string delimiter = ",";                                        // fields.<f>.list-agg-delimiter
  bool distinct = false;                                              // fields.<f>.distinct
  std::vector<std::string> nested_key = {};                           // fields.<f>.nested-key
  int32_t count_limit = std::numeric_limits<int32_t>::max();          // fields.<f>.count-limit

  bool operator==(const AggregateRule&) const = default;
};

// Whether a retraction takes something back; otherwise it is an error, unless ignored.
bool CanRetract(AggregateFunction function);

// Columns that change only with rows whose order columns are not older (fields.<order>.sequence-group = <columns>).
struct SequenceGroup {
  std::vector<std::string> order;    // compared left to right, nulls lowest
  std::vector<std::string> columns;  // protected by them
  bool removes_row =
      false;  // a -D of this group deletes the row (partial-update.remove-record-on-sequence-group)

  bool operator==(const SequenceGroup&) const = default;
};

struct MergeRules {
  // By column. Aggregation: every column that is neither key nor partition column. Partial-update: those that have a function.
  std::map<std::string, AggregateRule> aggregates = {};
  std::vector<SequenceGroup> groups = {};  // partial-update alone
  // partial-update.remove-record-on-delete, aggregation.remove-record-on-delete
  bool remove_on_delete = false;

  bool operator==(const MergeRules&) const = default;
};

}  // namespace headrace
