// Decide: from the versions of each key, which row is the result. Deduplicate: the newest one.
//
// Pure. The first overload reads segments in key order, the general path of every merge engine. Winners that a plan has already
// found without order are filtered by the same rule (`Survives`). Source: DeduplicateMergeFunction, ReducerMergeFunctionWrapper.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "file/physical_columns.h"
#include "lsm/merge_policy.h"
#include "lsm/segments.h"

namespace headrace {

// `kinds[b]` are the RowKind bytes of batch b.
void DecideDeduplicate(const Segments& segments, std::span<const int8_t* const> kinds,
                       const MergePolicy& policy, std::vector<RowRef>* picked);

// Whether a version takes part at all, and whether a winner is handed out.
inline bool TakesPart(int8_t kind, const MergePolicy& policy) {
  return !(policy.ignore_delete && IsRetract(kind));
}
inline bool Survives(int8_t kind, const MergePolicy& policy) {
  return !(policy.drop_deletes && IsRetract(kind));
}

}  // namespace headrace
