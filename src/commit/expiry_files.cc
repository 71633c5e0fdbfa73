#include "commit/expiry_files.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "catalog/snapshots.h"
#include "commit/reachability.h"
#include "io/store_path.h"

namespace headrace {
namespace {

struct Doomed {
  std::vector<std::string> paths;  // the file and what lies beside it
  int64_t bytes = 0;
};
using DoomedByPath = std::map<std::string, Doomed>;  // by the data file's own path

// What metadata says of sizes may be anything.
int64_t PlusBytes(int64_t sum, int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 0);
  return sum > INT64_MAX - bytes ? INT64_MAX : sum + bytes;
}

// Candidates, and the roots that may still need some of them.
class Collector {
 public:
  Collector(const Table& table, const SnapshotsToEnd& ending, ExpiryPlan* plan)
      : table_(table), ending_(ending), plan_(plan) {}

  Status Run() {
    HEADRACE_ASSIGN_OR_RETURN(tags_, ListTags(table_));
    HEADRACE_ASSIGN_OR_RETURN(const auto branches, ListBranches(table_));
    branch_roots_ = RootsOf(branches);
    if (!ending_.snapshots.empty()) HEADRACE_RETURN_NOT_OK(CollectSnapshots());
    if (!ending_.changelogs.empty()) HEADRACE_RETURN_NOT_OK(CollectChangelogs());
    return Status::OK();
  }

 private:
  // A stream reads new files themselves, which then stay with the changelog.
  bool streams_read_deltas() const { return table_.options.changelog_producer == ChangelogProducer::kNone; }

  Status CollectSnapshots() {
    DoomedByPath data;
    for (const Snapshot& snapshot : ending_.snapshots)
      if (snapshot.id > ending_.range.begin) HEADRACE_RETURN_NOT_OK(AddDeleted(snapshot, &data));
    HEADRACE_RETURN_NOT_OK(AddDeleted(ending_.first_kept, &data));
    if (!ending_.leave_changelogs)
      for (const Snapshot& snapshot : ending_.snapshots)
        HEADRACE_RETURN_NOT_OK(AddChangelog(snapshot, &data));

    // Not so many that it matters, and they exist only while changelogs outlive their snapshots, or did.
    std::vector<ReachRoot> others = branch_roots_;
    if (!ending_.leave_changelogs && streams_read_deltas()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto changelogs, LeftBehind());
      others.insert(others.end(), changelogs.begin(), changelogs.end());
    }
    HEADRACE_ASSIGN_OR_RETURN(
        ReachableFiles needed,
        Needed(ending_.range, others,
               {{"snapshot " + std::to_string(ending_.first_kept.id.value), ending_.first_kept, true, true}},
               &data));

    MetadataOf doomed(this, &needed);
    for (const Snapshot& snapshot : ending_.snapshots) {
      if (!ending_.leave_changelogs || !streams_read_deltas()) {
        HEADRACE_RETURN_NOT_OK(
            doomed.AddList(snapshot.base_manifest_list, snapshot.base_manifest_list_bytes));
        HEADRACE_RETURN_NOT_OK(
            doomed.AddList(snapshot.delta_manifest_list, snapshot.delta_manifest_list_bytes));
      }
      if (!ending_.leave_changelogs && snapshot.changelog_manifest_list.has_value())
        HEADRACE_RETURN_NOT_OK(
            doomed.AddList(*snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_bytes));
      HEADRACE_RETURN_NOT_OK(doomed.AddIndexAndStatistics(snapshot));
    }
    Finish(data, doomed, &plan_->of_snapshots);
    return Status::OK();
  }

  Status CollectChangelogs() {
    DoomedByPath data;
    for (const Snapshot& changelog : ending_.changelogs) {
      if (changelog.changelog_manifest_list.has_value())
        HEADRACE_RETURN_NOT_OK(AddChangelog(changelog, &data));
      else
        HEADRACE_RETURN_NOT_OK(AddDeleted(changelog, &data, true));
    }
    std::vector<ReachRoot> kept = {
        {"changelog " + std::to_string(ending_.first_kept_changelog->id.value), *ending_.first_kept_changelog,
         false, true},
        {"snapshot " + std::to_string(ending_.first_kept.id.value), ending_.first_kept, true, true}};
    // What the first one took away is looked at too: a tag before it may have that.
    const IdRange range{SnapshotId(ending_.changelog_range.begin.value - 1), ending_.changelog_range.end};
    HEADRACE_ASSIGN_OR_RETURN(ReachableFiles needed, Needed(range, branch_roots_, std::move(kept), &data));
    MetadataOf doomed(this, &needed);
    for (const Snapshot& changelog : ending_.changelogs) {
      if (changelog.changelog_manifest_list.has_value()) {
        HEADRACE_RETURN_NOT_OK(
            doomed.AddList(*changelog.changelog_manifest_list, changelog.changelog_manifest_list_bytes));
      }
      HEADRACE_RETURN_NOT_OK(
          doomed.AddList(changelog.delta_manifest_list, changelog.delta_manifest_list_bytes));
      HEADRACE_RETURN_NOT_OK(
          doomed.AddList(changelog.base_manifest_list, changelog.base_manifest_list_bytes));
    }
    Finish(data, doomed, &plan_->of_changelogs);
    return Status::OK();
  }

