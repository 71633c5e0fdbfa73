#include "write/session.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "commit/expiry.h"
#include "commit/same_table.h"
#include "lsm/tree_changes.h"
#include "write/bucket_assigner.h"
#include "write/bucket_writer.h"
#include "write/live_view.h"
#include "write/lost_compactions.h"
#include "write/row_checks.h"
#include "write/session_commit.h"

namespace headrace {
namespace {

// Of the budget, for the file that a flush writes, and again for what it merges; buffers leave that much alone.
constexpr int64_t kFileShare = 8;
constexpr int64_t kLeastFileMemory = 1LL << 20;
constexpr int64_t kMostFileMemory = 64LL << 20;

// Every so many commits what was written is compacted fully; a changelog that full compactions make comes with every commit if nothing
// else is said.
std::optional<int32_t> CommitsToFullCompaction(const TableOptions& options) {
  if (options.write_only) return std::nullopt;
  if (options.full_compaction_delta_commits.has_value()) return options.full_compaction_delta_commits;
  if (options.changelog_producer == ChangelogProducer::kFullCompaction) return 1;
  return std::nullopt;
}

// "-u-<user>-s-<number>-w-": all files of one writer have it in common, and are read by one reader in the order they were made.
std::string StagingPrefix(const std::string& user) {
  std::string plain = user;
  for (char& c : plain)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  for (const std::string_view mark : {"-s-", "-w-"})
    for (size_t at = plain.find(mark); at != std::string::npos; at = plain.find(mark)) plain[at] = '_';
  const size_t number = std::hash<std::string>{}(NewUuid()) % std::numeric_limits<int32_t>::max();
  return "-u-" + plain + "-s-" + std::to_string(number) + "-w-";
}

bool IsFullCompactionDue(const TableOptions& options, int64_t identifier) {
  const std::optional<int32_t> commits = CommitsToFullCompaction(options);
  if (!commits.has_value()) return false;
  const int64_t every = *commits;
  return identifier == kBatchCommitIdentifier || (every > 0 && identifier % every == 0);
}

class TableSession final : public WriteSession {
 public:
  TableSession(const Table& table, SessionOptions options, Reservation reservation, SnapshotId newest)
      : table_(table),
        options_(std::move(options)),
        pool_(options_.pool == nullptr ? arrow::default_memory_pool() : options_.pool),
        reservation_(std::move(reservation)),
        view_(table_),
        staging_prefix_(table_.options.bucket == -2 ? StagingPrefix(options_.commit_user) : ""),
        committer_(table_, newest) {}

  Status Start() {
    HEADRACE_ASSIGN_OR_RETURN(assigner_, MakeBucketAssigner(table_, options_.budget, pool_));
    return Status::OK();
  }

  ~TableSession() override {
    for (const auto& [key, salvaged] : salvaged_) {
      const auto spec = SpecOf(key);
      if (spec.ok()) (void)DeleteMade(salvaged.change.append, spec->files);
    }
  }

  Status Write(const std::shared_ptr<arrow::RecordBatch>& rows,
               const std::shared_ptr<arrow::Array>& kinds) override {
    HEADRACE_ASSIGN_OR_RETURN(const CheckedRows checked, CheckRows(table_, rows, kinds, pool_));
    // Every bucket is opened before the first row is kept.
    HEADRACE_ASSIGN_OR_RETURN(const auto slices, AssignRows(checked));
    std::vector<BucketPlace> keys;
    for (const Slice& slice : slices) keys.emplace_back(slice.partition, slice.bucket);
    HEADRACE_RETURN_NOT_OK(OpenBuckets(keys));
    for (const Slice& slice : slices) HEADRACE_RETURN_NOT_OK(AppendSlice(slice));
    if (CommitsToFullCompaction(table_.options).has_value()) written_.insert(keys.begin(), keys.end());
    return Status::OK();
  }

