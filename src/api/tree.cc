// Each bucket's tree of runs, as `inspect` draws it.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "api/open_table.h"
#include "catalog/snapshots.h"

namespace headrace {
namespace {

using BucketKey = std::pair<BinaryRow, BucketId>;

// Newest first: level 0 by sequence number, then the levels in order.
bool IsNewer(const ManifestEntry& a, const ManifestEntry& b) {
  if (a.file.level != b.file.level) return a.file.level < b.file.level;
  if (a.file.level == Level(0)) return a.file.max_sequence > b.file.max_sequence;
  return a.file.min_sequence < b.file.min_sequence;
}

void AddDeletes(RunInfo* run, const DataFileMeta& file) {
  if (run->files == 0) {
    run->deletes = file.delete_row_count;
  } else if (run->deletes && file.delete_row_count) {
    *run->deletes += *file.delete_row_count;
  } else {
    run->deletes.reset();
  }
}

// One run from its files: a level's key range is that of its first and last file in key order.
Result<RunInfo> RunOf(const Table& table, std::vector<const DataFileMeta*> files) {
  RunInfo run;
  run.level = files.front()->level.value;
  run.min_sequence = files.front()->min_sequence;
  const std::vector<DataType> types = table.schema->TypesOf(table.schema->TrimmedPrimaryKeys());
  std::vector<Value> smallest, largest;
  for (const DataFileMeta* file : files) {
    AddDeletes(&run, *file);
    ++run.files;
    run.rows += file->row_count;
    run.bytes += file->size_bytes;
    run.min_sequence = std::min(run.min_sequence, file->min_sequence);
    run.max_sequence = std::max(run.max_sequence, file->max_sequence);
    if (types.empty()) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> low, DecodeBinaryRow(file->min_key, types));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> high, DecodeBinaryRow(file->max_key, types));
    const auto less = [](const std::vector<Value>& a, const std::vector<Value>& b) {
      for (size_t i = 0; i < a.size(); ++i) {
        const int order = CompareValues(a[i], b[i]);
        if (order != 0) return order < 0;
      }
      return false;
    };
    if (smallest.empty() || less(low, smallest)) {
      smallest = std::move(low);
      HEADRACE_ASSIGN_OR_RETURN(run.min_key, KeyText(table, file->min_key));
    }
    if (largest.empty() || less(largest, high)) {
      largest = std::move(high);
      HEADRACE_ASSIGN_OR_RETURN(run.max_key, KeyText(table, file->max_key));
    }
  }
  return run;
}

Status AddRuns(const Table& table, const std::vector<ManifestEntry>& newest_first, BucketInfo* info) {
  const bool append_table = !table.schema->has_primary_key();
  std::vector<const DataFileMeta*> level;
  for (size_t i = 0; i < newest_first.size(); ++i) {
    level.push_back(&newest_first[i].file);
    const bool own_run = level.back()->level == Level(0) && !append_table;
    const bool last_of_level =
        i + 1 == newest_first.size() || newest_first[i + 1].file.level != level.back()->level;
    if (!own_run && !last_of_level) continue;
    HEADRACE_ASSIGN_OR_RETURN(RunInfo run, RunOf(table, level));
    info->runs.push_back(std::move(run));
    level.clear();
  }
  return Status::OK();
}

using ChangelogCounts = std::map<BucketKey, std::pair<int64_t, int64_t>>;  // files, rows

Result<ChangelogCounts> CountChangelogs(const Table& table, SnapshotId until) {
  ChangelogCounts counts;
  HEADRACE_ASSIGN_OR_RETURN(std::vector<SnapshotId> ids, ListSnapshotIds(table));
  for (SnapshotId id : ids) {
    if (id > until) break;
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, FindSnapshot(table, id));
    if (!snapshot || !snapshot->changelog_manifest_list) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestEntry> entries, ChangelogEntries(table, *snapshot));
    for (const ManifestEntry& entry : entries) {
      auto& [files, rows] = counts[{entry.partition, entry.bucket}];
      files += 1;
      rows += entry.file.row_count;
    }
  }
  return counts;
}

}  // namespace

Result<std::vector<BucketInfo>> ReadTree(const Table& table, std::optional<int64_t> snapshot_id) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, snapshot_id));
  if (!snapshot) return std::vector<BucketInfo>();
  HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestEntry> entries, LiveFiles(table, *snapshot));
  HEADRACE_ASSIGN_OR_RETURN(ChangelogCounts changelogs, CountChangelogs(table, snapshot->id));
  std::map<BucketKey, std::vector<ManifestEntry>> buckets;
  for (ManifestEntry& entry : entries) buckets[{entry.partition, entry.bucket}].push_back(std::move(entry));
  for (const auto& [key, counts] : changelogs) buckets[key];  // a bucket may have changelog alone

  std::vector<BucketInfo> infos;
  for (auto& [key, files] : buckets) {
    BucketInfo info;
    HEADRACE_ASSIGN_OR_RETURN(info.partition, PartitionText(table, key.first));
    info.bucket = key.second.value;
    info.total_buckets = files.empty() ? table.options.bucket : files.front().total_buckets;
    std::stable_sort(files.begin(), files.end(), IsNewer);
    HEADRACE_RETURN_NOT_OK(AddRuns(table, files, &info));
    const auto counts = changelogs.find(key);
    if (counts != changelogs.end()) std::tie(info.changelog_files, info.changelog_rows) = counts->second;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace headrace
