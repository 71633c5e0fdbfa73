#include "write/reading_again.h"

#include "catalog/snapshots.h"

namespace headrace {

Result<bool> MayReadAgain(const Table& table, const Snapshot& snapshot, const Status& failure, int tries) {
  if (tries >= kMostTries) return false;
  return WasOvertaken(table, snapshot, failure);
}

}  // namespace headrace