  Status Compact(bool full) override {
    std::vector<BucketPlace> keys;
    if (!options_.ignore_existing) {
      HEADRACE_ASSIGN_OR_RETURN(keys, view_.AllBuckets());
    }
    for (const auto& [key, writer] : writers_) keys.push_back(key);
    std::erase_if(keys, [&](const BucketPlace& key) { return key.second.value < 0 || !IsMine(key.first); });
    HEADRACE_RETURN_NOT_OK(OpenBuckets(keys));
    for (const BucketPlace& key : std::set<BucketPlace>(keys.begin(), keys.end()))
      HEADRACE_RETURN_NOT_OK(writers_.at(key)->Compact(full));
    return FitReservation();
  }

  Result<PreparedCommit> PrepareCommit(int64_t identifier, bool wait_for_compaction) override {
    HEADRACE_RETURN_NOT_OK(assigner_->MayPrepare());
    const bool full = IsFullCompactionDue(table_.options, identifier);
    HEADRACE_RETURN_NOT_OK(TakeUpUnfinished());
    if (full) HEADRACE_RETURN_NOT_OK(CompactWritten());
    const bool wait = wait_for_compaction || full || table_.options.commit_force_compact ||
                      table_.options.waits_for_lookup();

    PreparedCommit prepared;
    prepared.user = options_.commit_user;
    prepared.identifier = identifier;
    prepared.token = NewUuid();
    SnapshotId base = committer_.newest();
    std::vector<std::pair<BucketPlace, Status>> held_back;
    for (const auto& [key, writer] : writers_) {
      HEADRACE_ASSIGN_OR_RETURN(const FileChange change, writer->PrepareChange(wait));
      if (!change.empty()) salvaged_[key].Add(change, writer->base());
      if (!writer->lost().ok()) HEADRACE_RETURN_NOT_OK(ExplainLoss(key, *writer));
      if (Status why = writer->TakeHeldBack(); !why.ok()) held_back.emplace_back(key, std::move(why));
    }
    HoldBack(held_back);
    for (auto& [key, salvaged] : salvaged_) {
      base = std::min(base, salvaged.base);
      prepared.changes.push_back({key.first, key.second, TotalBuckets(), std::move(salvaged.change)});
    }
    salvaged_.clear();
    prepared.base_snapshot = base;
    HEADRACE_RETURN_NOT_OK(assigner_->Prepare(&prepared));
    HEADRACE_RETURN_NOT_OK(FitReservation());
    return prepared;
  }

  Result<std::vector<Snapshot>> Commit(const PreparedCommit& prepared) override {
    HEADRACE_ASSIGN_OR_RETURN(SessionCommit done, committer_.Commit(prepared, [this](const BucketPlace& key) {
      return SpecOf(key);
    }));
    HEADRACE_RETURN_NOT_OK(CatchUp(prepared, done));
    assigner_->Committed(done.snapshots);
    if (!table_.options.write_only && !done.snapshots.empty())
      expiry_ = Expire(table_, {.retention = table_.options.retention, .patient = true}).status();
    return std::move(done.snapshots);
  }

  const Status& held_back() const override { return held_back_; }
  const Status& expiry() const override { return expiry_; }

 private:
  // What a bucket changed that no PrepareCommit has handed over, kept while its writer is opened anew.
  struct Salvaged {
    FileChange change;
    SnapshotId base{INT64_MAX};  // what the kept files were planned on

    void Add(const FileChange& more, SnapshotId planned_on) {
      base = std::min(base, planned_on);
      const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      append(change.append.added, more.append.added);
      append(change.append.changelog, more.append.changelog);
      append(change.compact.added, more.compact.added);
      append(change.compact.removed, more.compact.removed);
      append(change.compact.changelog, more.compact.changelog);
      append(change.compact.index_added, more.compact.index_added);
      append(change.compact.index_removed, more.compact.index_removed);
    }
  };

  // What the manifest says: the fixed number, or -1.
  int32_t TotalBuckets() const { return table_.options.bucket; }

