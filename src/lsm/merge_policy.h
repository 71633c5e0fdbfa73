// What the rows of one key become: the rules of a table's merge engine and changelog producer, without a string key.
//
// A merge is order, decide, reduce (docs/architecture.md). This is the input of *decide*: plain values, made once per table.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "lsm/key_order.h"

namespace headrace {

struct MergePolicy {
  MergeEngine engine = MergeEngine::kDeduplicate;
  std::vector<std::string> sequence_columns = {};  // compared before the sequence number, nulls lowest
  bool sequence_descending = false;                // the smaller non-null value wins
  bool ignore_delete = false;
  bool drop_deletes = false;  // a result that is a delete is not handed out
  MergeRules rules = {};      // of partial-update and aggregation
  // Tables that look up: of the levels above 0 only the lowest that has a key takes part; deeper ones are in it already.
  bool lowest_level_alone = false;

  // Whether a row may be put together from several versions; otherwise one of them is the row.
  bool combines() const {
    return engine == MergeEngine::kPartialUpdate || engine == MergeEngine::kAggregation;
  }
  // Whether the newest version is the row: what winners first and marks can do.
  bool newest_wins() const { return engine == MergeEngine::kDeduplicate; }
};

MergePolicy MergePolicyOf(const TableOptions& options, bool drop_deletes);

// The order of versions by the policy's sequence columns; without any, an order of no columns. kInvalid names a column that
// the table does not have.
Result<KeyOrder> SequenceOrderOf(const TableSchema& schema, const MergePolicy& policy);

}  // namespace headrace
