// Live files to splits.
#include <algorithm>
#include <map>
#include <utility>

#include "catalog/snapshots.h"
#include "lsm/append_compaction.h"
#include "lsm/levels.h"
#include "lsm/sections.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

constexpr int64_t kSplitBytes = 128LL << 20;   // source.split.target-size
constexpr int64_t kOpenFileBytes = 4LL << 20;  // source.split.open-file-cost

struct Bucket {
  int32_t total_buckets = 0;
  std::vector<TreeFilePtr> files;
};

// What is read together: a file, or a section of overlapping ones.
using Piece = std::vector<TreeFilePtr>;

int64_t WeightOf(const Piece& piece) {
  int64_t bytes = 0;
  for (const TreeFilePtr& file : piece) bytes += file->meta.size_bytes;
  return std::max(bytes, kOpenFileBytes);
}

// Neighbours share a split until it is full; no piece is divided.
std::vector<Piece> Pack(const std::vector<Piece>& pieces) {
  std::vector<Piece> packed;
  int64_t weight = 0;
  for (const Piece& piece : pieces) {
    const int64_t more = WeightOf(piece);
    if (packed.empty() || weight + more > kSplitBytes) {
      packed.emplace_back();
      weight = 0;
    }
    weight += more;
    packed.back().insert(packed.back().end(), piece.begin(), piece.end());
  }
  return packed;
}

std::vector<Piece> OneFileEach(const std::vector<TreeFilePtr>& files) {
  std::vector<Piece> pieces;
  for (const TreeFilePtr& file : files) pieces.push_back({file});
  return pieces;
}

struct Planned {
  std::vector<Piece> pieces;
  bool raw = false;
};

Result<Planned> PlanKeyed(std::vector<TreeFilePtr> tree_files, int32_t num_levels) {
  HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(std::move(tree_files), num_levels));
  const std::vector<TreeFilePtr> files = levels.files();
  const bool one_level = levels.runs().size() == 1 && levels.highest_level().value > 0;
  const bool has_deletes =
      std::any_of(files.begin(), files.end(), [](const TreeFilePtr& f) { return f->may_hold_deletes(); });
  if (one_level && !has_deletes) return Planned{Pack(OneFileEach(files)), true};
  std::vector<Piece> sections;
  for (const Section& section : PartitionIntoSections(files)) {
    Piece& piece = sections.emplace_back();
    for (const RunFiles& run : section) piece.insert(piece.end(), run.begin(), run.end());
  }
  return Planned{Pack(sections), false};
}

Planned PlanAppend(std::vector<TreeFilePtr> files) {
  std::stable_sort(files.begin(), files.end(),
                   [](const TreeFilePtr& a, const TreeFilePtr& b) { return ComesBefore(a->meta, b->meta); });
  return {Pack(OneFileEach(files)), true};
}

// The files by bucket, as they are read from the manifests.
class SplitPlanner {
 public:
  static Result<SplitPlanner> Make(const Table& table) {
    SplitPlanner planner(table);
    const TableSchema& schema = *table.schema;
    HEADRACE_ASSIGN_OR_RETURN(planner.order_, KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
    return planner;
  }

  Status Add(ManifestEntry&& entry) {
    // Files of a bucket mostly follow each other.
    if (last_ == nullptr || last_->first.second != entry.bucket ||
        last_->first.first != entry.partition.bytes) {
      last_ = &*buckets_.try_emplace({entry.partition.bytes, entry.bucket}).first;
    }
    last_->second.total_buckets = entry.total_buckets;
    std::vector<TreeFilePtr>& files = last_->second.files;
    if (!table_.schema->has_primary_key()) {
      files.push_back(std::make_shared<const TreeFile>(TreeFile{std::move(entry.file), {}, {}}));
      return Status::OK();
    }
    Result<TreeFilePtr> file = MakeTreeFile(order_, std::move(entry.file));
    if (!file.ok()) return Named(last_->first, file.status());
    files.push_back(*std::move(file));
    return Status::OK();
  }

  Result<std::vector<Split>> Finish() && {
    std::vector<Split> splits;
    for (auto& [place, bucket] : buckets_) {
      Result<Planned> planned = table_.schema->has_primary_key()
                                    ? PlanKeyed(std::move(bucket.files), table_.options.num_levels)
                                    : Result<Planned>(PlanAppend(std::move(bucket.files)));
      if (!planned.ok()) return Named(place, planned.status());
      for (Piece& piece : planned->pieces) {
        const bool raw = planned->raw || (piece.size() == 1 && !piece[0]->may_hold_deletes());
        splits.push_back({PartitionOf(place), place.second, bucket.total_buckets, std::move(piece), raw});
      }
    }
    return splits;
  }

 private:
  using Place = std::pair<std::string, BucketId>;  // partition bytes and bucket

  explicit SplitPlanner(const Table& table) : table_(table) {}

  BinaryRow PartitionOf(const Place& place) const {
    return {static_cast<int32_t>(table_.schema->partition_keys.size()), place.first};
  }
  Status Named(const Place& place, const Status& status) const {
    return WithContext(
        "planning table " + table_.name + ", " + table_.Describe(PartitionOf(place), place.second), status);
  }

  const Table& table_;
  KeyOrder order_;
  std::map<Place, Bucket> buckets_;
  std::pair<const Place, Bucket>* last_ = nullptr;  // where the last file went
};

}  // namespace

Result<std::vector<Split>> PlanSplits(const Table& table, std::vector<ManifestEntry> live) {
  HEADRACE_ASSIGN_OR_RETURN(SplitPlanner planner, SplitPlanner::Make(table));
  for (ManifestEntry& entry : live) HEADRACE_RETURN_NOT_OK(planner.Add(std::move(entry)));
  return std::move(planner).Finish();
}

Result<std::vector<Split>> PlanScan(const Table& table, const Snapshot& snapshot) {
  HEADRACE_RETURN_NOT_OK(CheckNoDeletionVectors(table, snapshot));
  EntryFilter filter;
  filter.detail = EntryDetail::kWithoutStatistics;
  HEADRACE_ASSIGN_OR_RETURN(SplitPlanner planner, SplitPlanner::Make(table));
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(
      table, snapshot, filter, [&](ManifestEntry&& entry) { return planner.Add(std::move(entry)); }));
  return std::move(planner).Finish();
}

}  // namespace headrace
