#include "commit/reachability.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "catalog/snapshots.h"
#include "io/store_path.h"

namespace headrace {
namespace {

// One entry of a manifest, as far as reachability is concerned.
struct Named {
  EntryKind kind;
  std::string identity;
  std::vector<std::string> paths;
};

// A manifest list as a snapshot names it.
struct ListName {
  std::string name;
  std::optional<int64_t> bytes;
};

// Base and delta.
std::array<ListName, 2> RowListsOf(const Snapshot& snapshot) {
  return {{{snapshot.base_manifest_list, snapshot.base_manifest_list_bytes},
           {snapshot.delta_manifest_list, snapshot.delta_manifest_list_bytes}}};
}

class Walk {
 public:
  Walk(const Table& table, ReachDepth depth) : table_(table), depth_(depth) {}

  Status Visit(const ReachRoot& root) {
    const Status visited = VisitParts(root);
    if (visited.ok()) return visited;
    const std::string context = "finding the files that " + root.what + " of table " + table_.name +
                                " needs, which nothing may delete";
    if (!IsKind(visited, ErrorKind::kNotFound)) return WithContext(context, visited);
    return Corruption(context, ": ", visited.message());
  }

  ReachableFiles Take() { return std::move(files_); }

 private:
  Status VisitParts(const ReachRoot& root) {
    const Snapshot& snapshot = root.snapshot;
    if (root.rows) {
      HEADRACE_RETURN_NOT_OK(VisitRows(snapshot));
      HEADRACE_RETURN_NOT_OK(VisitIndex(snapshot));
      if (snapshot.statistics.has_value()) files_.statistics.insert(*snapshot.statistics);
    }
    return root.changes ? VisitChanges(snapshot, root.rows) : Status::OK();
  }

  Status VisitRows(const Snapshot& snapshot) {
    std::vector<const std::vector<Named>*> manifests;
    for (const ListName& list : RowListsOf(snapshot)) {
      HEADRACE_ASSIGN_OR_RETURN(const auto more, VisitList(list));
      manifests.insert(manifests.end(), more.begin(), more.end());
    }
    if (depth_ == ReachDepth::kMetadata) return Status::OK();
    std::unordered_set<std::string_view> deleted;
    for (const std::vector<Named>* manifest : manifests)
      for (const Named& entry : *manifest)
        if (entry.kind == EntryKind::kDelete) deleted.insert(entry.identity);
    for (const std::vector<Named>* manifest : manifests) AddFiles(*manifest, deleted);
    return Status::OK();
  }

  Status VisitChanges(const Snapshot& snapshot, bool rows_are_kept) {
    if (snapshot.changelog_manifest_list.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto manifests, VisitList({*snapshot.changelog_manifest_list,
                                                                 snapshot.changelog_manifest_list_bytes}));
      for (const std::vector<Named>* manifest : manifests) AddFiles(*manifest, {});
    }
    if (table_.options.changelog_producer != ChangelogProducer::kNone) return Status::OK();
    // The changes are the new files themselves.
    if (rows_are_kept) return VisitDelta(snapshot);
    HEADRACE_RETURN_NOT_OK(VisitWhatIsLeft(snapshot));
    // A changelog of the time of another producer has no delta any more.
    const bool read = snapshot.commit_kind == CommitKind::kAppend && !snapshot.changelog_manifest_list;
    return read && files_.manifest.contains(snapshot.delta_manifest_list) ? VisitDelta(snapshot)
                                                                          : Status::OK();
  }

  Status VisitDelta(const Snapshot& snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(const auto manifests, VisitList(RowListsOf(snapshot)[1]));
    for (const std::vector<Named>* manifest : manifests) AddFiles(*manifest, {});
    return Status::OK();
  }

  // The lists of a snapshot that has ended stay as long as its changelog. Nobody reads all of them, and they are not missed.
  Status VisitWhatIsLeft(const Snapshot& snapshot) {
    for (const auto& [list, bytes] : RowListsOf(snapshot)) {
      const auto manifests = ReadManifestList(table_, list, bytes);
      if (IsKind(manifests.status(), ErrorKind::kNotFound)) continue;
      HEADRACE_RETURN_NOT_OK(manifests.status());
      files_.manifest.insert(list);
      for (const ManifestFileMeta& manifest : *manifests) files_.manifest.insert(manifest.name);
    }
    return Status::OK();
  }

  Status VisitIndex(const Snapshot& snapshot) {
    if (!snapshot.index_manifest.has_value() || !files_.manifest.insert(*snapshot.index_manifest).second)
      return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadIndexManifest(table_, *snapshot.index_manifest));
    for (const IndexManifestEntry& entry : entries) {
      HEADRACE_ASSIGN_OR_RETURN(std::string path, IndexPath(table_, entry));
      files_.index.insert(std::move(path));
    }
    return Status::OK();
  }

