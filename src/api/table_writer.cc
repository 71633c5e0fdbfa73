// The public writer and the compaction of a whole table, over write sessions.
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/open_table.h"
#include "base/error.h"
#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "write/postpone_compaction.h"
#include "write/session.h"

namespace headrace {
namespace {

constexpr int kMostCompactionAttempts = 5;

SessionOptions SessionOptionsOf(SharedState* state, std::string user) {
  return {.commit_user = std::move(user),
          .budget = &state->budget,
          .compactors = &state->tasks,
          .lookup_cache = &state->lookup_cache,
          .scratch = state->scratch.get(),
          .pool = nullptr};
}

class SessionWriter final : public TableWriter {
 public:
  SessionWriter(std::shared_ptr<SharedState> state, std::unique_ptr<WriteSession> session)
      : state_(std::move(state)), session_(std::move(session)) {}

  Status Write(const std::shared_ptr<arrow::RecordBatch>& rows,
               const std::shared_ptr<arrow::Array>& kinds) override {
    return session_->Write(rows, kinds);
  }

  Result<std::optional<int64_t>> Commit(bool wait_for_compaction) override {
    HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared,
                              session_->PrepareCommit(++identifier_, wait_for_compaction));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Snapshot> snapshots, session_->Commit(prepared));
    if (snapshots.empty()) return std::nullopt;
    return snapshots.back().id.value;
  }

  const Status& held_back() const override { return session_->held_back(); }
  const Status& expiry() const override { return session_->expiry(); }

 private:
  std::shared_ptr<SharedState> state_;
  std::unique_ptr<WriteSession> session_;
  int64_t identifier_ = 0;
};

Result<int64_t> CountLiveFiles(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> latest, ReadLatestSnapshot(table));
  if (!latest) return 0;
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  int64_t files = 0;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, *latest, filter, [&](ManifestEntry&&) {
    ++files;
    return Status::OK();
  }));
  return files;
}

// One attempt from the newest snapshot on.
Result<CompactResult> TryCompact(SharedState* state, const Table& table, bool full,
                                 const std::optional<std::set<BinaryRow>>& partitions) {
  CompactResult result;
  HEADRACE_ASSIGN_OR_RETURN(result.files_before, CountLiveFiles(table));
  SessionOptions options = SessionOptionsOf(state, "headrace-compact-" + NewUuid());
  options.partitions = partitions;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<WriteSession> session,
                            WriteSession::Open(table, std::move(options)));
  HEADRACE_RETURN_NOT_OK(session->Compact(full));
  HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared, session->PrepareCommit(1, true));
  for (const BucketChange& change : prepared.changes) {
    for (const DataFileMeta& file : change.change.compact.added) result.bytes_written += file.size_bytes;
  }
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Snapshot> snapshots, session->Commit(prepared));
  // A session gives a compaction up when another writer has replaced its files; here it was what was asked for.
  if (snapshots.empty() && !prepared.changes.empty())
    return CommitConflict("compacting table ", table.name, ": other writers replaced the files meanwhile");
  for (const Snapshot& snapshot : snapshots) result.snapshots.push_back(snapshot.id.value);
  result.held_back = session->held_back();
  result.expiry = session->expiry();
  HEADRACE_ASSIGN_OR_RETURN(result.files_after, CountLiveFiles(table));
  return result;
}

// Another compaction may take files away while ours runs: what it left is compacted anew.
Result<CompactResult> CompactAgain(SharedState* state, const Table& table, bool full,
                                   const std::optional<std::set<BinaryRow>>& partitions) {
  Result<CompactResult> result = TryCompact(state, table, full, partitions);
  for (int attempt = 1; attempt < kMostCompactionAttempts; ++attempt) {
    if (result.ok() || KindOf(result.status()) != ErrorKind::kCommitConflict) break;
    result = TryCompact(state, table, full, partitions);
  }
  return result;
}

// Waiting rows get their buckets first; then those are compacted, partitions of one number of buckets together.
Result<CompactResult> CompactPostponed(SharedState* state, const Table& table, bool full) {
  CompactResult result;
  HEADRACE_ASSIGN_OR_RETURN(result.files_before, CountLiveFiles(table));
  HEADRACE_ASSIGN_OR_RETURN(
      const MovedRows moved,
      MovePostponedRows(table, SessionOptionsOf(state, "headrace-compact-" + NewUuid())));
  for (const Snapshot& snapshot : moved.snapshots) result.snapshots.push_back(snapshot.id.value);
  result.bytes_written = moved.bytes_written;
  HEADRACE_ASSIGN_OR_RETURN(const auto counts, BucketCounts(table));
  std::map<int32_t, std::set<BinaryRow>> by_count;
  for (const auto& [partition, buckets] : counts) by_count[buckets].insert(partition);
  for (const auto& [buckets, partitions] : by_count) {
    Table fixed = table;
    fixed.options.bucket = buckets;
    HEADRACE_ASSIGN_OR_RETURN(const CompactResult compacted, CompactAgain(state, fixed, full, partitions));
    result.snapshots.insert(result.snapshots.end(), compacted.snapshots.begin(), compacted.snapshots.end());
    result.bytes_written += compacted.bytes_written;
    if (!compacted.held_back.ok()) result.held_back = compacted.held_back;
    if (!compacted.expiry.ok()) result.expiry = compacted.expiry;
  }
  HEADRACE_ASSIGN_OR_RETURN(result.files_after, CountLiveFiles(table));
  return result;
}

}  // namespace

Result<std::unique_ptr<TableWriter>> OpenTableWriter(std::shared_ptr<SharedState> state, const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(
      std::unique_ptr<WriteSession> session,
      WriteSession::Open(table, SessionOptionsOf(state.get(), "headrace-" + NewUuid())));
  return std::make_unique<SessionWriter>(std::move(state), std::move(session));
}

Result<CompactResult> CompactTable(SharedState* state, const Table& opened, bool full) {
  // write-only is about what writers do on their own.
  Table table = opened;
  table.options.write_only = false;
  // Nor is patience: who asks for a compaction wants the changelog that it makes.
  table.options.lookup_compact = LookupCompact::kRadical;
  table.options.lookup_wait = true;
  full |= table.options.changelog_producer == ChangelogProducer::kFullCompaction;
  if (BucketModeOf(*table.schema, table.options) == BucketMode::kPostponed)
    return CompactPostponed(state, table, full);
  return CompactAgain(state, table, full, std::nullopt);
}

}  // namespace headrace
