// Making changes visible: prepared file changes become one or two snapshots by put-if-absent.
//
// Exactly one writer wins an id; a loser reads the newer snapshots, checks conflicts again and retries with the same data files.
// A file conflict is final (kCommitConflict): the caller plans anew. When the outcome of publishing is unknown, nothing is
// cleaned and the next attempt recognises its own snapshot by (user, identifier, kind). Before a commit is acknowledged its snapshot
// is read again: another engine's rename may have replaced it, and then the commit is made anew. Never looks inside a data file.
// Functions of the store, thread-safe. Source: FileStoreCommitImpl, ConflictDetection, ManifestFileMerger.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// A batch job commits once under a user of its own.
inline constexpr int64_t kBatchCommitIdentifier = 9223372036854775807;

struct PreparedCommit {
  std::string user;
  int64_t identifier = 0;  // strictly increasing per user
  // Tells the commit from another process's of the same user and identifier, also where both came to the same: their files differ. Any unique text; empty:
  // the properties alone tell.
  std::string token;
  std::vector<BucketChange> changes;
  std::optional<int64_t> watermark;
  // Put into the snapshot beside the carried ones: a key given here replaces the carried value.
  std::map<std::string, std::string> properties;
  std::vector<std::string> dropped_properties;  // no longer carried forward
  bool commit_when_empty = false;               // a position moved without rows
  // What carried properties must still be when the snapshot is made (nothing: absent), else kCommitConflict: so a job makes sure that no other
  // process has moved its position. Our own first snapshot does not count as a move.
  std::map<std::string, std::optional<std::string>> expected_properties;
  // The HASH index files that these partitions must still have when the snapshot with the new rows is made, by bucket, else kCommitConflict:
  // another writer has assigned keys to buckets meanwhile.
  std::map<BinaryRow, std::map<BucketId, std::string>> expected_hash_index;
  // Since this snapshot nobody else may have brought or removed rows, else kCommitConflict: where each row goes was decided by all of them.
  std::optional<SnapshotId> sole_writer_since;
  // The newest snapshot whose files all of the changes took into account; 0 for a table without one. Only later snapshots are searched
  // for this commit itself and for files that share sequence numbers with it. Nothing: everything is searched.
  std::optional<SnapshotId> base_snapshot;
};

// Called when new level-0 files of ours share sequence numbers with files that another writer committed meanwhile to the same
// bucket: gives the same changes with later numbers (and new files), or an error. `live` are the live files of those buckets.
// May be called again when the race is lost again. The old files become unreferenced.
using Resequence = std::function<Result<std::vector<BucketChange>>(std::vector<BucketChange> changes,
                                                                   const std::vector<ManifestEntry>& live)>;

struct CommitHooks {
  Resequence resequence;  // null: sharing sequence numbers is kCommitConflict
};

// Properties with this prefix are carried from the newest snapshot that Headrace made into each new one.
inline constexpr std::string_view kCarriedPrefix = "headrace.";
// Says which build made a snapshot, and so that it holds all carried properties.
inline constexpr std::string_view kWriterProperty = "headrace.writer";
// PreparedCommit::token; not carried.
inline constexpr std::string_view kTokenProperty = "headrace-commit";

// The snapshots made, oldest first (APPEND or OVERWRITE, then COMPACT); empty when there was nothing to commit. Calling it again with the
// same commit is safe. After an error the first snapshot may have been made and the second not: commit again, or the compact part alone.
Result<std::vector<Snapshot>> Commit(const Table& table, const PreparedCommit& prepared,
                                     const CommitHooks& hooks = {});

// The first snapshot after `since` and up to `latest` that somebody other than `user` made and that is no compaction and not empty. One that
// has expired counts, and `since` itself where the table was rolled back behind it.
Result<std::optional<SnapshotId>> FindRowsOfOthers(const Table& table, SnapshotId since,
                                                   std::optional<SnapshotId> latest, const std::string& user);

// The newest snapshot of this user, when its identifier is at least `identifier`: the commit happened already.
Result<std::optional<Snapshot>> FindCommitted(const Table& table, const std::string& user,
                                              int64_t identifier);

// The carried properties as a commit made now would find them, the writer's mark included.
Result<std::map<std::string, std::string>> CarriedProperties(const Table& table);

}  // namespace headrace
