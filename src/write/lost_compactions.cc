#include "write/lost_compactions.h"

#include <map>
#include <utility>

#include "commit/commit_part.h"
#include "commit/conflict.h"

namespace headrace {

SortedCompactions SortCompactions(const Table& table, std::vector<BucketChange> changes,
                                  const std::vector<ManifestEntry>& live) {
  std::map<BucketPlace, std::vector<ManifestEntry>> by_bucket;
  for (const ManifestEntry& entry : live) by_bucket[{entry.partition, entry.bucket}].push_back(entry);
  SortedCompactions sorted;
  for (BucketChange& change : changes) {
    const CommitPart part = CompactPart(table, {change});
    const Status fits =
        CheckConflicts(table, by_bucket[{change.partition, change.bucket}], part.delta, part.kind);
    (fits.ok() ? sorted.kept : sorted.lost).push_back(std::move(change));
  }
  return sorted;
}

std::vector<BucketChange> AppendPartsOf(const std::vector<BucketChange>& changes) {
  std::vector<BucketChange> parts;
  for (const BucketChange& change : changes) {
    if (change.change.append.empty()) continue;
    parts.push_back({change.partition, change.bucket, change.total_buckets, {change.change.append, {}}});
  }
  return parts;
}

std::vector<BucketChange> CompactPartsOf(const std::vector<BucketChange>& changes) {
  std::vector<BucketChange> parts;
  for (const BucketChange& change : changes) {
    if (change.change.compact.empty()) continue;
    parts.push_back({change.partition, change.bucket, change.total_buckets, {{}, change.change.compact}});
  }
  return parts;
}

}  // namespace headrace
