// Committing for a session: its append part must get in, its compactions may lose.
//
// Two commits under one identifier. New level-0 files that share sequence numbers with another writer's are rewritten with later numbers;
// compactions whose files another writer replaced are given up and their outputs deleted. It also looks again at the session's last
// snapshot, which another engine may have replaced, and commits its rows anew. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/commit.h"
#include "lsm/bucket_tree.h"
#include "write/live_view.h"

namespace headrace {

struct SessionCommit {
  std::vector<Snapshot> snapshots;
  // Buckets that others changed since the session last looked; or it cannot be known which.
  std::set<BucketPlace> touched;
  bool all_touched = false;
  // Buckets whose own files are no longer what their trees believe: renumbered, or a compaction lost.
  std::set<BucketPlace> rebuild;
};

class SessionCommitter {
 public:
  using SpecFor = std::function<Result<BucketTreeSpec>(const BucketPlace&)>;

  // The table outlives it. `newest` is the snapshot that the session begins with; 0: none.
  SessionCommitter(const Table& table, SnapshotId newest) : table_(table), newest_(newest), seen_(newest) {}

  Result<SessionCommit> Commit(const PreparedCommit& prepared, const SpecFor& spec_for);

  // The newest snapshot that the session has seen or made.
  SnapshotId newest() const { return newest_; }

 private:
  // Files of one bucket before and after they got later numbers.
  struct Renumbered {
    BucketFiles files;
    std::vector<FileIncrement> versions;
  };

  Status VerifyLast(SessionCommit* done);
  Status CommitAppend(const PreparedCommit& prepared, const SpecFor& spec_for, SessionCommit* done);
  Status CommitCompactions(const PreparedCommit& prepared, const SpecFor& spec_for, SessionCommit* done);
  Result<std::vector<BucketChange>> Renumber(std::vector<BucketChange> changes,
                                             const std::vector<ManifestEntry>& live, const SpecFor& spec_for);
  // Of all versions of renumbered files the ones that no snapshot lists are deleted.
  Status DeleteUnlisted(const Snapshot& snapshot);
  Status GiveUp(const std::vector<BucketChange>& lost, const SpecFor& spec_for, SessionCommit* done);
  Status FindTouched(SessionCommit* done);

  const Table& table_;
  SnapshotId newest_;
  SnapshotId seen_;  // others' changes up to here have been reported
  std::map<BucketPlace, Renumbered> renumbered_;
  std::optional<PreparedCommit> last_;    // with its append parts alone
  std::vector<Snapshot> last_snapshots_;  // of the last commit
};

}  // namespace headrace