  // Manifests, lists, index files, index manifests and statistics that are not needed, each once and what names others after them.
  class MetadataOf {
   public:
    MetadataOf(Collector* owner, ReachableFiles* needed) : owner_(owner), needed_(needed) {}

    Status AddList(const std::string& name, std::optional<int64_t> bytes) {
      if (needed_->manifest.contains(name)) return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(const auto manifests, UnlessGone(ReadManifestList(owner_->table_, name)));
      if (!manifests.has_value()) return Status::OK();
      for (const ManifestFileMeta& manifest : *manifests) {
        if (!needed_->manifest.insert(manifest.name).second) continue;
        named_.emplace_back(ManifestPath(owner_->table_, manifest.name), manifest.size_bytes);
      }
      needed_->manifest.insert(name);
      naming_.emplace_back(ManifestPath(owner_->table_, name), bytes.value_or(0));
      return Status::OK();
    }

    Status AddIndexAndStatistics(const Snapshot& snapshot) {
      if (snapshot.statistics.has_value() && needed_->statistics.insert(*snapshot.statistics).second)
        naming_.emplace_back(owner_->table_.path + "/statistics/" + *snapshot.statistics, 0);
      if (!snapshot.index_manifest.has_value() || !needed_->manifest.insert(*snapshot.index_manifest).second)
        return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(const auto entries,
                                UnlessGone(ReadIndexManifest(owner_->table_, *snapshot.index_manifest)));
      if (!entries.has_value()) return Status::OK();
      for (const IndexManifestEntry& entry : *entries) {
        HEADRACE_ASSIGN_OR_RETURN(std::string path, IndexPath(owner_->table_, entry));
        if (!IsBelow(path, owner_->table_.path)) continue;
        if (!needed_->index.insert(path).second) continue;
        named_.emplace_back(std::move(path), entry.file_size_bytes);
      }
      naming_.emplace_back(ManifestPath(owner_->table_, *snapshot.index_manifest), 0);
      return Status::OK();
    }

    void MoveTo(DoomedFiles* files) {
      for (auto* some : {&named_, &naming_}) {
        for (auto& [path, bytes] : *some) {
          if (!owner_->told_.insert(path).second) continue;
          files->paths.push_back(std::move(path));
          files->bytes = PlusBytes(files->bytes, bytes);
        }
      }
    }

   private:
    Collector* owner_;
    ReachableFiles* needed_;
    std::vector<std::pair<std::string, int64_t>> named_;   // manifests and index files, and their sizes
    std::vector<std::pair<std::string, int64_t>> naming_;  // lists and index manifests
  };

  // What the kept snapshots, tags and branches need; the data files among it are taken out of `data`.
  Result<ReachableFiles> Needed(IdRange range, const std::vector<ReachRoot>& others,
                                const std::vector<ReachRoot>& kept, DoomedByPath* data) {
    std::vector<ReachRoot> side = RootsOf(TagsTouching(tags_, range));
    side.insert(side.end(), others.begin(), others.end());
    // Their rows are read only where there is something that they could keep.
    HEADRACE_ASSIGN_OR_RETURN(
        ReachableFiles needed,
        FindReachable(table_, side, data->empty() ? ReachDepth::kMetadata : ReachDepth::kData));
    const int64_t before = plan_->files_kept;
    for (auto it = data->begin(); it != data->end();) {
      const bool keep = needed.data.contains(it->first);
      plan_->files_kept += keep ? 1 : 0;
      it = keep ? data->erase(it) : std::next(it);
    }
    if (plan_->files_kept > before)
      for (const ReachRoot& root : side)
        if (std::find(plan_->keepers.begin(), plan_->keepers.end(), root.what) == plan_->keepers.end())
          plan_->keepers.push_back(root.what);
    // What stays needs no opening of manifests: whatever is deleted by now is not among its rows.
    HEADRACE_ASSIGN_OR_RETURN(ReachableFiles more, FindReachable(table_, kept, ReachDepth::kMetadata));
    needed.manifest.merge(more.manifest);
    needed.index.merge(more.index);
    needed.statistics.merge(more.statistics);
    return needed;
  }

