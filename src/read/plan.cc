// Live files to splits.
#include <algorithm>
#include <map>
#include <utility>

#include "catalog/snapshots.h"
#include "lsm/append_compaction.h"
#include "lsm/levels.h"
#include "lsm/sections.h"
#include "read/scan.h"
#include "read/split_pruning.h"
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
struct Piece {
  std::vector<TreeFilePtr> files;
  bool raw = false;
};

int64_t WeightOf(const Piece& piece) {
  int64_t bytes = 0;
  for (const TreeFilePtr& file : piece.files) bytes += file->meta.size_bytes;
  return std::max(bytes, kOpenFileBytes);
}

// Neighbours share a split until it is full; no piece is divided.
std::vector<Piece> Pack(const std::vector<Piece>& pieces) {
  std::vector<Piece> packed;
  int64_t weight = 0;
  for (const Piece& piece : pieces) {
    const int64_t more = WeightOf(piece);
    if (packed.empty() || weight + more > kSplitBytes || packed.back().raw != piece.raw) {
      packed.push_back({{}, piece.raw});
      weight = 0;
    }
    weight += more;
    packed.back().files.insert(packed.back().files.end(), piece.files.begin(), piece.files.end());
  }
  return packed;
}

std::vector<Piece> OneFileEach(const std::vector<TreeFilePtr>& files) {
  std::vector<Piece> pieces;
  for (const TreeFilePtr& file : files) pieces.push_back({{file}, true});
  return pieces;
}

// Which files of a bucket are read, and which of them as they are.
struct KeyedPlan {
  int32_t num_levels = 0;
  ScanView view = ScanView::kCurrent;
  const TableOptions* options = nullptr;
  // No key is on two levels ≥ 1, or all but one of its rows are marked; of files later than `without_vectors`.
  bool levels_are_apart = false;
  SchemaId without_vectors{-1};

  bool IsRead(const DataFileMeta& file, Level deepest) const {
    if (view == ScanView::kReadOptimized) return file.level == deepest;
    return view == ScanView::kEveryLevel || IsScanned(*options, file, without_vectors);
  }
  bool IsLater(const DataFileMeta& file) const { return file.schema_id > without_vectors; }

  bool IsRaw(const Section& section) const {
    bool later = true;
    bool one_level = true;
    for (const RunFiles& run : section) {
      for (const TreeFilePtr& file : run) {
        if (file->meta.level == Level(0) && section.size() > 1) return false;
        if (file->may_hold_deletes()) return false;
        later &= IsLater(file->meta);
        one_level &= file->meta.level == section[0][0]->meta.level;
      }
    }
    return one_level || (levels_are_apart && later);
  }
};

Result<std::vector<Piece>> PlanKeyed(std::vector<TreeFilePtr> tree_files, const KeyedPlan& plan) {
  HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(std::move(tree_files), plan.num_levels));
  std::vector<TreeFilePtr> files = levels.files();
  std::erase_if(files, [&](const TreeFilePtr& file) { return !plan.IsRead(file->meta, levels.max_level()); });
  std::vector<Piece> sections;
  for (const Section& section : PartitionIntoSections(files)) {
    Piece& piece = sections.emplace_back();
    for (const RunFiles& run : section) piece.files.insert(piece.files.end(), run.begin(), run.end());
    piece.raw = plan.IsRaw(section);
  }
  return Pack(sections);
}

std::vector<Piece> PlanAppend(std::vector<TreeFilePtr> files) {
  std::stable_sort(files.begin(), files.end(),
                   [](const TreeFilePtr& a, const TreeFilePtr& b) { return ComesBefore(a->meta, b->meta); });
  return Pack(OneFileEach(files));
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
    if (entry.bucket.value < 0) return Status::OK();  // rows that wait for a bucket are not in the table yet
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

  Result<std::vector<Split>> Finish(const IndexFiles& index, ScanView view) && {
    HEADRACE_ASSIGN_OR_RETURN(const KeyedPlan plan, PlanOf(view));
    std::vector<Split> splits;
    for (auto& [place, bucket] : buckets_) {
      Result<std::vector<Piece>> planned = table_.schema->has_primary_key()
                                               ? PlanKeyed(std::move(bucket.files), plan)
                                               : PlanAppend(std::move(bucket.files));
      if (!planned.ok()) return Named(place, planned.status());
      for (Piece& piece : *planned) {
        Split& split = splits.emplace_back();
        split.partition = PartitionOf(place);
        split.bucket = place.second;
        split.total_buckets = bucket.total_buckets;
        split.files = std::move(piece.files);
        split.raw = piece.raw;
        split.deletions = DeletionsOf(index, split);
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

  // Deletion vectors hold for what was written since they were switched on.
  Result<KeyedPlan> PlanOf(ScanView view) const {
    KeyedPlan plan;
    plan.num_levels = table_.options.num_levels;
    plan.view = view;
    plan.options = &table_.options;
    plan.levels_are_apart =
        table_.options.deletion_vectors || table_.options.merge_engine == MergeEngine::kFirstRow;
    if (!table_.options.deletion_vectors) return plan;
    SchemaId oldest = table_.schema->id;
    for (const auto& [place, bucket] : buckets_)
      for (const TreeFilePtr& file : bucket.files) oldest = std::min(oldest, file->meta.schema_id);
    HEADRACE_ASSIGN_OR_RETURN(plan.without_vectors, LastSchemaWithoutDeletionVectors(table_, oldest));
    return plan;
  }

  static std::vector<IndexManifestEntry> DeletionsOf(const IndexFiles& index, const Split& split) {
    if (index.empty()) return {};
    std::vector<std::string> names;
    for (const TreeFilePtr& file : split.files) names.push_back(file->meta.name);
    return index.DeletionsOf({split.partition, split.bucket}, names);
  }

  const Table& table_;
  KeyOrder order_;
  std::map<Place, Bucket> buckets_;
  std::pair<const Place, Bucket>* last_ = nullptr;  // where the last file went
};

}  // namespace

Result<std::vector<Split>> PlanSplits(const Table& table, std::vector<ManifestEntry> live,
                                      const IndexFiles& index, ScanView view) {
  HEADRACE_ASSIGN_OR_RETURN(SplitPlanner planner, SplitPlanner::Make(table));
  for (ManifestEntry& entry : live) HEADRACE_RETURN_NOT_OK(planner.Add(std::move(entry)));
  return std::move(planner).Finish(index, view);
}

Result<std::vector<Split>> PlanScan(const Table& table, const Snapshot& snapshot, ScanView view,
                                    std::vector<RowCondition> conditions) {
  const FilePruner pruner(table, std::move(conditions));
  EntryFilter filter;
  filter.detail = pruner.prunes() ? EntryDetail::kWhole : EntryDetail::kWithoutStatistics;
  HEADRACE_ASSIGN_OR_RETURN(const IndexFiles index, IndexFiles::Read(table, snapshot));
  HEADRACE_ASSIGN_OR_RETURN(SplitPlanner planner, SplitPlanner::Make(table));
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, snapshot, filter, [&](ManifestEntry&& entry) {
    if (pruner.prunes()) {
      HEADRACE_ASSIGN_OR_RETURN(const bool may_hold, pruner.MayHold(entry));
      if (!may_hold) return Status::OK();
    }
    return planner.Add(std::move(entry));
  }));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits, std::move(planner).Finish(index, view));
  HEADRACE_RETURN_NOT_OK(PruneSplits(pruner, table, &splits));
  return splits;
}

}  // namespace headrace
