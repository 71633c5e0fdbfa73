// Reads of the newest snapshot that fail because it ended meanwhile, and are made again on a newer one.
//
// A busy writer beside us may end the snapshot that is read, again and again; damage looks the same and never ends. So the number of tries is
// bounded. Reads the id of the newest snapshot.
#pragma once

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"

namespace headrace {

inline constexpr int kMostTries = 10;

// Whether what failed on `snapshot` is to be tried on a newer one; `tries` were made, the failed one included.
Result<bool> MayReadAgain(const Table& table, const Snapshot& snapshot, const Status& failure, int tries);

}  // namespace headrace