  Result<BucketTreeSpec> SpecOf(const BucketPlace& key) const {
    BucketTreeSpec spec;
    HEADRACE_ASSIGN_OR_RETURN(spec.files.directory, table_.BucketDirectory(key.first, key.second));
    HEADRACE_ASSIGN_OR_RETURN(spec.files.index_directory, table_.IndexDirectory(key.first, key.second));
    spec.files.store = table_.store.get();
    spec.files.schema = table_.schema;
    spec.files.schema_by_id = table_.schema_by_id;
    spec.files.options = &table_.options;
    spec.files.clock = table_.clock.get();
    spec.files.pool = pool_;
    spec.files.memory_bytes =
        std::clamp(options_.budget->limit() / kFileShare, kLeastFileMemory, kMostFileMemory);
    spec.scratch = options_.scratch;
    spec.lookup_cache = options_.lookup_cache;
    spec.overwrites = options_.ignore_existing;
    spec.uuid = staging_prefix_ + NewUuid();
    return spec;
  }

  Status OpenBuckets(const std::vector<BucketPlace>& keys) {
    std::vector<BucketPlace> missing;
    for (const BucketPlace& key : std::set<BucketPlace>(keys.begin(), keys.end()))
      if (!writers_.contains(key)) missing.push_back(key);
    if (missing.empty()) return Status::OK();
    if (!options_.ignore_existing) HEADRACE_RETURN_NOT_OK(view_.Load(missing));
    for (const BucketPlace& key : missing) {
      std::vector<DataFileMeta> live = view_.Take(key);
      if (const auto it = salvaged_.find(key); it != salvaged_.end())
        live.insert(live.end(), it->second.change.append.added.begin(), it->second.change.append.added.end());
      HEADRACE_ASSIGN_OR_RETURN(BucketTreeSpec spec, SpecOf(key));
      spec.index = view_.IndexOf(key);
      spec.files.deletions = view_.DeletionsOf(key);
      BucketFiles files = spec.files;
      auto tree = BucketTree::Open(std::move(spec), live);
      if (!tree.ok())
        return WithContext(
            "opening " + table_.Describe(key.first, key.second) + " of table " + table_.name + " for writing",
            tree.status());
      writers_[key] = std::make_unique<BucketWriter>(std::move(*tree), std::move(files), view_.snapshot(),
                                                     options_.compactors);
    }
    return Status::OK();
  }

  bool IsMine(const BinaryRow& partition) const {
    return !options_.partitions.has_value() || options_.partitions->contains(partition);
  }

  // What compactions should have told a changelog and have not, because a writer ended between its rows and their compaction or lost the
  // compaction to another one: it is told now, whether or not there are new rows for the bucket.
  Status TakeUpUnfinished() {
    if (table_.options.write_only || !table_.schema->has_primary_key()) return Status::OK();
    if (table_.options.bucket == -2) return Status::OK();  // whoever gives rows their buckets compacts those
    const bool full = table_.options.changelog_producer == ChangelogProducer::kFullCompaction;
    if (!full && !table_.options.needs_lookup()) return Status::OK();
    if (!looked_for_unfinished_) {
      const Level most = full ? Level(table_.options.max_level().value - 1) : Level(0);
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<BucketPlace> keys, view_.BucketsWith(Level(0), most));
      for (const BucketPlace& key : keys)
        if (key.second.value >= 0 && IsMine(key.first)) (full ? written_ : unfinished_).insert(key);
      looked_for_unfinished_ = true;
    }
    HEADRACE_RETURN_NOT_OK(OpenBuckets({unfinished_.begin(), unfinished_.end()}));
    unfinished_.clear();
    return Status::OK();
  }

  // Everything written since the last time becomes one run a bucket, also in buckets that have been closed since.
  Status CompactWritten() {
    HEADRACE_RETURN_NOT_OK(OpenBuckets({written_.begin(), written_.end()}));
    for (const BucketPlace& key : written_) HEADRACE_RETURN_NOT_OK(writers_.at(key)->Compact(true));
    written_.clear();
    return Status::OK();
  }

  // An index that needs more memory takes it from the buffers.
  Result<std::vector<Slice>> AssignRows(const CheckedRows& checked) {
    while (true) {
      auto slices = assigner_->Assign(checked.rows, checked.kinds);
      if (slices.ok() || !IsKind(slices.status(), ErrorKind::kOverBudget) || BufferedBytes() == 0)
        return slices;
      HEADRACE_RETURN_NOT_OK(RelieveLargest());
      HEADRACE_RETURN_NOT_OK(FitReservation());
    }
  }