  // The manifests of a list; their entries when data files are asked for.
  Result<std::vector<const std::vector<Named>*>> VisitList(const ListName& list) {
    files_.manifest.insert(list.name);
    const auto [place, is_new] = lists_.try_emplace(list.name);
    if (is_new) {
      HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(table_, list.name, list.bytes));
      for (const ManifestFileMeta& manifest : manifests) {
        files_.manifest.insert(manifest.name);
        if (depth_ == ReachDepth::kMetadata) continue;
        HEADRACE_ASSIGN_OR_RETURN(const auto* entries, EntriesOf(manifest));
        place->second.push_back(entries);
      }
    }
    return place->second;
  }

  Result<const std::vector<Named>*> EntriesOf(const ManifestFileMeta& manifest) {
    auto& place = manifests_[manifest.name];
    if (place == nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadManifest(table_, manifest));
      auto named = std::make_unique<std::vector<Named>>();
      named->reserve(entries.size());
      for (const ManifestEntry& entry : entries) {
        Named one{entry.kind, IdentityOf(entry), {}};
        if (entry.kind == EntryKind::kAdd) {
          HEADRACE_ASSIGN_OR_RETURN(one.paths, PathsOf(table_, entry));
        }
        named->push_back(std::move(one));
      }
      place = std::move(named);
    }
    return place.get();
  }

  void AddFiles(const std::vector<Named>& entries, const std::unordered_set<std::string_view>& deleted) {
    for (const Named& entry : entries) {
      if (entry.kind != EntryKind::kAdd || deleted.contains(entry.identity)) continue;
      files_.data.insert(entry.paths.begin(), entry.paths.end());
    }
  }

  const Table& table_;
  const ReachDepth depth_;
  ReachableFiles files_;
  std::map<std::string, std::vector<const std::vector<Named>*>> lists_;
  std::map<std::string, std::unique_ptr<std::vector<Named>>> manifests_;
};

void Append(std::vector<ReachRoot> more, std::vector<ReachRoot>* roots) {
  std::move(more.begin(), more.end(), std::back_inserter(*roots));
}

std::string Numbered(const char* kind, SnapshotId id) { return kind + std::to_string(id.value); }

}  // namespace

Result<ReachableFiles> FindReachable(const Table& table, const std::vector<ReachRoot>& roots,
                                     ReachDepth depth) {
  Walk walk(table, depth);
  for (const ReachRoot& root : roots) HEADRACE_RETURN_NOT_OK(walk.Visit(root));
  return walk.Take();
}

std::vector<ReachRoot> RootsOf(const std::vector<NamedTag>& tags, const std::string& of_branch) {
  std::vector<ReachRoot> roots;
  for (const NamedTag& tag : tags)
    roots.push_back({"tag " + tag.name + of_branch, tag.tag.snapshot, true, false});
  return roots;
}

std::vector<ReachRoot> RootsOf(const std::vector<BranchHistory>& branches) {
  std::vector<ReachRoot> roots;
  for (const BranchHistory& branch : branches) {
    const std::string of = " of branch " + branch.name;
    for (const Snapshot& snapshot : branch.snapshots)
      roots.push_back({Numbered("snapshot ", snapshot.id) + of, snapshot, true, true});
    for (const Snapshot& changelog : branch.changelogs)
      roots.push_back({Numbered("changelog ", changelog.id) + of, changelog, false, true});
    Append(RootsOf(branch.tags, of), &roots);
  }
  return roots;
}

Result<std::vector<ReachRoot>> ListAllRoots(const Table& table) {
  std::vector<ReachRoot> roots;
  HEADRACE_ASSIGN_OR_RETURN(const auto snapshots, ListSnapshotIds(table));
  for (const SnapshotId id : snapshots) {
    HEADRACE_ASSIGN_OR_RETURN(auto snapshot, FindSnapshot(table, id));
    if (snapshot.has_value()) roots.push_back({Numbered("snapshot ", id), *std::move(snapshot), true, true});
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto changelogs, ListChangelogIds(table));
  for (const SnapshotId id : changelogs) {
    HEADRACE_ASSIGN_OR_RETURN(auto changelog, FindChangelog(table, id));
    if (changelog.has_value())
      roots.push_back({Numbered("changelog ", id), *std::move(changelog), false, true});
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto tags, ListTags(table));
  Append(RootsOf(tags), &roots);
  HEADRACE_ASSIGN_OR_RETURN(const auto branches, ListBranches(table));
  Append(RootsOf(branches), &roots);
  return roots;
}

Result<std::vector<std::string>> PathsOf(const Table& table, const ManifestEntry& entry) {
  HEADRACE_ASSIGN_OR_RETURN(std::string path, table.PathOf(entry));
  std::vector<std::string> paths;
  for (const std::string& extra : entry.file.extra_files) paths.push_back(JoinPath(ParentOf(path), extra));
  paths.push_back(std::move(path));
  return paths;
}

Result<std::string> IndexPath(const Table& table, const IndexManifestEntry& entry) {
  if (entry.external_path.has_value()) return *entry.external_path;
  HEADRACE_ASSIGN_OR_RETURN(const std::string directory, table.IndexDirectory(entry.partition, entry.bucket));
  return directory + "/" + entry.file_name;
}

}  // namespace headrace
