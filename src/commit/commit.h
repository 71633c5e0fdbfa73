// Making changes visible: prepared file changes become one or two snapshots by put-if-absent.
//
// Exactly one writer wins an id; a loser reads the newer snapshots, checks conflicts again and retries with the same data files.
// A file conflict is final (kCommitConflict): the caller plans anew. When the outcome of publishing is unknown, nothing is
// cleaned and the next attempt recognises its own snapshot by (user, identifier, kind, uuid). Never looks inside a data file.
// A Committer may be used by one thread at a time. Source: FileStoreCommitImpl, ConflictDetection, ManifestFileMerger.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/file_change.h"
#include "format/snapshot.h"

namespace headrace {

struct BucketChange {
  BinaryRow partition;
  BucketId bucket;
  int32_t total_buckets = 0;
  FileChange change;
};

constexpr int64_t kBatchCommitIdentifier = 9223372036854775807;  // a batch job commits once under a user of its own

struct PreparedCommit {
  std::string user;
  int64_t identifier = 0;  // strictly increasing per user
  std::vector<BucketChange> changes;
  std::optional<int64_t> watermark;
  // Put into the snapshot beside the carried ones: a key given here replaces the carried value.
  std::map<std::string, std::string> properties;
  std::vector<std::string> dropped_properties;  // no longer carried forward
  bool commit_when_empty = false;               // a position moved without rows
};

// Called when new level-0 files of ours share sequence numbers with files that another writer committed meanwhile to the same
// bucket: gives the same changes with later numbers (and new files), or an error. The old files become unreferenced.
using Resequence =
    std::function<Result<std::vector<BucketChange>>(std::vector<BucketChange> changes, const std::vector<ManifestEntry>& live)>;

struct CommitHooks {
  Resequence resequence;
};

// The snapshots made, oldest first (APPEND, then COMPACT); empty when there was nothing to commit. Properties with the prefix
// kCarriedPrefix are carried from the previous snapshot into each new one.
inline constexpr std::string_view kCarriedPrefix = "headrace.";
Result<std::vector<Snapshot>> Commit(const Table& table, const PreparedCommit& prepared, const CommitHooks& hooks = {});

// The newest snapshot of this user whose identifier is at least `identifier`: the commit happened already.
Result<std::optional<Snapshot>> FindCommitted(const Table& table, const std::string& user, int64_t identifier);

}  // namespace headrace
