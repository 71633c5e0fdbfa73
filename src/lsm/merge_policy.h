// What the rows of one key become: the rules of a table's merge engine and changelog producer, without a string key.
//
// A merge is order, decide, reduce (docs/architecture.md). This is the input of *decide*: plain values, made once per table.
#pragma once

#include <vector>

#include "format/table_options.h"
#include "format/table_schema.h"

namespace headrace {

struct MergePolicy {
  MergeEngine engine = MergeEngine::kDeduplicate;
  std::vector<std::string> sequence_columns;  // compared before the sequence number, nulls lowest
  bool sequence_descending = false;           // the smaller non-null value wins
  bool ignore_delete = false;
  bool drop_deletes = false;  // a result that is a delete is not handed out
};

MergePolicy MergePolicyOf(const TableOptions& options, bool drop_deletes);

}  // namespace headrace
