// Each bucket's tree of runs, as `inspect` draws it.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "api/marked_rows.h"
#include "api/open_table.h"
#include "catalog/snapshots.h"
#include "lsm/append_compaction.h"
#include "lsm/levels.h"
#include "read/key_text.h"

namespace headrace {
namespace {

Result<RunInfo> InfoOf(const Table& table, const SortedRun& run, const MarkedRows& marked_rows) {
  RunInfo info;
  info.level = run.level.value;
  info.deletes = 0;
  info.marked = 0;
  info.min_sequence = run.files.front()->meta.min_sequence;
  for (const TreeFilePtr& file : run.files) {
    const DataFileMeta& meta = file->meta;
    ++info.files;
    info.rows += meta.row_count;
    info.bytes += meta.size_bytes;
    info.min_sequence = std::min(info.min_sequence, meta.min_sequence);
    info.max_sequence = std::max(info.max_sequence, meta.max_sequence);
    const bool known = info.deletes && meta.delete_row_count;
    const std::optional<int64_t> marked = marked_rows.In(meta.name);
    info.marked = info.marked && marked ? std::optional(*info.marked + *marked) : std::nullopt;
    info.deletes = known ? std::optional(*info.deletes + *meta.delete_row_count) : std::nullopt;
  }
  HEADRACE_ASSIGN_OR_RETURN(info.min_key, KeyText(table, run.files.front()->meta.min_key));
  HEADRACE_ASSIGN_OR_RETURN(info.max_key, KeyText(table, run.files.back()->meta.max_key));
  return info;
}

// Newest first. The files of an append table have no keys and are one run; so are those in which rows wait for a bucket, as they came.
Result<std::vector<SortedRun>> RunsOf(const Table& table, BucketId bucket,
                                      const std::vector<DataFileMeta>& files) {
  if (table.schema->has_primary_key() && bucket.value >= 0) {
    HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order,
                              KeyOrder::OfKey(table.schema->TypesOf(table.schema->TrimmedPrimaryKeys())));
    HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(order, files, table.options.num_levels));
    return std::vector<SortedRun>(levels.runs().begin(), levels.runs().end());
  }
  if (files.empty()) return std::vector<SortedRun>();
  SortedRun run;
  for (const DataFileMeta& meta : bucket.value == -2 ? files : InSequenceOrder(files)) {
    run.files.push_back(std::make_shared<const TreeFile>(TreeFile{meta, {}, {}}));
  }
  return std::vector<SortedRun>{std::move(run)};
}

using ChangelogCounts = std::map<BucketPlace, std::pair<int64_t, int64_t>>;  // files, rows

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
  struct Bucket {
    int32_t total_buckets;
    std::vector<DataFileMeta> files;
  };
  std::map<BucketPlace, Bucket> buckets;
  // A bucket may have changelog alone.
  for (const auto& [key, counts] : changelogs) buckets[key].total_buckets = table.options.bucket;
  for (ManifestEntry& entry : entries) {
    Bucket& bucket = buckets[{entry.partition, entry.bucket}];
    bucket.total_buckets = entry.total_buckets;
    bucket.files.push_back(std::move(entry.file));
  }

  HEADRACE_ASSIGN_OR_RETURN(const MarkedRows marked_rows, MarkedRows::Of(table, *snapshot));
  std::vector<BucketInfo> infos;
  for (const auto& [key, bucket] : buckets) {
    BucketInfo info;
    HEADRACE_ASSIGN_OR_RETURN(info.partition, PartitionText(table, key.first));
    info.bucket = key.second.value;
    info.total_buckets = bucket.total_buckets;
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<SortedRun> runs, RunsOf(table, key.second, bucket.files));
    for (const SortedRun& run : runs) {
      HEADRACE_ASSIGN_OR_RETURN(RunInfo run_info, InfoOf(table, run, marked_rows));
      info.runs.push_back(std::move(run_info));
    }
    const auto counts = changelogs.find(key);
    if (counts != changelogs.end()) std::tie(info.changelog_files, info.changelog_rows) = counts->second;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace headrace
