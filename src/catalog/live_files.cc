#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "catalog/entry_matcher.h"
#include "catalog/snapshots.h"
#include "file/manifest_file.h"

namespace headrace {
namespace {

// A list or manifest that cannot be found: either its snapshot expired while it was being read, or the table is damaged.
Status ExplainFailure(const Table& table, const Snapshot& snapshot, const std::string& doing,
                      const Status& status) {
  const std::string context =
      "reading " + doing + " of snapshot " + std::to_string(snapshot.id.value) + " of table " + table.name;
  if (!IsKind(status, ErrorKind::kNotFound)) return WithContext(context, status);
  const auto still_there = FindSnapshot(table, snapshot.id);
  if (still_there.ok() && !still_there->has_value())
    return SnapshotExpired(context, ": the snapshot expired meanwhile: ", status.message());
  return Corruption(context, ": the snapshot is there, a file it names is not: ", status.message(),
                    MayBeEnding(table, snapshot.id));
}

// A metadata file as a whole. Avro ends well at the end of any block, so that a file cut off there would read as a shorter table: it must have
// the size that whoever names it tells. Nothing or 0: it tells none.
Result<std::string> ReadMetadata(const Table& table, const std::string& path, std::optional<int64_t> size) {
  HEADRACE_ASSIGN_OR_RETURN(std::string bytes, table.store->ReadAll(path));
  if (size.value_or(0) == 0 || static_cast<int64_t>(bytes.size()) == *size) return bytes;
  return Corruption(path, " has ", bytes.size(), " bytes, the file that names it says ", *size);
}

std::optional<int64_t> ListBytesOf(const Snapshot& snapshot, const std::string& list) {
  if (list == snapshot.base_manifest_list) return snapshot.base_manifest_list_bytes;
  if (list == snapshot.delta_manifest_list) return snapshot.delta_manifest_list_bytes;
  return snapshot.changelog_manifest_list_bytes;
}

// The counts of a list and the entries of a manifest must agree: a manifest that is said to delete nothing is trusted in that.
Status CheckCounts(const ManifestFileMeta& manifest, const std::string& path,
                   const std::vector<ManifestEntry>& entries, bool whole) {
  const int64_t deleted = std::count_if(entries.begin(), entries.end(), [](const ManifestEntry& entry) {
    return entry.kind == EntryKind::kDelete;
  });
  const int64_t added = static_cast<int64_t>(entries.size()) - deleted;
  const bool agree = whole ? added == manifest.added_files && deleted == manifest.deleted_files
                           : added <= manifest.added_files && deleted <= manifest.deleted_files;
  if (agree) return Status::OK();
  return Corruption(path, " adds ", added, " and deletes ", deleted, " files, its manifest list says ",
                    manifest.added_files, " and ", manifest.deleted_files);
}

// The manifests of one list that may hold wanted entries.
Result<std::vector<ManifestFileMeta>> WantedManifests(const Table& table, const Snapshot& snapshot,
                                                      const std::string& list, const EntryMatcher& matcher) {
  auto manifests = ReadManifestList(table, list, ListBytesOf(snapshot, list));
  if (!manifests.ok()) return ExplainFailure(table, snapshot, "manifest list " + list, manifests.status());
  std::vector<ManifestFileMeta> wanted;
  for (ManifestFileMeta& manifest : *manifests) {
    const Result<bool> may_hold = matcher.MayHold(manifest);
    if (!may_hold.ok())
      return ExplainFailure(table, snapshot,
                            "partition statistics of manifest " + manifest.name + " in list " + list,
                            may_hold.status());
    if (*may_hold) wanted.push_back(std::move(manifest));
  }
  return wanted;
}

// Unwanted entries of an Avro manifest are passed over before their file is read.
Result<std::vector<ManifestEntry>> ReadManifestWhere(const Table& table, const ManifestFileMeta& manifest,
                                                     const EntryMatcher& matcher) {
  const std::string path = ManifestPath(table, manifest.name);
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadMetadata(table, path, manifest.size_bytes));
  EntryHeadFilter wanted;
  if (!matcher.wants_all()) wanted = [&](const ManifestEntry& entry) { return matcher.Wants(entry); };
  HEADRACE_ASSIGN_OR_RETURN(const ManifestContainer container, DetectManifestContainer(bytes, path));
  std::vector<ManifestEntry> entries;
  if (container == ManifestContainer::kAvro) {
    HEADRACE_ASSIGN_OR_RETURN(entries, DecodeManifestWhere(bytes, path, wanted, matcher.detail()));
  } else {
    HEADRACE_ASSIGN_OR_RETURN(entries, ReadManifest(bytes, path));
    if (wanted) std::erase_if(entries, [&](const ManifestEntry& entry) { return !wanted(entry); });
  }
  HEADRACE_RETURN_NOT_OK(CheckCounts(manifest, path, entries, /*whole=*/wanted == nullptr));
  return entries;
}

struct ListedManifest {
  ManifestFileMeta manifest;
  std::string list;
};

Result<std::vector<ManifestEntry>> WantedEntries(const Table& table, const Snapshot& snapshot,
                                                 const ListedManifest& listed, const EntryMatcher& matcher) {
  auto entries = ReadManifestWhere(table, listed.manifest, matcher);
  if (!entries.ok())
    return ExplainFailure(table, snapshot,
                          "manifest " + listed.manifest.name + " named by list " + listed.list,
                          entries.status());
  return std::move(*entries);
}

Result<std::vector<ManifestEntry>> EntriesOfList(const Table& table, const Snapshot& snapshot,
                                                 const std::string& list, const EntryFilter& filter) {
  HEADRACE_ASSIGN_OR_RETURN(const EntryMatcher matcher, EntryMatcher::Make(table, filter));
  HEADRACE_ASSIGN_OR_RETURN(auto manifests, WantedManifests(table, snapshot, list, matcher));
  std::vector<ManifestEntry> all;
  for (ManifestFileMeta& manifest : manifests) {
    HEADRACE_ASSIGN_OR_RETURN(auto entries,
                              WantedEntries(table, snapshot, {std::move(manifest), list}, matcher));
    std::move(entries.begin(), entries.end(), std::back_inserter(all));
  }
  return all;
}

// The files that DELETE entries name. Asked for every ADD entry of a table, so the name is compared first: few share it.
class DeletedFiles {
 public:
  void Add(const ManifestEntry& entry) {
    names_.insert(entry.file.name);
    identities_.insert(IdentityOf(entry));
  }
  bool Has(const ManifestEntry& entry) const {
    return names_.contains(entry.file.name) && identities_.contains(IdentityOf(entry));
  }

