#include "commit/commit.h"

#include <algorithm>
#include <unordered_set>

#include "base/build_info.h"
#include "base/random.h"
#include "catalog/snapshots.h"
#include "commit/attempt.h"
#include "commit/commit_part.h"
#include "commit/conflict.h"
#include "commit/place.h"
#include "commit/same_table.h"
#include "commit/settle.h"
#include "format/hash_index.h"

namespace headrace {
namespace {

using Properties = std::map<std::string, std::string>;

// Past this many snapshots one fold of the live files is cheaper than all the deltas.
constexpr int64_t kMaxDeltasToRead = 32;

bool IsCarried(const std::string& key) { return key.starts_with(kCarriedPrefix); }

Properties CarriedFrom(const Snapshot& snapshot) {
  Properties carried;
  for (const auto& [key, value] : snapshot.properties)
    if (IsCarried(key)) carried.emplace(key, value);
  return carried;
}

// Java keeps no properties from one snapshot to the next, so they are searched behind its snapshots.
Result<Properties> CarriedAt(const Table& table, const std::optional<Snapshot>& latest) {
  std::optional<Snapshot> snapshot = latest;
  while (snapshot.has_value()) {
    if (snapshot->properties.contains(std::string(kWriterProperty))) return CarriedFrom(*snapshot);
    if (snapshot->id.value <= 1) break;
    HEADRACE_ASSIGN_OR_RETURN(snapshot, FindSnapshot(table, SnapshotId(snapshot->id.value - 1)));
  }
  return Properties{};
}

// Commits one part, attempt after attempt.
class PartCommitter {
 public:
  PartCommitter(const Table& table, const PreparedCommit& prepared, const CommitHooks& hooks,
                std::vector<BucketChange>* changes, CommitKind kind)
      : table_(table),
        prepared_(prepared),
        hooks_(hooks),
        changes_(changes),
        part_(kind == CommitKind::kCompact ? CompactPart(table, *changes) : AppendPart(table, *changes)),
        random_(static_cast<uint64_t>(table.clock->NowMs()) ^ std::hash<std::string>{}(prepared.user)),
        started_ms_(table.clock->NowMs()),
        checked_to_(prepared.base_snapshot.value_or(SnapshotId(0))) {}

  Result<Snapshot> Run() {
    Result<Snapshot> result = TryUntilDone();
    if (result.ok() || IsKind(result.status(), ErrorKind::kCommitUnknown)) return result;
    Status why = result.status();
    // A table that is dropped in the middle of a commit fails it in many ways; this is the one to tell.
    if (const Status same = CheckSameTable(table_); IsKind(same, ErrorKind::kNotFound)) why = same;
    if (unknown_.ok()) return why;
    // Whatever went wrong since, an earlier attempt may have succeeded.
    return CommitUnknown(why.message(), "; before that: ", unknown_.message());
  }

 private:
  Result<Snapshot> TryUntilDone() {
    for (int32_t attempt = 0;; ++attempt) {
      HEADRACE_RETURN_NOT_OK(CheckSameTable(table_));
      HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSettled(table_));
      Result<std::optional<Snapshot>> made = TryOn(latest);
      if (made.ok() && made->has_value()) return Acknowledged(*std::move(*made));
      if (!made.ok()) {
        // While we read it others made newer snapshots and ended it: a race lost like any other.
        bool overtaken = false;
        if (latest.has_value()) {
          HEADRACE_ASSIGN_OR_RETURN(overtaken, WasOvertaken(table_, *latest, made.status()));
        }
        if (!overtaken) return made.status();
      }
      if (GaveUp(attempt)) return GivingUp(attempt);
      Wait(attempt);
    }
  }

  // One attempt. Nothing: the race was lost, or it is not known and no snapshot of ours was found.
  Result<std::optional<Snapshot>> TryOn(const std::optional<Snapshot>& latest) {
    HEADRACE_ASSIGN_OR_RETURN(auto done, FindOwn(latest));
    if (done.has_value()) return done;
    HEADRACE_RETURN_NOT_OK(CheckHashIndex(latest));
    HEADRACE_RETURN_NOT_OK(CheckSoleWriter(latest));
    HEADRACE_RETURN_NOT_OK(AdaptTo(latest));
    HEADRACE_ASSIGN_OR_RETURN(const SnapshotFacts facts, FactsOn(latest));
    HEADRACE_ASSIGN_OR_RETURN(AttemptResult result, TryCommit(table_, part_, facts, latest));
    if (result.outcome == Outcome::kPublished) return std::move(result.snapshot);
    if (result.outcome != Outcome::kUnknown) {
      (result.lost_to == LostTo::kWriter ? lost_ids_ : lost_bases_) += 1;
      return std::nullopt;
    }
    unknown_ = result.cause;
    attempted_ = result.snapshot;
    unplaced_ = result.unplaced;
    // The next attempt's search tells where it stands.
    if (result.unplaced) return std::nullopt;
    return Resolve(result);
  }

