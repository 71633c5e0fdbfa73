#include "write/lost_compactions.h"

#include <map>
#include <utility>

#include "commit/commit_part.h"
#include "commit/conflict.h"

namespace headrace {

namespace {

Status Fits(const Table& table, const BucketChange& change, const std::vector<ManifestEntry>& live,
            const std::vector<IndexManifestEntry>& index) {
  const CommitPart part = CompactPart(table, {change});
  HEADRACE_RETURN_NOT_OK(CheckConflicts(table, live, part.delta, part.kind));
  HEADRACE_ASSIGN_OR_RETURN(const auto combined, CombineIndex(table, index, part.index_changes));
  return CheckDeletionVectors(table, live, part.delta, combined, part.index_changes);
}

}  // namespace

SortedCompactions SortCompactions(const Table& table, std::vector<BucketChange> changes,
                                  const std::vector<ManifestEntry>& live, const IndexFiles& index) {
  std::map<BucketPlace, std::vector<ManifestEntry>> by_bucket;
  for (const ManifestEntry& entry : live) by_bucket[{entry.partition, entry.bucket}].push_back(entry);
  SortedCompactions sorted;
  for (BucketChange& change : changes) {
    const BucketPlace place(change.partition, change.bucket);
    const Status fits = Fits(table, change, by_bucket[place], index.Of(place));
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