  // Their rows are kept as they are. What their compactions should tell a changelog is told once they succeed.
  void HoldBack(const std::vector<std::pair<BucketPlace, Status>>& buckets) {
    held_back_ = Status::OK();
    for (const auto& [key, why] : buckets) {
      if (CommitsToFullCompaction(table_.options).has_value()) written_.insert(key);
      if (table_.options.needs_lookup()) unfinished_.insert(key);
    }
    if (buckets.empty()) return;
    const auto& [key, why] = buckets[0];
    const std::string others =
        buckets.size() == 1 ? "" : "; so do " + std::to_string(buckets.size() - 1) + " more buckets";
    held_back_ = Invalid(
        "compacting ", table_.Describe(key.first, key.second), " of table ", table_.name, ": ", why.message(),
        "; the bucket keeps its files uncompacted, and reading it gives this error, until the ",
        "column has a wider type or the rows are overwritten", others);
  }

  // A compaction missed a file. Without a newer snapshot nobody can have removed it rightly.
  Status ExplainLoss(const BucketPlace& key, const BucketWriter& writer) const {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table_));
    if (latest.has_value() && *latest > writer.base()) return Status::OK();
    HEADRACE_RETURN_NOT_OK(CheckSameTable(table_));  // a dropped table has no files, and that is no damage
    return Corruption("compacting ", table_.Describe(key.first, key.second), " of table ", table_.name,
                      ": snapshot ", writer.base(),
                      " is the newest, a file it names is not there: ", writer.lost().message());
  }

  // A slice too large for the budget comes in pieces.
  Status AppendSlice(const Slice& slice) {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t bytes, arrow::util::ReferencedBufferSize(*slice.rows));
    const int64_t most = std::max<int64_t>(1, MostBuffered() / 2);
    const int64_t pieces =
        std::clamp<int64_t>((bytes + most - 1) / most, 1, std::max<int64_t>(1, slice.rows->num_rows()));
    const int64_t rows_a_piece = (slice.rows->num_rows() + pieces - 1) / pieces;
    BucketWriter& writer = *writers_.at({slice.partition, slice.bucket});
    for (int64_t at = 0; at < slice.rows->num_rows(); at += rows_a_piece) {
      HEADRACE_RETURN_NOT_OK(MakeRoom(bytes / pieces));
      HEADRACE_RETURN_NOT_OK(
          writer.Append(slice.rows->Slice(at, rows_a_piece),
                        slice.kinds == nullptr ? nullptr : slice.kinds->Slice(at, rows_a_piece)));
      HEADRACE_RETURN_NOT_OK(FitReservation());
    }
    return Status::OK();
  }

  int64_t BufferedBytes() const {
    int64_t bytes = 0;
    for (const auto& [key, writer] : writers_) bytes += writer->buffered_bytes();
    return bytes;
  }

  int64_t MostBuffered() const {
    const int64_t limit = options_.budget->limit();
    return std::min(table_.options.write_buffer_bytes, limit - 2 * (limit / kFileShare));
  }

  // Relieves buckets until `bytes` more fit.
  Status MakeRoom(int64_t bytes) {
    while (true) {
      const int64_t buffered = BufferedBytes();
      if (buffered + bytes <= MostBuffered() || buffered == 0) {
        const Status fits =
            reservation_.Resize(buffered + bytes, "rows to be written to table " + table_.name);
        if (fits.ok() || buffered == 0) return fits;
      }
      HEADRACE_RETURN_NOT_OK(RelieveLargest());
    }
  }

  // The reservation follows what is buffered; where the budget does not allow it, buckets are relieved.
  Status FitReservation() {
    while (true) {
      const int64_t buffered = BufferedBytes();
      const Status fits = reservation_.Resize(buffered, "rows to be written to table " + table_.name);
      if (fits.ok() || buffered == 0) return fits;
      HEADRACE_RETURN_NOT_OK(RelieveLargest());
    }
  }

  Status RelieveLargest() {
    const auto largest = std::max_element(writers_.begin(), writers_.end(), [](const auto& a, const auto& b) {
      return a.second->buffered_bytes() < b.second->buffered_bytes();
    });
    return largest->second->Relieve();
  }

  // After a commit: writers see what others committed before it, and idle ones are closed.
  Status CatchUp(const PreparedCommit& prepared, const SessionCommit& done) {
    if (table_.options.needs_lookup()) unfinished_.insert(done.rebuild.begin(), done.rebuild.end());
    std::set<BucketPlace> busy;
    for (const BucketChange& change : prepared.changes) busy.insert({change.partition, change.bucket});
    for (auto it = writers_.begin(); it != writers_.end();) {
      const BucketPlace& key = it->first;
      BucketWriter& writer = *it->second;
      const bool rebuild = done.rebuild.contains(key) || writer.stale();
      if (writer.stale() && table_.options.needs_lookup()) unfinished_.insert(key);
      const bool touched = done.all_touched || done.touched.contains(key);
      const bool idle = !busy.contains(key) && !writer.dirty() && !writer.compaction_under_way();
      if (!rebuild && !touched && !idle) {
        if (!writer.dirty()) writer.set_base(committer_.newest());
        ++it;
        continue;
      }
      // A compaction of files that are still there goes on; the tree learns of the new files when it is done.
      if (!done.rebuild.contains(key) && writer.compaction_under_way()) {
        writer.set_stale();
        ++it;
        continue;
      }
      HEADRACE_RETURN_NOT_OK(SalvageFrom(key, &writer));
      it = writers_.erase(it);
    }
    return FitReservation();
  }

  Status SalvageFrom(const BucketPlace& key, BucketWriter* writer) {
    if (!writer->dirty() && !writer->compaction_under_way()) return Status::OK();
    const SnapshotId base = writer->base();
    HEADRACE_ASSIGN_OR_RETURN(FileIncrement append, writer->Salvage());
    if (append.empty()) return Status::OK();
    salvaged_[key].Add({std::move(append), {}}, base);
    return Status::OK();
  }

  const Table table_;
  const SessionOptions options_;
  arrow::MemoryPool* const pool_;
  Reservation reservation_;
  LiveView view_;
  const std::string staging_prefix_;  // in the names of files whose rows wait for a bucket
  SessionCommitter committer_;
  std::unique_ptr<BucketAssigner> assigner_;
  Status held_back_;
  Status expiry_;
  std::map<BucketPlace, std::unique_ptr<BucketWriter>> writers_;
  std::map<BucketPlace, Salvaged> salvaged_;
  std::set<BucketPlace> unfinished_;  // level 0 may hold rows whose compaction was lost
  bool looked_for_unfinished_ = false;
  // Since the last full compaction; kept only where one comes every so many commits.
  std::set<BucketPlace> written_;
};

}  // namespace

Result<std::unique_ptr<WriteSession>> WriteSession::Open(const Table& table, SessionOptions options) {
  if (options.budget == nullptr)
    return Invalid("opening table ", table.name, " for writing: a memory budget is required");
  if (options.commit_user.empty())
    return Invalid("opening table ", table.name, " for writing: a commit user is required");
  HEADRACE_ASSIGN_OR_RETURN(Reservation reservation,
                            options.budget->Reserve(0, "rows to be written to table " + table.name));
  HEADRACE_ASSIGN_OR_RETURN(const auto newest, FindLatestSnapshotId(table));
  auto session = std::make_unique<TableSession>(table, std::move(options), std::move(reservation),
                                                newest.value_or(SnapshotId(0)));
  HEADRACE_RETURN_NOT_OK(session->Start());
  return session;
}

Result<std::vector<Snapshot>> CommitUntilKnown(WriteSession* session, const PreparedCommit& prepared) {
  constexpr int kTries = 3;
  Result<std::vector<Snapshot>> made = session->Commit(prepared);
  for (int tries = 1; tries < kTries && IsKind(made.status(), ErrorKind::kCommitUnknown); ++tries)
    made = session->Commit(prepared);
  return made;
}

}  // namespace headrace