  // Our own snapshot, made by an attempt whose outcome we did not learn, or by an earlier call for the same commit.
  Result<std::optional<Snapshot>> FindOwn(const std::optional<Snapshot>& latest) {
    std::optional<Snapshot> snapshot = latest;
    while (snapshot.has_value() && snapshot->id > checked_to_) {
      HEADRACE_ASSIGN_OR_RETURN(const bool own, IsOwn(*snapshot));
      if (own) return snapshot;
      if (snapshot->id.value <= 1) break;
      const SnapshotId before(snapshot->id.value - 1);
      HEADRACE_ASSIGN_OR_RETURN(snapshot, FindSnapshot(table_, before));
      if (snapshot.has_value() || before <= checked_to_) continue;
      HEADRACE_ASSIGN_OR_RETURN(auto ended, FindOwnEnded(before));
      if (ended.has_value()) return ended;
    }
    if (latest.has_value()) checked_to_ = std::max(checked_to_, latest->id);
    return std::nullopt;
  }

  bool HasOurName(const Snapshot& snapshot) const {
    return snapshot.commit_user == prepared_.user && snapshot.commit_identifier == prepared_.identifier &&
           snapshot.commit_kind == part_.kind;
  }

  Result<bool> IsOwn(const Snapshot& snapshot) {
    if (!HasOurName(snapshot)) return false;
    HEADRACE_RETURN_NOT_OK(CheckHoldsOurs(snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const bool stays, StaysThere(table_, snapshot));
    if (!stays || snapshot.id.value <= 1) return stays;
    HEADRACE_ASSIGN_OR_RETURN(const auto base, FindSnapshot(table_, SnapshotId(snapshot.id.value - 1)));
    if (base.has_value()) return true;
    HEADRACE_ASSIGN_OR_RETURN(const Place place, PlaceOf(table_, snapshot));
    if (place == Place::kBeforeIt) {
      HEADRACE_RETURN_NOT_OK(table_.store->Delete(SnapshotPath(table_, snapshot.id)));
      if (attempted_ == snapshot) unknown_ = Status::OK();
      return false;
    }
    if (place == Place::kUnknown && unplaced_) return NotKnown(snapshot.id);
    return true;
  }

  // Behind a gap: `newest_gone` and those before it have ended. Some live on as changelogs; of ours we may know the files.
  Result<std::optional<Snapshot>> FindOwnEnded(SnapshotId newest_gone) {
    for (SnapshotId id = newest_gone; id > checked_to_; --id.value) {
      HEADRACE_ASSIGN_OR_RETURN(const auto changelog, FindChangelog(table_, id));
      if (!changelog.has_value()) break;
      if (!HasOurName(*changelog)) continue;
      HEADRACE_RETURN_NOT_OK(CheckHoldsOurs(*changelog));
      return changelog;
    }
    if (unknown_.ok() || !attempted_.has_value()) return std::nullopt;
    HEADRACE_ASSIGN_OR_RETURN(const Place place, PlaceOf(table_, *attempted_, &part_.delta));
    if (place == Place::kInHistory) return attempted_;
    if (place == Place::kUnknown) return NotKnown(newest_gone);
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table_, attempted_->id));
    if (found == attempted_)
      HEADRACE_RETURN_NOT_OK(table_.store->Delete(SnapshotPath(table_, attempted_->id)));
    unknown_ = Status::OK();
    return std::nullopt;
  }

  Status NotKnown(SnapshotId gone) const {
    return CommitUnknown("committing to table ", table_.name, ": whether the commit of ", prepared_.user,
                         " (identifier ", prepared_.identifier,
                         ") succeeded can no longer be known, since snapshots up to ", gone,
                         " have expired (", unknown_.message(),
                         "). Read the table to see whether its rows are there before committing them again, "
                         "and retain more snapshots (snapshot.num-retained.min)");
  }

  // Two processes that commit under one name must not take each other's snapshots for their own.
  Status CheckHoldsOurs(const Snapshot& snapshot) const {
    Properties ours = prepared_.properties;
    if (!prepared_.token.empty()) ours.emplace(kTokenProperty, prepared_.token);
    for (const auto& [key, value] : ours) {
      const auto it = snapshot.properties.find(key);
      if (it != snapshot.properties.end() && it->second == value) continue;
      return CommitConflict("committing to table ", table_.name, ": snapshot ", snapshot.id, " has our user ",
                            prepared_.user, " and identifier ", prepared_.identifier, ", but another ", key,
                            ": another process commits under the same name");
    }
    return Status::OK();
  }

