#include "write/session_commit.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "catalog/snapshots.h"
#include "commit/settle.h"
#include "lsm/tree_changes.h"
#include "write/lost_compactions.h"

namespace headrace {
namespace {

// Others that compact the same buckets may make us lose again; each time at least one bucket is given up.
constexpr int kMaxCompactionTries = 10;

BucketPlace KeyOf(const BucketChange& change) { return {change.partition, change.bucket}; }

int64_t SmallestSequence(const FileIncrement& append) {
  int64_t smallest = INT64_MAX;
  for (const DataFileMeta& file : append.added) smallest = std::min(smallest, file.min_sequence);
  return smallest;
}

int64_t LargestSequence(const std::vector<ManifestEntry>& live, const BucketChange& change) {
  int64_t largest = -1;
  for (const ManifestEntry& entry : live)
    if (entry.partition == change.partition && entry.bucket == change.bucket)
      largest = std::max(largest, entry.file.max_sequence);
  return largest;
}

std::vector<BinaryRow> PartitionsOf(const std::vector<BucketChange>& changes) {
  std::set<BinaryRow> partitions;
  for (const BucketChange& change : changes) partitions.insert(change.partition);
  return {partitions.begin(), partitions.end()};
}

}  // namespace

Result<SessionCommit> SessionCommitter::Commit(const PreparedCommit& prepared, const SpecFor& spec_for) {
  SessionCommit done;
  HEADRACE_RETURN_NOT_OK(VerifyLast(&done));
  HEADRACE_RETURN_NOT_OK(CommitAppend(prepared, spec_for, &done));
  HEADRACE_RETURN_NOT_OK(CommitCompactions(prepared, spec_for, &done));
  if (done.snapshots.empty()) return done;
  newest_ = std::max(newest_, done.snapshots.back().id);
  last_snapshots_ = done.snapshots;
  HEADRACE_RETURN_NOT_OK(FindTouched(&done));
  return done;
}

Status SessionCommitter::VerifyLast(SessionCommit* done) {
  const std::vector<Snapshot> last = std::exchange(last_snapshots_, {});
  for (const Snapshot& snapshot : last) {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table_, snapshot.id));
    if (found.has_value() && found->uuid == snapshot.uuid) continue;
    if (!found.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table_));
      if (latest.has_value() && *latest > snapshot.id) continue;  // expired
      // Rolled back behind our commit, on purpose: only our view of the files is wrong.
      done->all_touched = true;
      seen_ = newest_ = latest.value_or(SnapshotId(0));
      return Status::OK();
    }
    // Replaced by an engine whose rename takes the place of an existing file.
    HEADRACE_ASSIGN_OR_RETURN(const bool built_upon, IsBuiltUpon(table_, snapshot));
    if (built_upon) return ReplacedUnderneath(table_, snapshot);
    done->all_touched = true;
    // Compactions are not worth repeating.
    if (snapshot.commit_kind == CommitKind::kCompact || !last_.has_value() ||
        (last_->changes.empty() && !last_->commit_when_empty))
      continue;
    HEADRACE_RETURN_NOT_OK(headrace::Commit(table_, *last_).status());
  }
  return Status::OK();
}

Status SessionCommitter::CommitAppend(const PreparedCommit& prepared, const SpecFor& spec_for,
                                      SessionCommit* done) {
  PreparedCommit append = prepared;
  append.changes = AppendPartsOf(prepared.changes);
  renumbered_.clear();
  CommitHooks hooks;
  hooks.resequence = [&](std::vector<BucketChange> changes, const std::vector<ManifestEntry>& live) {
    return Renumber(std::move(changes), live, spec_for);
  };
  HEADRACE_ASSIGN_OR_RETURN(done->snapshots, headrace::Commit(table_, append, hooks));
  last_ = append;
  if (renumbered_.empty() || done->snapshots.empty()) return Status::OK();
  for (const auto& [key, renumbered] : renumbered_) done->rebuild.insert(key);
  return DeleteUnlisted(done->snapshots.back());
}

Result<std::vector<BucketChange>> SessionCommitter::Renumber(std::vector<BucketChange> changes,
                                                             const std::vector<ManifestEntry>& live,
                                                             const SpecFor& spec_for) {
  for (BucketChange& change : changes) {
    FileIncrement& append = change.change.append;
    const int64_t smallest = SmallestSequence(append);
    const int64_t largest = LargestSequence(live, change);
    if (append.added.empty() || largest < smallest) continue;
    HEADRACE_ASSIGN_OR_RETURN(const BucketTreeSpec spec, spec_for(KeyOf(change)));
    HEADRACE_ASSIGN_OR_RETURN(FileIncrement raised, RaiseSequences(spec, append, largest + 1 - smallest));
    Renumbered& renumbered = renumbered_[KeyOf(change)];
    renumbered.files = spec.files;
    if (renumbered.versions.empty()) renumbered.versions.push_back(append);
    renumbered.versions.push_back(raised);
    append = std::move(raised);
  }
  return changes;
}

