// Whether pairs of rows hold the same values, column by column: what row-deduplicate asks of before and after.
//
// As Java compares: nulls equal nulls, -0.0 equals 0.0, NaN equals nothing. Pure. Source: EqualiserCodeGenerator.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "lsm/segments.h"

namespace headrace {

// `sources[b]` is the column in batch b, all of one type. Clears `equal[i]` where a[i] and b[i] differ; looks only at pairs that are equal so far.
void KeepEqual(std::span<const std::shared_ptr<arrow::Array>> sources, std::span<const RowRef> a,
               std::span<const RowRef> b, std::vector<char>* equal);

}  // namespace headrace
