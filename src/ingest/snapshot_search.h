// Looking for a property through everything that keeps snapshot properties: snapshots, then long-lived changelogs, then tags.
//
// Newest first in each of the three. Files that vanish meanwhile (expired by another writer) are passed over. Reads the store, no state.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"

namespace headrace::ingest {

// Calls `look` until it answers true.
Status SearchSnapshots(
    const Table& table,
    const std::function<Result<bool>(const Snapshot& snapshot, std::string_view origin)>& look);

}  // namespace headrace::ingest
