// Order: the rows of a window in key order, cut into segments of one key, oldest version first.
//
// A loser tree over the window's parts: each part is sorted and has a key once, so a segment has at most one row a part. Integers
// are compared as integers, byte keys by their first eight bytes and then in full. The general path of every merge engine.
#pragma once

#include "lsm/segments.h"
#include "lsm/window.h"

namespace headrace {

// RowRefs: `batch` is the part's number in the window, `row` the row of its batch. `by_age`: see versions.h.
void OrderRows(const Window& window, bool by_age, Segments* segments);

}  // namespace headrace
