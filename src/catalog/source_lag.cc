#include "catalog/source_lag.h"

#include <algorithm>

#include "catalog/snapshots.h"

namespace headrace {
namespace {

constexpr int64_t kMostCounted = 64;

int64_t ChangesIn(const Table& table, const Snapshot& snapshot) {
  if (table.options.changelog_producer != ChangelogProducer::kNone)
    return snapshot.changelog_record_count.value_or(0);
  return snapshot.commit_kind == CommitKind::kAppend
             ? std::max<int64_t>(0, snapshot.delta_record_count.value_or(0))
             : 0;
}

}  // namespace

Result<SourceLag> LagBehind(const Table& table, int64_t next) {
  SourceLag lag;
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(table));
  if (!latest) return lag;
  lag.latest = latest->value;
  lag.snapshots = std::max<int64_t>(0, latest->value - next + 1);
  for (int64_t id = next; id < next + std::min(lag.snapshots, kMostCounted); ++id) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> snapshot,
                              FindSnapshotOrChangelog(table, SnapshotId(id)));
    if (!snapshot) continue;
    if (id == next) lag.since_ms = snapshot->time_millis;
    lag.rows += ChangesIn(table, *snapshot);
  }
  return lag;
}

}  // namespace headrace