 private:
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> identities_;
};

}  // namespace

Result<std::vector<ManifestFileMeta>> ReadManifestList(const Table& table, const std::string& name,
                                                       std::optional<int64_t> bytes) {
  const std::string path = ManifestPath(table, name);
  HEADRACE_ASSIGN_OR_RETURN(const std::string content, ReadMetadata(table, path, bytes));
  return ReadManifestList(content, path);
}

Result<std::vector<ManifestEntry>> ReadManifest(const Table& table, const ManifestFileMeta& manifest) {
  const std::string path = ManifestPath(table, manifest.name);
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadMetadata(table, path, manifest.size_bytes));
  return ReadManifest(bytes, path);
}

Result<std::vector<IndexManifestEntry>> ReadIndexManifest(const Table& table, const std::string& name) {
  const std::string path = ManifestPath(table, name);
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, table.store->ReadAll(path));
  return ReadIndexManifest(bytes, path);
}

Status VisitLiveFiles(const Table& table, const Snapshot& snapshot, const EntryFilter& filter,
                      const std::function<Status(ManifestEntry&& entry)>& visit) {
  HEADRACE_ASSIGN_OR_RETURN(const EntryMatcher matcher, EntryMatcher::Make(table, filter));
  std::vector<ListedManifest> manifests;
  for (const std::string& list : {snapshot.base_manifest_list, snapshot.delta_manifest_list}) {
    HEADRACE_ASSIGN_OR_RETURN(auto wanted, WantedManifests(table, snapshot, list, matcher));
    for (ManifestFileMeta& manifest : wanted) manifests.push_back({std::move(manifest), list});
  }

  // Manifests with deletions first and kept, so that the others can be thinned out as they are read.
  DeletedFiles deleted;
  std::vector<std::vector<ManifestEntry>> with_deletions(manifests.size());
  for (size_t i = 0; i < manifests.size(); ++i) {
    if (manifests[i].manifest.deleted_files == 0) continue;
    HEADRACE_ASSIGN_OR_RETURN(with_deletions[i], WantedEntries(table, snapshot, manifests[i], matcher));
    for (const ManifestEntry& entry : with_deletions[i])
      if (entry.kind == EntryKind::kDelete) deleted.Add(entry);
  }

  for (size_t i = 0; i < manifests.size(); ++i) {
    std::vector<ManifestEntry> entries = std::move(with_deletions[i]);
    if (manifests[i].manifest.deleted_files == 0) {
      HEADRACE_ASSIGN_OR_RETURN(entries, WantedEntries(table, snapshot, manifests[i], matcher));
    }
    for (ManifestEntry& entry : entries) {
      if (entry.kind == EntryKind::kAdd && !deleted.Has(entry))
        HEADRACE_RETURN_NOT_OK(visit(std::move(entry)));
    }
  }
  return Status::OK();
}

Result<std::vector<ManifestEntry>> LiveFiles(const Table& table, const Snapshot& snapshot,
                                             const EntryFilter& filter) {
  std::vector<ManifestEntry> live;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, snapshot, filter, [&](ManifestEntry&& entry) {
    live.push_back(std::move(entry));
    return Status::OK();
  }));
  return live;
}

Result<std::vector<ManifestEntry>> DeltaEntries(const Table& table, const Snapshot& snapshot,
                                                const EntryFilter& filter) {
  return EntriesOfList(table, snapshot, snapshot.delta_manifest_list, filter);
}

Result<std::vector<ManifestEntry>> ChangelogEntries(const Table& table, const Snapshot& snapshot) {
  if (!snapshot.changelog_manifest_list.has_value()) return std::vector<ManifestEntry>{};
  return EntriesOfList(table, snapshot, *snapshot.changelog_manifest_list, {});
}

}  // namespace headrace