  Status CheckExpected(const Properties& carried) const {
    for (const auto& [key, expected] : prepared_.expected_properties) {
      const auto it = carried.find(key);
      const std::optional<std::string> found =
          it == carried.end() ? std::nullopt : std::optional<std::string>(it->second);
      if (found == expected) continue;
      // Our own first snapshot, which has been found. Of what another process came to as well, the same text is no less its own.
      const auto ours = prepared_.properties.find(key);
      const bool is_ours = found.has_value() && ours != prepared_.properties.end() && *found == ours->second;
      if (is_ours && part_.kind == CommitKind::kCompact) continue;
      return CommitConflict("committing to table ", table_.name, ": ", key,
                            " was changed by another process; it was ", expected.value_or("absent"),
                            " and is now ", found.value_or("absent"));
    }
    return Status::OK();
  }

  // A compaction gives no key a bucket.
  Status CheckHashIndex(const std::optional<Snapshot>& latest) const {
    if (prepared_.expected_hash_index.empty() || part_.kind == CommitKind::kCompact) return Status::OK();
    std::map<BinaryRow, std::map<BucketId, std::string>> found;
    if (latest.has_value() && latest->index_manifest.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadIndexManifest(table_, *latest->index_manifest));
      for (const IndexManifestEntry& entry : entries)
        if (entry.index_type == kHashIndexType) found[entry.partition][entry.bucket] = entry.file_name;
    }
    for (const auto& [partition, expected] : prepared_.expected_hash_index) {
      if (found[partition] == expected) continue;
      const std::string where = table_.schema->partition_keys.empty() ? std::string("the table")
                                                                      : table_.DescribePartition(partition);
      return CommitConflict("committing to table ", table_.name, ": another writer has given keys of ", where,
                            " their buckets meanwhile; a table with dynamic buckets has one writing job at a "
                            "time: stop the other one, or write these rows again");
    }
    return Status::OK();
  }

  Status CheckSoleWriter(const std::optional<Snapshot>& latest) const {
    if (!prepared_.sole_writer_since.has_value() || part_.kind == CommitKind::kCompact) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(
        const auto foreign,
        FindRowsOfOthers(table_, *prepared_.sole_writer_since,
                         latest.has_value() ? std::optional(latest->id) : std::nullopt, prepared_.user));
    if (!foreign.has_value()) return Status::OK();
    return CommitConflict(
        "committing to table ", table_.name, ": another writer has made snapshot ", *foreign,
        " since the keys of the table were read; a table whose keys move between partitions "
        "has one writing job at a time: stop the other one, or write these rows again");
  }

  // Files that other writers may have added since our changes were planned.
  Result<std::vector<ManifestEntry>> FilesSinceBase(const std::optional<Snapshot>& latest,
                                                    const std::vector<BinaryRow>& partitions) {
    if (!latest.has_value()) return std::vector<ManifestEntry>{};
    const EntryFilter filter{.partitions = partitions, .bucket = {}};
    const auto& base = prepared_.base_snapshot;
    if (base.has_value() && latest->id.value - base->value <= kMaxDeltasToRead) {
      std::vector<ManifestEntry> all;
      bool complete = true;
      for (int64_t id = base->value + 1; complete && id <= latest->id.value; ++id) {
        HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, FindSnapshot(table_, SnapshotId(id)));
        complete = snapshot.has_value();
        if (!complete) break;  // expired: the fold below sees its files
        const auto entries = DeltaEntries(table_, *snapshot, filter);
        if (!entries.ok() && snapshot->id < latest->id) {
          HEADRACE_ASSIGN_OR_RETURN(const bool gone, WasOvertaken(table_, *snapshot, entries.status()));
          complete = !gone;
          if (!complete) break;
        }
        HEADRACE_RETURN_NOT_OK(entries.status());
        all.insert(all.end(), entries->begin(), entries->end());
      }
      if (complete) return all;
    }
    return LiveFiles(table_, *latest, filter);
  }

  // New level-0 files must be later than everything committed before them, and meant for as many buckets as their partition has.
  Status AdaptTo(const std::optional<Snapshot>& latest) {
    if (part_.kind != CommitKind::kAppend || part_.delta.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(auto others, FilesSinceBase(latest, part_.Partitions()));
    HEADRACE_RETURN_NOT_OK(CheckNotThere(others, part_.delta));
    HEADRACE_RETURN_NOT_OK(CheckSameTotal(others, part_.delta));
    if (!table_.schema->has_primary_key()) return Status::OK();
    const std::vector<ManifestEntry> shared = SharedSequences(others, part_.delta);
    if (shared.empty()) return Status::OK();
    if (!hooks_.resequence)
      return CommitConflict("committing to table ", table_.name, ": file ", shared.front().file.name, " (",
                            table_.Describe(shared.front().partition, shared.front().bucket),
                            ", sequence numbers up to ", shared.front().file.max_sequence,
                            ") of another writer shares sequence numbers with this commit");
    HEADRACE_ASSIGN_OR_RETURN(const auto live,
                              LiveFiles(table_, *latest, {.partitions = part_.Partitions(), .bucket = {}}));
    HEADRACE_ASSIGN_OR_RETURN(*changes_, hooks_.resequence(std::move(*changes_), live));
    part_ = AppendPart(table_, *changes_);
    return Status::OK();
  }

  // A file added twice would be read twice.
  Status CheckNotThere(const std::vector<ManifestEntry>& others,
                       const std::vector<ManifestEntry>& delta) const {
    std::unordered_set<std::string> identities;
    for (const ManifestEntry& entry : others) identities.insert(IdentityOf(entry));
    for (const ManifestEntry& entry : delta) {
      if (!identities.contains(IdentityOf(entry))) continue;
      return CommitConflict("committing to table ", table_.name, ": file ", entry.file.name, " (",
                            table_.Describe(entry.partition, entry.bucket),
                            ") is in the table already, by another commit");
    }
    return Status::OK();
  }

  Status CheckSameTotal(const std::vector<ManifestEntry>& others,
                        const std::vector<ManifestEntry>& delta) const {
    std::map<BinaryRow, int32_t> totals;
    for (const ManifestEntry& entry : others)
      if (entry.kind == EntryKind::kAdd && entry.total_buckets > 0)
        totals[entry.partition] = entry.total_buckets;
    for (const ManifestEntry& entry : delta) {
      const auto it = totals.find(entry.partition);
      if (it == totals.end() || entry.total_buckets <= 0 || it->second == entry.total_buckets) continue;
      return CommitConflict("committing to table ", table_.name, ": ",
                            table_.Describe(entry.partition, entry.bucket), " was prepared for ",
                            entry.total_buckets, " buckets, meanwhile its partition has ", it->second);
    }
    return Status::OK();
  }

  Result<SnapshotFacts> FactsOn(const std::optional<Snapshot>& latest) const {
    SnapshotFacts facts{prepared_.user, prepared_.identifier, prepared_.watermark, {}};
    HEADRACE_ASSIGN_OR_RETURN(facts.properties, CarriedAt(table_, latest));
    HEADRACE_RETURN_NOT_OK(CheckExpected(facts.properties));
    for (const std::string& key : prepared_.dropped_properties) facts.properties.erase(key);
    for (const auto& [key, value] : prepared_.properties) facts.properties[key] = value;
    facts.properties[std::string(kWriterProperty)] = BuildCreator();
    if (!prepared_.token.empty()) facts.properties[std::string(kTokenProperty)] = prepared_.token;
    return facts;
  }

  // What became of a publish whose answer was lost. Nothing: another has the id, or it is not there yet. An error by which the
  // store refused the publish is final once the snapshot is seen to be absent.
  Result<std::optional<Snapshot>> Resolve(const AttemptResult& result) {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table_, result.snapshot.id));
    if (found.has_value() && found->uuid == result.snapshot.uuid) {
      HEADRACE_ASSIGN_OR_RETURN(const bool own, IsOwn(*found));
      return own ? found : std::nullopt;
    }
    if (found.has_value() && result.replaced) {
      HEADRACE_ASSIGN_OR_RETURN(const bool built_upon, IsBuiltUpon(table_, result.snapshot));
      if (built_upon) return ReplacedUnderneath(table_, result.snapshot);
    }
    if (found.has_value()) unknown_ = Status::OK();
    if (found.has_value() || IsKind(result.cause, ErrorKind::kCommitUnknown)) return std::nullopt;
    unknown_ = Status::OK();
    return result.cause;
  }

  bool GaveUp(int32_t attempt) const {
    if (attempt >= table_.options.commit_max_retries) return true;
    const int64_t timeout = table_.options.commit_timeout_ms;
    return timeout >= 0 && table_.clock->NowMs() - started_ms_ >= timeout;
  }

  Status GivingUp(int32_t attempt) const {
    const int64_t took_ms = table_.clock->NowMs() - started_ms_;
    if (!unknown_.ok())
      return CommitUnknown("committing to table ", table_.name, ": gave up after ", attempt + 1,
                           " attempts in ", took_ms,
                           " ms, and it is not known whether one of them succeeded (", unknown_.message(),
                           "); commit again with the same identifier to find out");
    const int64_t overtaken = attempt + 1 - lost_ids_ - lost_bases_;
    return CommitConflict(
        "committing to table ", table_.name, ": gave up after ", attempt + 1, " attempts in ", took_ms,
        " ms (commit.max-retries ", table_.options.commit_max_retries, ", commit.timeout ",
        table_.options.commit_timeout_ms, " ms): other writers took the next snapshot id ", lost_ids_,
        " times, the snapshot built upon was replaced or expired ", lost_bases_,
        " times, and expired while it was read ", std::max<int64_t>(overtaken, 0), " times");
  }

  void Wait(int32_t attempt) {
    const int64_t longest = table_.options.commit_max_retry_wait_ms;
    int64_t wait = table_.options.commit_min_retry_wait_ms;
    for (int32_t i = 0; i < attempt && wait < longest; ++i) wait *= 2;
    wait = std::min(wait, longest);
    // A fifth more at random, so that losers of one race do not meet again.
    table_.clock->SleepMs(wait + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(wait / 5 + 1))));
  }

  Snapshot Acknowledged(Snapshot snapshot) const {
    // Only advice for readers: a failure costs them a listing.
    (void)WriteLatestSnapshotHint(table_, snapshot.id);
    return snapshot;
  }

  const Table& table_;
  const PreparedCommit& prepared_;
  const CommitHooks& hooks_;
  std::vector<BucketChange>* const changes_;
  CommitPart part_;  // of the changes as they are
  Random random_;
  const int64_t started_ms_;
  SnapshotId checked_to_;              // later snapshots may still be our own
  Status unknown_;                     // of an attempt that may have been published
  std::optional<Snapshot> attempted_;  // what that attempt published
  bool unplaced_ = false;              // perhaps into the past
  int32_t lost_ids_ = 0;               // attempts lost to others, by what was lost
  int32_t lost_bases_ = 0;
};

}  // namespace

