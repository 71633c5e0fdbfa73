#include "maintain/check_changelog.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "file/physical_columns.h"
#include "maintain/replay.h"
#include "read/changes.h"

namespace headrace {
namespace {

// A key in the map, its share of empty slots included.
constexpr int64_t kBytesAKey = 96;

// What is replayed: the changes of the snapshots after `base`, or from the first one on.
struct Range {
  std::optional<Snapshot> base;
  int64_t first = 1;
  Snapshot last;
  bool before_images = false;  // each change fits the one before it
};

std::string FileOf(const Snapshot& snapshot) {
  return "snapshot/snapshot-" + std::to_string(snapshot.id.value);
}

// Why the changes of a table do not add up to its rows, or nothing.
std::optional<std::string> WhyNotReplayed(const TableSchema& schema, const TableOptions& options) {
  if (!schema.has_primary_key()) return "the table has no primary key: its changes are its rows";
  switch (options.changelog_producer) {
    case ChangelogProducer::kNone:
      return "changelog-producer is none: what is written is all there is to follow";
    case ChangelogProducer::kLookup:
    case ChangelogProducer::kFullCompaction: return std::nullopt;
    case ChangelogProducer::kInput: break;
  }
  if (options.merge_engine != MergeEngine::kDeduplicate)
    return "changelog-producer is input: it has the rows as they were written, not what the merge engine "
           "makes of them";
  if (!options.sequence_fields.empty())
    return "changelog-producer is input: it has late rows too, which sequence.field leaves out of the table";
  return std::nullopt;
}

// Streams pass over an OVERWRITE: what is replayed begins after the last one.
Range RangeOf(const Root& root, const Snapshot& last, ChangelogProducer producer) {
  Range range;
  range.last = last;
  range.before_images = producer != ChangelogProducer::kInput;
  const Snapshot& oldest = root.snapshots.front().snapshot;
  const bool from_the_start =
      (!root.changelogs.empty() && root.changelogs.front().snapshot.id.value == 1) || oldest.id.value == 1;
  if (!from_the_start) range.base = oldest;
  const auto rest = [&](const Snapshot& snapshot) {
    if (snapshot.commit_kind != CommitKind::kOverwrite || snapshot.id.value > last.id.value) return;
    range.base = snapshot.id < oldest.id ? oldest : snapshot;
  };
  for (const NamedState& state : root.changelogs) rest(state.snapshot);
  for (const NamedState& state : root.snapshots) rest(state.snapshot);
  if (range.base.has_value()) range.first = range.base->id.value + 1;
  return range;
}

class ChangelogChecker {
 public:
  ChangelogChecker(CheckRun* run, const Table& table, Range range)
      : run_(run), table_(table), range_(std::move(range)), digester_(*table.schema) {}

  Status Pass(uint64_t share, uint64_t shares) {
    Replay replay(share, shares);
    if (range_.base.has_value()) {
      HEADRACE_RETURN_NOT_OK(
          EachOfState(*range_.base, [&](const KeyedDigest& row, const arrow::RecordBatch&, int64_t) {
            if (replay.IsMine(row.key)) (void)replay.Apply(row, false);
            return Status::OK();
          }));
    }
    // A key that was away from a partition may come back into another bucket of it, and between buckets of a snapshot there is no order.
    const bool unordered = table_.schema->moves_between_partitions() && range_.before_images;
    for (int64_t id = range_.first; id <= range_.last.id.value; ++id)
      HEADRACE_RETURN_NOT_OK(unordered ? FollowTogether(id, &replay) : FollowEach(id, &replay));
    return Compare(&replay);
  }

 private:
  struct Change {
    const KeyedDigest& digest;
    RowKind kind;
    const arrow::RecordBatch& rows;
    int64_t row;
    const Snapshot& snapshot;
  };

  Status FollowEach(int64_t id, Replay* replay) {
    return EachChangeOf(id, [&](const Change& change) {
      return replay->IsMine(change.digest.key) ? Follow(change, replay) : Status::OK();
    });
  }

