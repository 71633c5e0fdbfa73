// Live files to splits.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lsm/append_compaction.h"
#include "lsm/levels.h"
#include "lsm/sections.h"
#include "read/scan.h"

namespace headrace {
namespace {

constexpr int64_t kSplitBytes = 128LL << 20;   // source.split.target-size
constexpr int64_t kOpenFileBytes = 4LL << 20;  // source.split.open-file-cost

struct Bucket {
  int32_t total_buckets = 0;
  std::vector<DataFileMeta> files;
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

Result<Planned> PlanKeyed(const TableSchema& schema, const Bucket& bucket, int32_t num_levels) {
  HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order,
                            KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(order, bucket.files, num_levels));
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

Planned PlanAppend(const Bucket& bucket) {
  std::vector<TreeFilePtr> files;
  for (DataFileMeta& meta : InSequenceOrder(bucket.files)) {
    files.push_back(std::make_shared<const TreeFile>(TreeFile{std::move(meta), {}, {}}));
  }
  return {Pack(OneFileEach(files)), true};
}

}  // namespace

Result<std::vector<Split>> PlanSplits(const Table& table, std::vector<ManifestEntry> live) {
  std::map<std::pair<std::string, BucketId>, Bucket> buckets;
  for (ManifestEntry& entry : live) {
    Bucket& bucket = buckets[{entry.partition.bytes, entry.bucket}];
    bucket.total_buckets = entry.total_buckets;
    bucket.files.push_back(std::move(entry.file));
  }
  const bool keyed = table.schema->has_primary_key();
  const auto arity = static_cast<int32_t>(table.schema->partition_keys.size());
  std::vector<Split> splits;
  for (const auto& [place, bucket] : buckets) {
    const BinaryRow partition{arity, place.first};
    Result<Planned> planned = keyed ? PlanKeyed(*table.schema, bucket, table.options.num_levels)
                                    : Result<Planned>(PlanAppend(bucket));
    if (!planned.ok()) {
      return WithContext("planning table " + table.name + ", " + table.Describe(partition, place.second),
                         planned.status());
    }
    for (const Piece& piece : planned->pieces) {
      Split split{partition, place.second, bucket.total_buckets, {}, planned->raw};
      for (const TreeFilePtr& file : piece) split.files.push_back(file->meta);
      split.raw = planned->raw || (piece.size() == 1 && !piece[0]->may_hold_deletes());
      splits.push_back(std::move(split));
    }
  }
  return splits;
}

}  // namespace headrace
