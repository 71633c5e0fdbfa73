#include "ingest/snapshot_search.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "catalog/snapshots.h"

namespace headrace::ingest {
namespace {

using Look = std::function<Result<bool>(const Snapshot& snapshot, std::string_view origin)>;

// The snapshot-shaped files `prefix*` of a folder, newest snapshot first.
Result<bool> LookThroughFolder(const Table& table, const std::string& folder, std::string_view prefix,
                               const Look& look) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, table.store->List(table.path + "/" + folder));
  std::vector<std::pair<Snapshot, std::string>> snapshots;
  for (const FileInfo& file : files) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (file.is_directory || !name.starts_with(prefix)) continue;
    const Result<std::string> text = table.store->ReadAll(file.path);
    if (IsKind(text.status(), ErrorKind::kNotFound)) continue;
    HEADRACE_RETURN_NOT_OK(text.status());
    HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, ParseSnapshot(*text, file.path));
    snapshots.emplace_back(std::move(snapshot), file.path);
  }
  std::sort(snapshots.begin(), snapshots.end(),
            [](const auto& a, const auto& b) { return a.first.id > b.first.id; });
  for (const auto& [snapshot, path] : snapshots) {
    HEADRACE_ASSIGN_OR_RETURN(const bool found, look(snapshot, path));
    if (found) return true;
  }
  return false;
}

}  // namespace

Status SearchSnapshots(const Table& table, const Look& look) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<SnapshotId> ids, ListSnapshotIds(table));
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> snapshot, FindSnapshot(table, *id));
    if (!snapshot) continue;
    HEADRACE_ASSIGN_OR_RETURN(
        const bool found, look(*snapshot, table.path + "/snapshot/snapshot-" + std::to_string(id->value)));
    if (found) return Status::OK();
  }
  HEADRACE_ASSIGN_OR_RETURN(const bool in_changelogs,
                            LookThroughFolder(table, "changelog", "changelog-", look));
  if (in_changelogs) return Status::OK();
  return LookThroughFolder(table, "tag", "tag-", look).status();
}

}  // namespace headrace::ingest