Result<std::vector<Snapshot>> Commit(const Table& table, const PreparedCommit& prepared,
                                     const CommitHooks& hooks) {
  std::vector<BucketChange> changes = prepared.changes;
  std::vector<Snapshot> made;
  if (!AppendPart(table, changes).empty() || prepared.commit_when_empty) {
    PartCommitter committer(table, prepared, hooks, &changes, CommitKind::kAppend);
    HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, committer.Run());
    made.push_back(std::move(snapshot));
  }
  if (!CompactPart(table, changes).empty()) {
    PartCommitter committer(table, prepared, hooks, &changes, CommitKind::kCompact);
    HEADRACE_ASSIGN_OR_RETURN(Snapshot snapshot, committer.Run());
    made.push_back(std::move(snapshot));
  }
  return made;
}

Result<std::optional<SnapshotId>> FindRowsOfOthers(const Table& table, SnapshotId since,
                                                   std::optional<SnapshotId> latest,
                                                   const std::string& user) {
  const SnapshotId newest = latest.value_or(SnapshotId(0));
  if (newest < since) return since;
  for (SnapshotId id(since.value + 1); id <= newest; ++id.value) {
    HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, FindSnapshot(table, id));
    if (!snapshot.has_value()) return id;
    const bool rows =
        snapshot->commit_kind == CommitKind::kOverwrite ||
        (snapshot->commit_kind == CommitKind::kAppend && snapshot->delta_record_count.value_or(1) != 0);
    if (rows && (user.empty() || snapshot->commit_user != user)) return id;
  }
  return std::nullopt;
}

Result<std::optional<Snapshot>> FindCommitted(const Table& table, const std::string& user,
                                              int64_t identifier) {
  HEADRACE_ASSIGN_OR_RETURN(auto snapshot, ReadLatestSnapshot(table));
  while (snapshot.has_value()) {
    if (snapshot->commit_user == user) {
      if (snapshot->commit_identifier >= identifier) return snapshot;
      return std::nullopt;
    }
    if (snapshot->id.value <= 1) break;
    HEADRACE_ASSIGN_OR_RETURN(snapshot, FindSnapshot(table, SnapshotId(snapshot->id.value - 1)));
  }
  return std::nullopt;
}

Result<std::map<std::string, std::string>> CarriedProperties(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  return CarriedAt(table, latest);
}

}  // namespace headrace
