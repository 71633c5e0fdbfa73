// The files that ending snapshots and changelogs leave behind and that nothing else reaches.
//
// Of a range that ends, [begin, end): the data files that the deltas of (begin, end] delete, since a snapshot's delta takes away what only older
// ones had; the changelog files that the ending ones added; and the manifests, lists, index files and statistics that the ending ones name. All
// of them less what the first kept snapshot, tags and branches reach (reachability.h). Where changelogs outlive their snapshots, the files
// that a stream reads stay until the changelog ends. Reads the store, changes nothing, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "commit/expiry.h"
#include "format/snapshot.h"

namespace headrace {

struct SnapshotsToEnd {
  IdRange range;
  std::vector<Snapshot> snapshots;  // those of `range` that are there, ascending
  Snapshot first_kept;              // the one at range.end
  bool leave_changelogs = false;
  IdRange changelog_range;
  std::vector<Snapshot> changelogs;
  std::optional<Snapshot> first_kept_changelog;  // there when `changelogs` is not empty
};

// Fills in the plan's files and who kept some of them.
Status FindDoomedFiles(const Table& table, const SnapshotsToEnd& ending, ExpiryPlan* plan);

}  // namespace headrace