  Status FollowTogether(int64_t id, Replay* replay) {
    std::unordered_map<RowDigest, RowBalance, RowDigestHash> balances;
    HEADRACE_RETURN_NOT_OK(EachChangeOf(id, [&](const Change& change) {
      const bool retract = IsRetract(static_cast<int8_t>(change.kind));
      if (replay->IsMine(change.digest.key))
        balances[change.digest.key][change.digest.row] += retract ? -1 : 1;
      return Status::OK();
    }));
    std::unordered_set<RowDigest, RowDigestHash> wrong;
    for (auto& [key, balance] : balances)
      if (replay->ApplyTogether(key, std::move(balance)) != Step::kFits) wrong.insert(key);
    if (wrong.empty()) return Status::OK();
    return EachChangeOf(id, [&](const Change& change) -> Status {
      if (wrong.erase(change.digest.key) == 0) return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(const std::string key, digester_.KeyText(change.rows, change.row));
      Add(change.snapshot, "changes of the key " + key + " that do not fit its row before them",
          "retractions of the rows that it has, and one row at the end at most");
      return Status::OK();
    });
  }

  Status Follow(const Change& change, Replay* replay) {
    const bool retract = IsRetract(static_cast<int8_t>(change.kind));
    const Step step = replay->Apply(change.digest, retract);
    if (step == Step::kFits || !range_.before_images) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const std::string key, digester_.KeyText(change.rows, change.row));
    const std::string what = "a " + std::string(ShortName(change.kind)) + " of the key " + key;
    switch (step) {
      case Step::kInsertOfPresent:
        Add(change.snapshot, what, "no row of the key before it: the key has one");
        break;
      case Step::kRetractOfAbsent:
        Add(change.snapshot, what, "a row of the key before it: there is none");
        break;
      default: Add(change.snapshot, what + " with other values than the key has", "the key's own row"); break;
    }
    return Status::OK();
  }

  void Add(const Snapshot& snapshot, const std::string& found, const std::string& expected) {
    run_->Add(FindingKind::kChangeOutOfStep, FileOf(snapshot), found, expected);
  }

  // What is left of the replay, and what the state has beyond it.
  Status Compare(Replay* replay) {
    const std::string file = FileOf(range_.last);
    HEADRACE_RETURN_NOT_OK(EachOfState(
        range_.last, [&](const KeyedDigest& row, const arrow::RecordBatch& rows, int64_t at) -> Status {
          if (!replay->IsMine(row.key)) return Status::OK();
          const Replay::Match match = replay->Take(row);
          if (match == Replay::Match::kSame) return Status::OK();
          HEADRACE_ASSIGN_OR_RETURN(const std::string key, digester_.KeyText(rows, at));
          run_->Add(FindingKind::kChangelogDiffers, file,
                    "the changes end with " +
                        std::string(match == Replay::Match::kAbsent ? "no row" : "another row") +
                        " of the key " + key,
                    "the row that the table has");
          return Status::OK();
        }));
    return NameLeft(*replay, file);
  }

  // Keys that only the replay has: digests tell no names, so they are looked for among the rows once more.
  Status NameLeft(const Replay& replay, const std::string& file) {
    if (replay.rows().empty()) return Status::OK();
    std::unordered_set<RowDigest, RowDigestHash> named;
    const auto name = [&](const KeyedDigest& row, const arrow::RecordBatch& rows, int64_t at) -> Status {
      if (!replay.rows().contains(row.key) || !named.insert(row.key).second) return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(const std::string key, digester_.KeyText(rows, at));
      run_->Add(FindingKind::kChangelogDiffers, file, "the changes end with a row of the key " + key,
                "no row: the table has none");
      return Status::OK();
    };
    if (range_.base.has_value()) HEADRACE_RETURN_NOT_OK(EachOfState(*range_.base, name));
    return EachChange([&](const Change& change) { return name(change.digest, change.rows, change.row); });
  }

  using RowVisit = std::function<Status(const KeyedDigest&, const arrow::RecordBatch&, int64_t)>;

