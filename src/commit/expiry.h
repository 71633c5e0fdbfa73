// Expiry: ending old snapshots and changelogs, and deleting the files that nothing needs any more.
//
// Planning reads everything and changes nothing: if a root, a tag or a manifest cannot be read, nothing is deleted. Carrying out deletes
// data files first, then manifests, their lists last, then writes the changelogs that outlive their snapshots and deletes the snapshot files
// in ascending order, and tells the new earliest one. So a crash at any step leaves the snapshots that stay whole, and an expiry that
// runs again finishes the work: what is gone already is not missed. Two expiries at once do the same work twice and harm nothing.
// Nothing outside the table's folder is deleted, whatever its metadata says of external paths.
// The cost is that of what ends: its own manifests, the lists of the first snapshot that stays, and tags and branches where there are any.
// Functions of the store, thread-safe. Source: ExpireSnapshotsImpl, ExpireChangelogImpl, SnapshotDeletion, ChangelogDeletion.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/expiry_choice.h"

namespace headrace {

// Files in the order in which they are to be deleted.
struct DoomedFiles {
  std::vector<std::string> paths;
  int64_t bytes = 0;                  // of those whose size is known
  std::set<std::string> directories;  // of data files; perhaps empty afterwards
};

struct ExpiryPlan {
  ExpiryChoice choice;
  std::vector<Consumer> idle_consumers;  // they end as well
  // Those of the ranges in `choice` that are there, ascending.
  std::vector<SnapshotId> snapshots;
  // The first of them, where they were published into the past (place.h) and left there: their files are not touched, and no changelog stays
  // of them.
  std::vector<SnapshotId> misplaced;
  std::vector<SnapshotId> changelogs;
  DoomedFiles of_snapshots;
  DoomedFiles of_changelogs;
  // How many data files tags and branches kept from being deleted, and the ones that were asked.
  std::vector<std::string> keepers;
  int64_t files_kept = 0;

  bool first_changelogs = false;  // no changelog has been left behind before

  bool empty() const { return snapshots.empty() && changelogs.empty() && idle_consumers.empty(); }
};

struct ExpirySettings {
  Retention retention;
  // Also changelogs that were left behind while they outlived their snapshots, when they no longer do.
  bool old_changelogs = false;
  // Waits until something is urgent (IsUrgent): for an expiry after every commit.
  bool patient = false;
};

Result<ExpiryPlan> PlanExpiry(const Table& table, const ExpirySettings& settings);
Status CarryOut(const Table& table, const ExpiryPlan& plan, const ExpirySettings& settings);

// Both, at most `snapshot.expire.limit` snapshots; what was done. Nothing when another expiry was faster.
Result<ExpiryPlan> Expire(const Table& table, const ExpirySettings& settings);

}  // namespace headrace
