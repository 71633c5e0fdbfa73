// Waiting until nobody can replace a snapshot any more.
//
// On a local disk Java Paimon and pypaimon publish by a rename that replaces what is there: they write `.snapshot-N.<uuid>.tmp`, look whether
// snapshot-N exists, and rename. Whoever looked before snapshot-N stood has its temporary file in the folder by then. So once those are gone,
// the snapshot is what it will be for ever: nothing is built on a snapshot, and none is acknowledged, before that. A process that is stopped
// between its look and its rename for longer than kMostWaitMs is not waited for (a killed one leaves its file for ever); its rename is found
// out at our next commit. Headrace's own temporary files have other names. Functions of the store, thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"

namespace headrace {

inline constexpr int64_t kMostWaitMs = 10'000;

// Returns when no other writer is about to take the place of this snapshot.
Status Settle(const Table& table, SnapshotId id);

Result<std::optional<Snapshot>> ReadLatestSettled(const Table& table);

// Whether the snapshot is, and will stay, part of the table. One that has expired is, one that was replaced or rolled back is not.
Result<bool> StaysThere(const Table& table, const Snapshot& snapshot);

// Whether the snapshot after `ours` was built on it, although another stands in its place now. Then nothing can be committed anew: our files
// are in the table, and what the other added is in no later snapshot.
Result<bool> IsBuiltUpon(const Table& table, const Snapshot& ours);

// How to tell it: kCorruption, naming both snapshots.
Status ReplacedUnderneath(const Table& table, const Snapshot& ours);

}  // namespace headrace
