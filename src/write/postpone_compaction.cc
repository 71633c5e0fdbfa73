#include "write/postpone_compaction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "lsm/bucket_files.h"
#include "write/reading_again.h"

namespace headrace {
namespace {

constexpr int64_t kReadRows = 32768;
constexpr int64_t kMostBuckets = 2147483647;

struct Waiting {
  int32_t buckets = 0;              // that the partition has; 0: none yet
  std::vector<DataFileMeta> files;  // in the order they were committed
};

Result<std::map<BinaryRow, Waiting>> FindWaiting(const Table& table, const Snapshot& snapshot) {
  std::map<BinaryRow, Waiting> found;
  HEADRACE_ASSIGN_OR_RETURN(auto live, LiveFiles(table, snapshot));
  for (ManifestEntry& entry : live) {
    Waiting& partition = found[entry.partition];
    if (entry.bucket.value < 0)
      partition.files.push_back(std::move(entry.file));
    else
      partition.buckets = entry.total_buckets;
  }
  std::erase_if(found, [](const auto& partition) { return partition.second.files.empty(); });
  return found;
}

// The table as the writer of a partition's buckets sees it.
Table WithBuckets(const Table& table, int32_t buckets) {
  Table fixed = table;
  fixed.options.bucket = buckets;
  fixed.options.write_only = true;
  fixed.options.lookup_wait = false;
  fixed.options.commit_force_compact = false;
  return fixed;
}

class Mover {
 public:
  Mover(const Table& table, const SessionOptions& options) : table_(table), options_(options) {}

  Result<std::vector<BucketChange>> Move(const BinaryRow& partition, const Waiting& waiting,
                                         MovedRows* moved) const {
    const int32_t buckets = waiting.buckets > 0 ? waiting.buckets : BucketsFor(table_.options, waiting.files);
    HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(WithBuckets(table_, buckets), options_));
    BucketFiles files;
    HEADRACE_ASSIGN_OR_RETURN(files.directory, table_.BucketDirectory(partition, BucketId(-2)));
    files.store = table_.store.get();
    files.schema = table_.schema;
    files.schema_by_id = table_.schema_by_id;
    files.options = &table_.options;
    files.pool = options_.pool;
    files.key_ordered = false;
    for (const DataFileMeta& file : waiting.files) HEADRACE_RETURN_NOT_OK(Read(files, file, session.get()));
    HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared, session->PrepareCommit(kBatchCommitIdentifier, true));
    std::vector<BucketChange> changes = std::move(prepared.changes);
    for (BucketChange& change : changes) {
      // For a reader nothing new comes into the table by this: it is a reorganisation, in one snapshot.
      change.change.compact = std::exchange(change.change.append, {});
      for (const DataFileMeta& file : change.change.compact.added) moved->bytes_written += file.size_bytes;
    }
    FileChange gone;
    gone.compact.removed = waiting.files;
    changes.push_back({partition, BucketId(-2), -2, std::move(gone)});
    moved->files += static_cast<int64_t>(waiting.files.size());
    for (const DataFileMeta& file : waiting.files) moved->rows += file.row_count;
    return changes;
  }

 private:
  Status Read(const BucketFiles& files, const DataFileMeta& file, WriteSession* session) const {
    ReadColumns columns;
    columns.kind = true;
    columns.values = table_.schema->ColumnNames();
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, files.Open(file, columns, kReadRows));
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
      if (batch == nullptr) return Status::OK();
      arrow::ArrayVector values(batch->columns().begin() + 1, batch->columns().end());
      HEADRACE_RETURN_NOT_OK(session->Write(arrow::RecordBatch::Make(ToArrowSchema(table_.schema->fields),
                                                                     batch->num_rows(), std::move(values)),
                                            batch->column(0)));
    }
  }

  const Table& table_;
  const SessionOptions& options_;
};

// Files of an attempt that is not committed are nobody's.
void DeleteMoved(const Table& table, const std::vector<BucketChange>& changes) {
  for (const BucketChange& change : changes) {
    const auto directory = table.BucketDirectory(change.partition, change.bucket);
    if (!directory.ok()) continue;
    for (const auto* files : {&change.change.compact.added, &change.change.compact.changelog})
      for (const DataFileMeta& file : *files) (void)table.store->Delete(*directory + "/" + file.name);
  }
}

Result<MovedRows> TryMove(const Table& table, const SessionOptions& options, const Snapshot& snapshot) {
  MovedRows moved;
  HEADRACE_ASSIGN_OR_RETURN(const auto partitions, FindWaiting(table, snapshot));
  if (partitions.empty()) return moved;
  PreparedCommit prepared;
  prepared.user = options.commit_user;
  prepared.identifier = kBatchCommitIdentifier;
  prepared.base_snapshot = snapshot.id;
  const Mover mover(table, options);
  for (const auto& [partition, waiting] : partitions) {
    auto changes = mover.Move(partition, waiting, &moved);
    if (!changes.ok()) {
      DeleteMoved(table, prepared.changes);
      return changes.status();
    }
    std::move(changes->begin(), changes->end(), std::back_inserter(prepared.changes));
  }
  auto made = Commit(table, prepared);
  if (!made.ok()) {
    if (!IsKind(made.status(), ErrorKind::kCommitUnknown)) DeleteMoved(table, prepared.changes);
    return made.status();
  }
  moved.snapshots = *std::move(made);
  return moved;
}

}  // namespace

int32_t BucketsFor(const TableOptions& options, const std::vector<DataFileMeta>& waiting) {
  if (options.postpone_buckets.has_value()) return *options.postpone_buckets;
  int64_t rows = 0;
  int64_t bytes = 0;
  for (const DataFileMeta& file : waiting) {
    rows += file.row_count;
    bytes += file.size_bytes;
  }
  const int64_t target = options.postpone_target_rows.value_or(options.postpone_target_bytes);
  const int64_t amount = options.postpone_target_rows.has_value() ? rows : bytes;
  const int64_t buckets = amount <= 0 ? 1 : (amount - 1) / target + 1;
  return static_cast<int32_t>(std::min(buckets, kMostBuckets));
}

Result<std::map<BinaryRow, int32_t>> BucketCounts(const Table& table) {
  std::map<BinaryRow, int32_t> counts;
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  if (!latest.has_value()) return counts;
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, *latest, filter, [&](ManifestEntry&& entry) {
    if (entry.bucket.value >= 0) counts[std::move(entry.partition)] = entry.total_buckets;
    return Status::OK();
  }));
  return counts;
}

Result<MovedRows> MovePostponedRows(const Table& table, const SessionOptions& options) {
  for (int tries = 1;; ++tries) {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
    if (!latest.has_value()) return MovedRows{};
    auto moved = TryMove(table, options, *latest);
    if (moved.ok()) return moved;
    // Expired while it was read, or another compaction was first: what waits now is looked for again.
    if (IsKind(moved.status(), ErrorKind::kCommitConflict) && tries < kMostTries) continue;
    HEADRACE_ASSIGN_OR_RETURN(const bool again, MayReadAgain(table, *latest, moved.status(), tries));
    if (!again) return moved;
  }
}

}  // namespace headrace
