#include "catalog/tags.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "catalog/numbered_files.h"
#include "io/store_path.h"

namespace headrace {
namespace {

// The files `prefix<name>` of a folder.
struct NamedFile {
  std::string name;
  FileInfo file;
};
Result<std::vector<NamedFile>> FilesNamed(const Table& table, const std::string& folder,
                                          std::string_view prefix, bool directories = false) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, table.store->List(folder));
  std::vector<NamedFile> named;
  for (const FileInfo& file : files) {
    const std::string_view name = NameIn(file.path);
    if (file.is_directory != directories || !name.starts_with(prefix) || name.size() == prefix.size())
      continue;
    named.push_back({std::string(name.substr(prefix.size())), file});
  }
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return named;
}

Result<std::vector<NamedTag>> TagsIn(const Table& table, const std::string& root) {
  HEADRACE_ASSIGN_OR_RETURN(const auto files, FilesNamed(table, root + "/tag", "tag-"));
  std::vector<NamedTag> tags;
  for (const NamedFile& one : files) {
    HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(table.store->ReadAll(one.file.path)));
    if (!bytes.has_value()) continue;
    HEADRACE_ASSIGN_OR_RETURN(Tag tag, ParseTag(*bytes, one.file.path));
    tags.push_back({one.name, std::move(tag)});
  }
  std::stable_sort(tags.begin(), tags.end(),
                   [](const auto& a, const auto& b) { return a.tag.snapshot.id < b.tag.snapshot.id; });
  return tags;
}

Result<std::vector<Snapshot>> SnapshotsIn(const Table& table, const std::string& root,
                                          const std::string& kind) {
  const std::string prefix = kind + "-";
  const NumberedFolder folder{table.store.get(), root + "/" + kind, prefix};
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ListNumbers(folder));
  std::vector<Snapshot> snapshots;
  for (const int64_t number : numbers) {
    HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(table.store->ReadAll(folder.PathOf(number))));
    if (!bytes.has_value()) continue;
    HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, ParseSnapshot(*bytes, folder.PathOf(number)));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

}  // namespace

Result<std::vector<NamedTag>> ListTags(const Table& table) { return TagsIn(table, table.path); }

Result<std::vector<Consumer>> ListConsumers(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto files, FilesNamed(table, table.path + "/consumer", "consumer-"));
  std::vector<Consumer> consumers;
  for (const NamedFile& one : files) {
    HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(table.store->ReadAll(one.file.path)));
    if (!bytes.has_value()) continue;
    HEADRACE_ASSIGN_OR_RETURN(const auto json, ParseJson(*bytes, one.file.path));
    HEADRACE_ASSIGN_OR_RETURN(const int64_t next, GetInt64(json, "nextSnapshot", one.file.path));
    consumers.push_back({one.name, SnapshotId(next), one.file.modified_ms});
  }
  return consumers;
}

Result<std::vector<BranchHistory>> ListBranches(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto folders, FilesNamed(table, table.path + "/branch", "branch-", true));
  std::vector<BranchHistory> branches;
  for (const NamedFile& one : folders) {
    BranchHistory branch{one.name, {}, {}, {}};
    HEADRACE_ASSIGN_OR_RETURN(branch.snapshots, SnapshotsIn(table, one.file.path, "snapshot"));
    HEADRACE_ASSIGN_OR_RETURN(branch.changelogs, SnapshotsIn(table, one.file.path, "changelog"));
    HEADRACE_ASSIGN_OR_RETURN(branch.tags, TagsIn(table, one.file.path));
    branches.push_back(std::move(branch));
  }
  return branches;
}

std::string ConsumerPath(const Table& table, const std::string& id) {
  return table.path + "/consumer/consumer-" + id;
}

}  // namespace headrace