Status SessionCommitter::DeleteUnlisted(const Snapshot& snapshot) {
  const auto data = DeltaEntries(table_, snapshot);
  const auto changelog = ChangelogEntries(table_, snapshot);
  std::unordered_set<std::string> names;
  for (const auto* listed : {&data, &changelog}) {
    if (!listed->ok()) {
      // Ended already: its files cannot be told from those it does not list.
      HEADRACE_ASSIGN_OR_RETURN(const bool overtaken, WasOvertaken(table_, snapshot, listed->status()));
      return overtaken ? Status::OK() : listed->status();
    }
    for (const ManifestEntry& entry : **listed) names.insert(entry.file.name);
  }
  for (const auto& [key, renumbered] : renumbered_) {
    std::vector<DataFileMeta> unlisted;
    for (const FileIncrement& version : renumbered.versions)
      for (const auto* files : {&version.added, &version.changelog})
        std::copy_if(files->begin(), files->end(), std::back_inserter(unlisted),
                     [&](const DataFileMeta& file) { return !names.contains(file.name); });
    // The commit stands; what cannot be deleted now, orphan cleaning takes.
    (void)renumbered.files.Delete(unlisted);
  }
  return Status::OK();
}

Status SessionCommitter::CommitCompactions(const PreparedCommit& prepared, const SpecFor& spec_for,
                                           SessionCommit* done) {
  PreparedCommit compact = prepared;
  compact.changes = CompactPartsOf(prepared.changes);
  compact.commit_when_empty = false;
  for (int tries = 1; !compact.changes.empty(); ++tries) {
    const auto made = headrace::Commit(table_, compact);
    if (made.ok()) {
      done->snapshots.insert(done->snapshots.end(), made->begin(), made->end());
      return Status::OK();
    }
    if (!IsKind(made.status(), ErrorKind::kCommitConflict)) return made.status();
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table_));
    std::vector<ManifestEntry> live;
    IndexFiles index;
    if (latest.has_value()) {
      auto found = LiveFiles(table_, *latest, {.partitions = PartitionsOf(compact.changes), .bucket = {}});
      auto indexed = found.ok() ? IndexFiles::Read(table_, *latest) : found.status();
      if (!indexed.ok()) {
        HEADRACE_ASSIGN_OR_RETURN(const bool overtaken, WasOvertaken(table_, *latest, indexed.status()));
        if (overtaken && tries < kMaxCompactionTries) continue;
        return indexed.status();
      }
      live = std::move(*found);
      index = *std::move(indexed);
    }
    SortedCompactions sorted = SortCompactions(table_, std::move(compact.changes), live, index);
    compact.changes = std::move(sorted.kept);
    HEADRACE_RETURN_NOT_OK(GiveUp(sorted.lost, spec_for, done));
    if (tries < kMaxCompactionTries) continue;
    return GiveUp(compact.changes, spec_for, done);
  }
  return Status::OK();
}

Status SessionCommitter::GiveUp(const std::vector<BucketChange>& lost, const SpecFor& spec_for,
                                SessionCommit* done) {
  for (const BucketChange& change : lost) {
    done->rebuild.insert(KeyOf(change));
    HEADRACE_ASSIGN_OR_RETURN(const BucketTreeSpec spec, spec_for(KeyOf(change)));
    (void)DeleteMade(change.change.compact, spec.files);
  }
  return Status::OK();
}

Status SessionCommitter::FindTouched(SessionCommit* done) {
  for (int64_t id = seen_.value + 1; !done->all_touched && id <= newest_.value; ++id) {
    HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, FindSnapshot(table_, SnapshotId(id)));
    if (!snapshot.has_value()) {
      done->all_touched = true;
      break;
    }
    const bool ours = std::any_of(done->snapshots.begin(), done->snapshots.end(), [&](const Snapshot& own) {
      return own.id == snapshot->id && own.uuid == snapshot->uuid;
    });
    if (ours) continue;
    const auto entries = DeltaEntries(table_, *snapshot);
    if (!entries.ok()) {
      // Ended at this moment, like one that is not there.
      HEADRACE_ASSIGN_OR_RETURN(done->all_touched, WasOvertaken(table_, *snapshot, entries.status()));
      if (done->all_touched) break;
      return entries.status();
    }
    for (const ManifestEntry& entry : *entries) done->touched.insert({entry.partition, entry.bucket});
  }
  seen_ = newest_;
  return Status::OK();
}

}  // namespace headrace
