// Decide for partial-update and aggregation: from the versions of each key, the steps that make each column group.
//
// Pure but for the memory it keeps. Reads kinds, validity and the order columns of sequence groups, no other value.
// A segment of one version is passed on whole. kInvalid where the engine takes no retraction; *failed is then the segment.
// Source: PartialUpdateMergeFunction, AggregateMergeFunction, ReducerMergeFunctionWrapper.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/key_order.h"
#include "lsm/merge_policy.h"
#include "lsm/merge_steps.h"
#include "lsm/segments.h"

namespace headrace {

// One group of steps: all columns.
void DecideAggregation(const Segments& segments, std::span<const int8_t* const> kinds,
                       const MergePolicy& policy, Decision* decision);

class PartialUpdateDecider {
 public:
  // A sequence group that counts for the columns wanted.
  struct Group {
    KeyOrder order;
    std::vector<size_t> columns;  // of the order: positions among the sources' columns
    bool removes_row = false;
    bool nullable = true;  // some order column is
  };

  PartialUpdateDecider(MergePolicy policy, std::vector<Group> groups);

  // `columns[c][b]`: column c of batch b. The first group of steps is for columns outside every sequence group.
  Status Decide(const Segments& segments, std::span<const int8_t* const> kinds,
                std::span<const std::vector<std::shared_ptr<arrow::Array>>> columns, Decision* decision,
                size_t* failed);

 private:
  // The order columns of a group in one batch, from the first row that the segments name.
  struct Ordering {
    KeyColumn keys;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    uint32_t first_row = 0;

    bool IsSet(uint32_t row) const;  // some order column is not null
  };

  Status Prepare(const Segments& segments, size_t batches,
                 std::span<const std::vector<std::shared_ptr<arrow::Array>>> columns);
  Status DecideSegment(std::span<const RowRef> versions, std::span<const int8_t* const> kinds,
                       Decision* decision);
  void Add(RowRef version, Decision* decision);
  Status Retract(RowRef version, bool is_delete, Decision* decision);
  void RetractInGroups(RowRef version, bool is_delete, Decision* decision);
  void StartFrom(RowRef version, Decision* decision);
  bool IsSet(size_t group, RowRef version) const;
  bool IsLate(size_t group, RowRef version) const;

  const MergePolicy policy_;
  const std::vector<Group> groups_;
  std::vector<std::vector<Ordering>> orderings_;  // by group and batch
  // Of the segment under way.
  std::vector<RowRef> newest_;  // of each group: the version whose order columns count; or kNoRow
  bool has_add_ = false;
  bool started_ = false;  // something has given the NOT NULL columns a value
  RowRef removed_by_{};
  bool removed_ = false;  // by the last version
};

}  // namespace headrace
