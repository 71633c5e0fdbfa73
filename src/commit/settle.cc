#include "commit/settle.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "catalog/snapshots.h"
#include "io/store_path.h"

namespace headrace {
namespace {

constexpr int64_t kMostStepMs = 16;

// Whether the writer of a temporary file may still be about to rename it.
Result<bool> IsAlive(const Table& table, const std::string& path) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, table.store->Stat(path));
  return info.has_value() && table.clock->NowMs() - info->modified_ms <= kMostWaitMs;
}

Result<bool> AnyAlive(const Table& table, const std::string& folder, std::vector<std::string>* rivals) {
  while (!rivals->empty()) {
    HEADRACE_ASSIGN_OR_RETURN(const bool alive, IsAlive(table, JoinPath(folder, rivals->back())));
    if (alive) return true;
    rivals->pop_back();
  }
  return false;
}

}  // namespace

Status Settle(const Table& table, SnapshotId id) {
  const std::string path = SnapshotPath(table, id);
  const std::string folder(ParentOf(path));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<std::string> rivals,
                            table.store->ListNames(folder, "." + std::string(NameIn(path)) + "."));
  int64_t step_ms = 1;
  for (int64_t waited_ms = 0; waited_ms < kMostWaitMs; waited_ms += step_ms) {
    HEADRACE_ASSIGN_OR_RETURN(const bool alive, AnyAlive(table, folder, &rivals));
    if (!alive) break;
    step_ms = std::min(waited_ms == 0 ? 1 : step_ms * 2, kMostStepMs);
    table.clock->SleepMs(step_ms);
  }
  return Status::OK();
}

Result<std::optional<Snapshot>> ReadLatestSettled(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto id, FindLatestSnapshotId(table));
  if (id.has_value()) HEADRACE_RETURN_NOT_OK(Settle(table, *id));
  return ReadLatestSnapshot(table);
}

Result<bool> StaysThere(const Table& table, const Snapshot& snapshot) {
  HEADRACE_RETURN_NOT_OK(Settle(table, snapshot.id));
  HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table, snapshot.id));
  if (found.has_value()) return found->uuid == snapshot.uuid;
  // Expired already, when later ones stand on it; else it was rolled back.
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  return latest.has_value() && *latest > snapshot.id;
}

Result<bool> IsBuiltUpon(const Table& table, const Snapshot& ours) {
  HEADRACE_ASSIGN_OR_RETURN(const auto next, FindSnapshot(table, SnapshotId(ours.id.value + 1)));
  if (!next.has_value()) return false;
  HEADRACE_ASSIGN_OR_RETURN(const auto delta, DeltaEntries(table, ours));
  std::unordered_set<std::string> added;
  for (const ManifestEntry& entry : delta)
    if (entry.kind == EntryKind::kAdd) added.insert(IdentityOf(entry));
  if (added.empty()) return false;
  HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(table, next->base_manifest_list));
  for (const ManifestFileMeta& manifest : manifests) {
    HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadManifest(table, manifest));
    for (const ManifestEntry& entry : entries)
      if (entry.kind == EntryKind::kAdd && added.contains(IdentityOf(entry))) return true;
  }
  return false;
}

Status ReplacedUnderneath(const Table& table, const Snapshot& ours) {
  HEADRACE_ASSIGN_OR_RETURN(const auto theirs, FindSnapshot(table, ours.id));
  return Corruption("snapshot ", ours.id, " of table ", table.name, ", committed by ", ours.commit_user,
                    " (identifier ", ours.commit_identifier, ") and built upon by snapshot ",
                    ours.id.value + 1, ", was replaced afterwards by ",
                    theirs.has_value() ? "a snapshot of " + theirs->commit_user : std::string("nothing"),
                    ". The rows committed here are in the table; what the other snapshot added is in no "
                    "later one, and whoever follows "
                    "changes sees it instead of ours. Have its writer commit it once more, and let no writer "
                    "pause for longer than ",
                    kMostWaitMs / 1000, " s in the middle of a commit");
}

}  // namespace headrace