  Result<std::vector<ReachRoot>> LeftBehind() {
    std::vector<ReachRoot> roots;
    HEADRACE_ASSIGN_OR_RETURN(const auto ids, ListChangelogIds(table_));
    for (const SnapshotId id : ids) {
      HEADRACE_ASSIGN_OR_RETURN(auto changelog, FindChangelog(table_, id));
      if (changelog.has_value())
        roots.push_back({"changelog " + std::to_string(id.value), *std::move(changelog), false, true});
    }
    return roots;
  }

  Result<std::optional<std::vector<ManifestEntry>>> EntriesOf(const std::string& list) {
    HEADRACE_ASSIGN_OR_RETURN(const auto manifests, UnlessGone(ReadManifestList(table_, list)));
    if (!manifests.has_value()) return std::nullopt;
    std::vector<ManifestEntry> all;
    for (const ManifestFileMeta& manifest : *manifests) {
      HEADRACE_ASSIGN_OR_RETURN(auto entries, UnlessGone(ReadManifest(table_, manifest)));
      // Data files go before manifests: whatever an absent one names is gone.
      if (!entries.has_value()) continue;
      std::move(entries->begin(), entries->end(), std::back_inserter(all));
    }
    return all;
  }

  Status Add(const ManifestEntry& entry, DoomedByPath* to) {
    HEADRACE_ASSIGN_OR_RETURN(std::string path, table_.PathOf(entry));
    HEADRACE_ASSIGN_OR_RETURN(auto paths, PathsOf(table_, entry));
    to->insert_or_assign(std::move(path), Doomed{std::move(paths), entry.file.size_bytes});
    return Status::OK();
  }

  // What the snapshot's delta takes away. A file moved to another level is taken away and added in one delta.
  Status AddDeleted(const Snapshot& snapshot, DoomedByPath* data, bool all = false) {
    HEADRACE_ASSIGN_OR_RETURN(const auto entries, EntriesOf(snapshot.delta_manifest_list));
    if (!entries.has_value()) return Status::OK();
    const bool keep_new_rows = !all && ending_.leave_changelogs && streams_read_deltas();
    DoomedByPath deleted;
    for (const ManifestEntry& entry : *entries) {
      if (entry.kind != EntryKind::kDelete) continue;
      // Without a source it may be one that brought new rows.
      if (keep_new_rows && entry.file.source.value_or(FileSource::kAppend) == FileSource::kAppend) continue;
      HEADRACE_RETURN_NOT_OK(Add(entry, &deleted));
    }
    for (const ManifestEntry& entry : *entries) {
      if (entry.kind != EntryKind::kAdd) continue;
      HEADRACE_ASSIGN_OR_RETURN(const std::string path, table_.PathOf(entry));
      deleted.erase(path);
      data->erase(path);
    }
    data->merge(deleted);
    return Status::OK();
  }

  Status AddChangelog(const Snapshot& snapshot, DoomedByPath* data) {
    if (!snapshot.changelog_manifest_list.has_value()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto entries, EntriesOf(*snapshot.changelog_manifest_list));
    if (!entries.has_value()) return Status::OK();
    for (const ManifestEntry& entry : *entries)
      if (entry.kind == EntryKind::kAdd) HEADRACE_RETURN_NOT_OK(Add(entry, data));
    return Status::OK();
  }

  void Finish(const DoomedByPath& data, MetadataOf& metadata, DoomedFiles* files) {
    for (const auto& [path, doomed] : data) {
      // What an entry calls its external path may be any file of this machine: the table does not own it.
      if (!IsBelow(path, table_.path)) continue;
      // A snapshot and its changelog that end together leave some files to both.
      if (!told_.insert(path).second) continue;
      files->paths.insert(files->paths.end(), doomed.paths.begin(), doomed.paths.end());
      files->bytes = PlusBytes(files->bytes, doomed.bytes);
      files->directories.insert(ParentOf(path));
    }
    metadata.MoveTo(files);
  }

  const Table& table_;
  const SnapshotsToEnd& ending_;
  ExpiryPlan* plan_;
  std::vector<NamedTag> tags_;
  std::vector<ReachRoot> branch_roots_;
  std::unordered_set<std::string> told_;  // paths in the plan
};

}  // namespace

Status FindDoomedFiles(const Table& table, const SnapshotsToEnd& ending, ExpiryPlan* plan) {
  return Collector(table, ending, plan).Run();
}

}  // namespace headrace
