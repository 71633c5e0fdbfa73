#include "commit/manifest_merge.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "catalog/entry_matcher.h"
#include "catalog/snapshots.h"

namespace headrace {
namespace {

using Manifests = std::vector<ManifestFileMeta>;

bool MustChange(const ManifestFileMeta& manifest, int64_t target_bytes) {
  return manifest.deleted_files > 0 || manifest.size_bytes < target_bytes;
}

bool FullMergeIsDue(const Table& table, const Manifests& manifests) {
  int64_t bytes = 0;
  for (const ManifestFileMeta& manifest : manifests)
    if (MustChange(manifest, table.options.manifest_target_bytes)) bytes += manifest.size_bytes;
  return bytes >= table.options.manifest_full_compaction_bytes;
}

struct Deletions {
  std::unordered_set<std::string> identities;
  std::vector<BinaryRow> partitions;  // distinct
};

Result<Deletions> ReadDeletions(const Table& table, const Manifests& manifests) {
  Deletions deletions;
  std::unordered_set<std::string> seen;
  for (const ManifestFileMeta& manifest : manifests) {
    if (manifest.deleted_files == 0) continue;
    HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadManifest(table, manifest));
    for (const ManifestEntry& entry : entries) {
      if (entry.kind != EntryKind::kDelete) continue;
      deletions.identities.insert(IdentityOf(entry));
      if (seen.insert(entry.partition.bytes).second) deletions.partitions.push_back(entry.partition);
    }
  }
  return deletions;
}

// The ADD entries that no deletion names; nothing when a big manifest would come out as it went in.
Result<std::optional<std::vector<ManifestEntry>>> Surviving(const Table& table,
                                                            const ManifestFileMeta& manifest,
                                                            const std::unordered_set<std::string>& deleted) {
  bool changed = MustChange(manifest, table.options.manifest_target_bytes);
  HEADRACE_ASSIGN_OR_RETURN(auto entries, ReadManifest(table, manifest));
  std::vector<ManifestEntry> kept;
  for (ManifestEntry& entry : entries) {
    if (entry.kind == EntryKind::kDelete) continue;
    if (deleted.contains(IdentityOf(entry)))
      changed = true;
    else
      kept.push_back(std::move(entry));
  }
  if (!changed) return std::nullopt;
  return kept;
}

// Nothing when there is too little to merge.
Result<std::optional<Manifests>> MergeFully(const Table& table, const Manifests& manifests,
                                            ManifestWriter* writer) {
  HEADRACE_ASSIGN_OR_RETURN(const Deletions deletions, ReadDeletions(table, manifests));
  HEADRACE_ASSIGN_OR_RETURN(const EntryMatcher touched,
                            EntryMatcher::Make(table, {.partitions = deletions.partitions, .bucket = {}}));

  Manifests result;
  Manifests to_merge;
  for (const ManifestFileMeta& manifest : manifests) {
    bool merge = MustChange(manifest, table.options.manifest_target_bytes);
    if (!merge && !deletions.identities.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(merge, touched.MayHold(manifest));
    }
    (merge ? to_merge : result).push_back(manifest);
  }
  if (to_merge.size() <= 1) return std::nullopt;

  RollingManifests rolling(writer);
  for (const ManifestFileMeta& manifest : to_merge) {
    HEADRACE_ASSIGN_OR_RETURN(auto kept, Surviving(table, manifest, deletions.identities));
    if (!kept.has_value()) {
      result.push_back(manifest);
      continue;
    }
    for (ManifestEntry& entry : *kept) HEADRACE_RETURN_NOT_OK(rolling.Add(std::move(entry)));
  }
  HEADRACE_ASSIGN_OR_RETURN(const Manifests merged, rolling.Finish());
  result.insert(result.end(), merged.begin(), merged.end());
  return result;
}

Result<Manifests> MergeGroup(const Table& table, const Manifests& group, ManifestWriter* writer) {
  if (group.size() == 1) return group;
  std::vector<ManifestEntry> entries;
  for (const ManifestFileMeta& manifest : group) {
    HEADRACE_ASSIGN_OR_RETURN(auto more, ReadManifest(table, manifest));
    std::move(more.begin(), more.end(), std::back_inserter(entries));
  }
  HEADRACE_ASSIGN_OR_RETURN(
      const auto merged,
      MergeEntries(std::move(entries), "manifests " + group.front().name + " to " + group.back().name));
  return writer->WriteManifests(merged);
}

}  // namespace

std::vector<Manifests> PlanMinorMerge(Manifests manifests, int64_t target_bytes, int32_t min_count) {
  std::vector<Manifests> groups;
  Manifests gathering;
  int64_t bytes = 0;
  for (ManifestFileMeta& manifest : manifests) {
    bytes += manifest.size_bytes;
    gathering.push_back(std::move(manifest));
    if (bytes < target_bytes) continue;
    groups.push_back(std::exchange(gathering, {}));
    bytes = 0;
  }
  if (static_cast<int64_t>(gathering.size()) >= min_count) {
    groups.push_back(std::move(gathering));
    return groups;
  }
  for (ManifestFileMeta& manifest : gathering) groups.push_back({std::move(manifest)});
  return groups;
}

Result<std::vector<ManifestEntry>> MergeEntries(std::vector<ManifestEntry> entries,
                                                const std::string& origin) {
  std::unordered_map<std::string, size_t> place;  // where a kept entry stands
  std::vector<bool> kept(entries.size(), true);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto [it, fresh] = place.try_emplace(IdentityOf(entries[i]), i);
    if (fresh) continue;
    if (entries[i].kind == EntryKind::kAdd)
      return Corruption(origin, ": file ", entries[i].file.name, " of bucket ", entries[i].bucket, ", level ",
                        entries[i].file.level, ", is added twice");
    if (entries[it->second].kind == EntryKind::kDelete)
      return Corruption(origin, ": file ", entries[i].file.name, " of bucket ", entries[i].bucket, ", level ",
                        entries[i].file.level, ", is deleted twice");
    kept[it->second] = kept[i] = false;
    place.erase(it);
  }
  std::vector<ManifestEntry> merged;
  for (size_t i = 0; i < entries.size(); ++i)
    if (kept[i]) merged.push_back(std::move(entries[i]));
  return merged;
}

Result<Manifests> MergeManifests(const Table& table, Manifests manifests, ManifestWriter* writer) {
  if (FullMergeIsDue(table, manifests)) {
    HEADRACE_ASSIGN_OR_RETURN(auto merged, MergeFully(table, manifests, writer));
    if (merged.has_value()) return std::move(*merged);
  }
  Manifests result;
  for (const Manifests& group : PlanMinorMerge(std::move(manifests), table.options.manifest_target_bytes,
                                               table.options.manifest_merge_min_count)) {
    HEADRACE_ASSIGN_OR_RETURN(const Manifests merged, MergeGroup(table, group, writer));
    result.insert(result.end(), merged.begin(), merged.end());
  }
  return result;
}

}  // namespace headrace
