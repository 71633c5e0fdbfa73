// Reduce one column: from the steps of each result row to its value, type by type.
//
// A reducer is made once per column and keeps nothing between calls. Families: picks (first, last, smallest …) only choose a version
// and gather it; numbers fold; text, nested values and bitmaps keep an accumulator a result. Source: FieldAggregator and its kinds.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/merge_rules.h"
#include "lsm/merge_steps.h"

namespace headrace {

struct ColumnRule {
  enum class Kind {
    kGroupOrder,   // orders a sequence group: changes with every version that is not late
    kGroupMember,  // in a sequence group without a function: likewise, and a retraction makes it null
    kAggregate,
  };
  Kind kind = Kind::kAggregate;
  AggregateRule aggregate = {};
};

using ColumnSources = std::span<const std::shared_ptr<arrow::Array>>;

class ColumnReducer {
 public:
  virtual ~ColumnReducer() = default;
  // `sources[b]` is the column in batch b. When it fails on a value, *failed is the result's index.
  virtual Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                                       arrow::MemoryPool* pool, size_t* failed) const = 0;
};

// kUnsupported for a function that is not built. The type fits the function (merge_engine_options.h).
Result<std::unique_ptr<ColumnReducer>> MakeColumnReducer(const DataField& column, const ColumnRule& rule);

// The families. Steps that reach those without retraction hold none.
std::unique_ptr<ColumnReducer> MakePickReducer(const DataField& column, const ColumnRule& rule);
std::unique_ptr<ColumnReducer> MakeNumberReducer(const DataField& column, const AggregateRule& rule);
std::unique_ptr<ColumnReducer> MakeListaggReducer(const DataField& column, const AggregateRule& rule);
std::unique_ptr<ColumnReducer> MakeNestedReducer(const DataField& column, const AggregateRule& rule);
std::unique_ptr<ColumnReducer> MakeBitmapReducer(const DataField& column, const AggregateRule& rule);

// The values of versions, null where `picks` has kNoVersion.
inline constexpr RowRef kNoVersion{0xFFFFFFFF, 0};
inline bool IsVersion(RowRef ref) { return ref.batch != kNoVersion.batch; }
Result<std::shared_ptr<arrow::Array>> GatherPicks(ColumnSources sources, std::vector<RowRef> picks,
                                                  const DataType& type, arrow::MemoryPool* pool);

}  // namespace headrace