  Status EachRow(arrow::RecordBatchReader* reader, const RowVisit& visit) {
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return Status::OK();
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<KeyedDigest> digests, digester_.Digest(*batch));
      for (int64_t row = 0; row < batch->num_rows(); ++row)
        HEADRACE_RETURN_NOT_OK(visit(digests[static_cast<size_t>(row)], *batch, row));
      run_->looked_at.rows += batch->num_rows();
      run_->Progressed();
    }
  }

  Status EachOfState(const Snapshot& snapshot, const RowVisit& visit) {
    ScanOptions options;
    options.pool = run_->pool;
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenStreamVisibleState(table_, snapshot, options));
    return EachRow(reader.get(), visit);
  }

  using ChangeVisit = std::function<Status(const Change&)>;

  Status EachChange(const ChangeVisit& visit) {
    for (int64_t id = range_.first; id <= range_.last.id.value; ++id)
      HEADRACE_RETURN_NOT_OK(EachChangeOf(id, visit));
    return Status::OK();
  }

  Status EachChangeOf(int64_t id, const ChangeVisit& visit) {
    HEADRACE_ASSIGN_OR_RETURN(const auto stream,
                              ChangeStream::Open(table_, {.from = SnapshotId(id), .pool = run_->pool}));
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotChanges> changes, stream->Next());
    if (!changes.has_value() || changes->rows == nullptr) return Status::OK();
    const int kind_column = static_cast<int>(table_.schema->fields.size());
    return EachRow(
        changes->rows.get(), [&](const KeyedDigest& digest, const arrow::RecordBatch& rows, int64_t row) {
          const auto& kinds = static_cast<const arrow::Int8Array&>(*rows.column(kind_column));
          return visit({digest, static_cast<RowKind>(kinds.Value(row)), rows, row, changes->snapshot});
        });
  }

  CheckRun* run_;
  const Table& table_;
  const Range range_;
  const RowDigester digester_;
};

// How many keys there may be at once, at most.
int64_t MostKeys(const Root& root, const Range& range) {
  int64_t rows = range.base.has_value() ? range.base->total_record_count.value_or(0) : 0;
  const auto count = [&](const NamedState& state) {
    if (state.snapshot.id.value >= range.first) rows += state.snapshot.changelog_record_count.value_or(0);
  };
  for (const NamedState& state : root.changelogs) count(state);
  for (const NamedState& state : root.snapshots) count(state);
  return std::max<int64_t>(rows, 0);
}

}  // namespace

void CheckChangelog(CheckRun* run, const Root& root, int64_t memory_bytes) {
  if (root.snapshots.empty()) return;
  const auto wanted =
      std::find_if(root.snapshots.begin(), root.snapshots.end(), [&](const NamedState& state) {
        return run->options.snapshot.has_value() && state.snapshot.id.value == *run->options.snapshot;
      });
  const Snapshot& last = wanted == root.snapshots.end() ? root.snapshots.back().snapshot : wanted->snapshot;
  const Result<TableOptions> options = ParseTableOptions(*root.table.schema, Access::kRead);
  const std::optional<std::string> reason =
      options.ok() ? WhyNotReplayed(*root.table.schema, *options) : options.status().message();
  if (reason.has_value()) {
    run->Add(FindingKind::kChangelogNotReplayed, FileOf(last), *reason,
             "a changelog that adds up to the table's rows");
    return;
  }
  Table table = root.table;
  table.options = *options;
  const Range range = RangeOf(root, last, options->changelog_producer);
  const auto shares =
      static_cast<uint64_t>(MostKeys(root, range) * kBytesAKey / std::max<int64_t>(memory_bytes / 2, 1) + 1);
  ChangelogChecker checker(run, table, range);
  for (uint64_t share = 0; share < shares; ++share) {
    const Status status = checker.Pass(share, shares);
    if (status.ok()) continue;
    run->Add(FindingKind::kChangesUnreadable, FileOf(last), status.message(),
             "changes and rows that can be read");
    return;
  }
  run->looked_at.replayed += std::max<int64_t>(0, last.id.value - range.first + 1);
}

}  // namespace headrace
