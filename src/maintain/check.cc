#include "maintain/check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/memory_pool.h>

#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "io/store_path.h"
#include "maintain/check_changelog.h"
#include "maintain/check_states.h"

namespace headrace {
namespace {

// The table itself, then its branches where everything is looked into.
std::vector<Root> ReadRoots(CheckRun* run) {
  std::vector<std::string> paths = {run->path};
  if (run->options.all) {
    const Result<std::vector<FileInfo>> folders = run->store->List(run->path + "/branch");
    if (!folders.ok()) run->referred_is_complete = false;
    for (const FileInfo& folder : folders.ok() ? *folders : std::vector<FileInfo>()) {
      if (folder.is_directory && NameIn(folder.path).starts_with("branch-")) paths.push_back(folder.path);
    }
    std::sort(paths.begin() + 1, paths.end());
  }
  std::vector<Root> roots;
  for (std::string& path : paths) {
    Root& root = roots.emplace_back();
    root.path = std::move(path);
    CheckSchemas(run, &root);
    CheckChain(run, &root);
  }
  return roots;
}

void CheckAll(CheckRun* run, const Root& root) {
  StateChecker checker(run, &root);
  for (auto state = root.snapshots.rbegin(); state != root.snapshots.rend(); ++state) checker.Check(*state);
  for (const NamedState& state : root.changelogs) checker.Check(state);
  for (const NamedState& tag : root.tags) {
    // Most tags are copies of a snapshot that is still there.
    const bool same = std::any_of(root.snapshots.begin(), root.snapshots.end(),
                                  [&](const NamedState& state) { return state.snapshot == tag.snapshot; });
    if (!same) checker.Check(tag);
  }
}

Status CheckOne(CheckRun* run, const Root& root) {
  const NamedState* chosen = root.snapshots.empty() ? nullptr : &root.snapshots.back();
  if (run->options.snapshot.has_value()) {
    const auto found = std::find_if(
        root.snapshots.begin(), root.snapshots.end(),
        [&](const NamedState& state) { return state.snapshot.id.value == *run->options.snapshot; });
    chosen = found == root.snapshots.end() ? nullptr : &*found;
    // A damaged one is a finding, one that is not there the caller's mistake.
    if (chosen == nullptr) {
      const Status status = ReadSnapshot(root.table, SnapshotId(*run->options.snapshot)).status();
      if (!status.ok() && KindOf(status) != ErrorKind::kCorruption)
        return WithContext("checking table " + run->name, status);
    }
  }
  if (chosen != nullptr) StateChecker(run, &root).Check(*chosen);
  return Status::OK();
}

// What was found in a snapshot that has expired by now was its expiry.
void ForgetExpired(CheckRun* run) {
  for (const auto& [state, file] : run->doubtful) {
    const auto info = run->store->Stat(file);
    if (!info.ok() || info->has_value()) continue;
    run->findings.Forget(state);
    run->Add(FindingKind::kExpiredMeanwhile, file, "it is gone", "it was there when the check began");
  }
}

}  // namespace

Result<CheckReport> RunCheck(const CheckTarget& target, const CheckOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<SchemaId> schemas,
                            ListSchemaIds(target.store.get(), target.path));
  if (schemas.empty())
    return NotFound("there is no table ", target.name, ": no schema file in ", target.path, "/schema");
  arrow::CappedMemoryPool pool(arrow::default_memory_pool(), target.memory_bytes);
  CheckRun run(target.store, target.clock, target.path, target.name, options, &pool);
  const std::vector<Root> roots = ReadRoots(&run);
  for (const Root& root : roots) {
    if (!root.usable) {
      run.referred_is_complete = false;
    } else if (options.all) {
      CheckAll(&run, root);
    } else {
      HEADRACE_RETURN_NOT_OK(CheckOne(&run, root));
    }
    if (root.usable && options.changelog) CheckChangelog(&run, root, target.memory_bytes);
  }
  if (options.all) TellUnreferenced(&run, roots);
  ForgetExpired(&run);
  CheckReport report;
  run.findings.MoveTo(&report);
  report.looked_at = run.looked_at;
  return report;
}

}  // namespace headrace
