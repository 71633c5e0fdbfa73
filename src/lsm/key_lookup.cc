#include "lsm/key_lookup.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lsm/decide.h"
#include "lsm/gather.h"
#include "lsm/probed_run.h"
#include "lsm/segment_merger.h"
#include "lsm/versions.h"

namespace headrace {
namespace {

constexpr int kFirstValue = 2;  // after the sequence number and the kind

int64_t NumberOf(const Hits& hits, size_t hit) {
  const RowRef at = hits.rows[hit];
  return hits.blocks[at.batch]->number(at.row);
}

// A file without deletes need not be asked.
int8_t KindOf(const Hits& hits, size_t hit) {
  if (!hits.files[hit]->file->may_hold_deletes()) return static_cast<int8_t>(RowKind::kInsert);
  const RowRef at = hits.rows[hit];
  return hits.blocks[at.batch]->kind(at.row);
}

class BucketLookup final : public KeyLookup {
 public:
  BucketLookup(FileView view, MergePolicy policy, std::vector<std::string> values)
      : view_(std::move(view)), policy_(std::move(policy)), values_(std::move(values)) {}

  Status Open(const std::vector<TreeFilePtr>& among) {
    const TableSchema& schema = *view_.files.schema;
    values_schema_ = ToArrowSchema(schema.FieldsOf(values_));
    HEADRACE_ASSIGN_OR_RETURN(nothing_, arrow::RecordBatch::MakeEmpty(values_schema_));
    HEADRACE_ASSIGN_OR_RETURN(sequence_order_, SequenceOrderOf(schema, policy_));
    for (const std::string& name : values_) value_columns_.push_back(view_.schema->GetFieldIndex(name));
    for (const std::string& name : policy_.sequence_columns)
      sequence_columns_.push_back(view_.schema->GetFieldIndex(name));
    HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(among, view_.files.options->num_levels));
    for (const SortedRun& run : levels.runs()) runs_.emplace_back(view_, run.level, run.files);
    deeper_.assign(runs_.size(), -1);
    for (size_t i = runs_.size(); i-- > 1;) deeper_[i - 1] = std::max(deeper_[i], runs_[i].max_sequence());
    return Status::OK();
  }

  Result<KeyedRows> Find(const KeyColumn& keys) const override {
    Hits hits;
    HEADRACE_RETURN_NOT_OK(FindVersions(keys, &hits));
    const auto count = static_cast<size_t>(keys.size());
    // The versions of each key, in the order they were met: newer files first.
    std::vector<int32_t> first(count, -1);
    std::vector<int32_t> next(hits.rows.size(), -1);
    bool several = false;
    for (size_t hit = hits.rows.size(); hit-- > 0;) {
      int32_t& head = first[static_cast<size_t>(hits.keys[hit])];
      several = several || head >= 0;
      next[hit] = std::exchange(head, static_cast<int32_t>(hit));
    }
    if (several && policy_.engine != MergeEngine::kDeduplicate) return Merge(hits, first, next);
    KeyedRows found;
    std::vector<int32_t> picked;
    for (size_t key = 0; key < count; ++key) {
      HEADRACE_ASSIGN_OR_RETURN(const int32_t newest, Newest(hits, first[key], next));
      const bool shown = newest >= 0 && !IsRetract(KindOf(hits, static_cast<size_t>(newest)));
      found.row_of_key.push_back(shown ? static_cast<int32_t>(picked.size()) : -1);
      if (shown) picked.push_back(newest);
    }
    if (picked.empty()) {
      found.rows = nothing_;
      return found;
    }
    HEADRACE_ASSIGN_OR_RETURN(found.rows,
                              GatherHits(hits, picked, value_columns_, values_schema_, view_.files.pool));
    return found;
  }

 private:
  Status FindVersions(const KeyColumn& keys, Hits* hits) const {
    std::vector<bool> open(static_cast<size_t>(keys.size()), true);
    int64_t left = keys.size();
    for (size_t i = 0; i < runs_.size() && left > 0; ++i) {
      const ProbedRun& run = runs_[i];
      const size_t before = hits->rows.size();
      HEADRACE_RETURN_NOT_OK(run.Find(view_, keys, open, hits));
      for (size_t hit = before; hit < hits->rows.size(); ++hit) {
        if (!Settles(run, *hits, hit, deeper_[i])) continue;
        open[static_cast<size_t>(hits->keys[hit])] = false;
        --left;
      }
    }
    return Status::OK();
  }

  // Whether the hit is its key's row, or at least nothing that lies deeper can change it. `deeper`: the largest sequence number of the runs
  // not asked yet.
  bool Settles(const ProbedRun& run, const Hits& hits, size_t hit, int64_t deeper) const {
    if (policy_.lowest_level_alone) return run.level() > Level(0);
    return policy_.engine == MergeEngine::kDeduplicate && sequence_columns_.empty() &&
           TakesPart(KindOf(hits, hit), policy_) && (deeper < 0 || NumberOf(hits, hit) > deeper);
  }

  // A hit as what versions.h compares.
  struct Version {
    int32_t hit = -1;
    MergeFile file;
    LoadedRows rows;
    int64_t number = 0;
    int8_t kind = 0;
  };

  Result<Version> VersionOf(const Hits& hits, int32_t hit) const {
    Version version;
    version.hit = hit;
    const auto at = static_cast<size_t>(hit);
    version.number = NumberOf(hits, at);
    version.kind = KindOf(hits, at);
    if (!sequence_columns_.empty()) {
      const RowRef row = hits.rows[at];
      std::vector<std::shared_ptr<arrow::Array>> fields;
      for (const int column : sequence_columns_)
        fields.push_back(hits.blocks[row.batch]->batch().column(column)->Slice(row.row, 1));
      HEADRACE_ASSIGN_OR_RETURN(version.rows.order, sequence_order_.Encode(fields));
    }
    return version;
  }

  // Runs are met from the newest to the oldest, so an earlier hit is of a younger file.
  static bool IsOlder(Version& a, Version& b) {
    a.file.age = std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(a.hit);
    b.file.age = std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(b.hit);
    for (Version* version : {&a, &b}) {
      version->rows.file = &version->file;
      version->rows.numbers = &version->number;
      version->rows.kinds = &version->kind;
    }
    return CompareVersions(a.rows, 0, b.rows, 0, /*by_age=*/false) < 0;
  }

  // The versions that take part, oldest first.
  Result<std::vector<Version>> InOrder(const Hits& hits, int32_t hit,
                                       const std::vector<int32_t>& next) const {
    std::vector<Version> versions;
    for (; hit >= 0; hit = next[static_cast<size_t>(hit)]) {
      HEADRACE_ASSIGN_OR_RETURN(Version version, VersionOf(hits, hit));
      versions.push_back(std::move(version));
    }
    for (size_t i = 1; i < versions.size(); ++i) {
      for (size_t j = i; j > 0 && IsOlder(versions[j], versions[j - 1]); --j)
        std::swap(versions[j], versions[j - 1]);
    }
    return versions;
  }

  Result<int32_t> Newest(const Hits& hits, int32_t hit, const std::vector<int32_t>& next) const {
    if (hit < 0 || next[static_cast<size_t>(hit)] < 0) {
      return hit >= 0 && TakesPart(KindOf(hits, static_cast<size_t>(hit)), policy_) ? hit : -1;
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Version> versions, InOrder(hits, hit, next));
    for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
      if (TakesPart(version->kind, policy_)) return version->hit;
    }
    return -1;
  }

  // The blocks as a merger of their first `columns` values reads them.
  static std::vector<MergeSource> SourcesOf(const Hits& hits, size_t columns) {
    std::vector<MergeSource> sources;
    for (const auto& block : hits.blocks) {
      const arrow::RecordBatch& batch = block->batch();
      MergeSource& source = sources.emplace_back();
      for (size_t i = 0; i < columns; ++i)
        source.columns.push_back(batch.column(kFirstValue + static_cast<int>(i)));
      source.numbers = static_cast<const arrow::Int64Array&>(*batch.column(0)).raw_values();
      source.kinds = static_cast<const arrow::Int8Array&>(*batch.column(1)).raw_values();
    }
    return sources;
  }

  Result<KeyedRows> Merge(const Hits& hits, const std::vector<int32_t>& first,
                          const std::vector<int32_t>& next) const {
    Segments segments;
    std::vector<size_t> key_of_segment;
    for (size_t key = 0; key < first.size(); ++key) {
      if (first[key] < 0) continue;
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<Version> versions, InOrder(hits, first[key], next));
      segments.starts.push_back(static_cast<uint32_t>(segments.rows.size()));
      key_of_segment.push_back(key);
      for (const Version& version : versions)
        segments.rows.push_back(hits.rows[static_cast<size_t>(version.hit)]);
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentMerger> merger,
                              SegmentMerger::Make(*view_.files.schema, policy_, values_, view_.files.pool));
    HEADRACE_ASSIGN_OR_RETURN(const MergedRows merged,
                              merger->Merge(segments, SourcesOf(hits, merger->reads().size())));
    KeyedRows found;
    found.row_of_key.assign(first.size(), -1);
    std::vector<RowRef> kept;
    for (size_t row = 0; row < merged.kinds.size(); ++row) {
      if (IsRetract(merged.kinds[row])) continue;
      found.row_of_key[key_of_segment[merged.segments[row]]] = static_cast<int32_t>(kept.size());
      kept.push_back({0, static_cast<uint32_t>(row)});
    }
    if (kept.empty()) {
      found.rows = nothing_;
      return found;
    }
    const auto rows = arrow::RecordBatch::Make(values_schema_, merged.size(), merged.values);
    HEADRACE_ASSIGN_OR_RETURN(found.rows, GatherRows({rows}, kept, view_.files.pool));
    return found;
  }

  FileView view_;
  MergePolicy policy_;
  std::vector<std::string> values_;
  std::shared_ptr<arrow::Schema> values_schema_;
  std::shared_ptr<arrow::RecordBatch> nothing_;  // no row: making one costs as much as finding a key
  KeyOrder sequence_order_;
  std::vector<int> value_columns_;     // in the view's batches
  std::vector<int> sequence_columns_;  // in the view's batches
  std::vector<ProbedRun> runs_;        // newest first
  std::vector<int64_t> deeper_;        // of each run: the largest sequence number of those after it
};

}  // namespace

Result<std::unique_ptr<KeyLookup>> KeyLookup::Open(BucketFiles files, const std::vector<TreeFilePtr>& among,
                                                   MergePolicy policy, std::vector<std::string> values,
                                                   LookupCache* cache) {
  // The columns wanted first, then whatever decides.
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentMerger> merger,
                            SegmentMerger::Make(*files.schema, policy, values, files.pool));
  std::vector<std::string> reads = merger->reads();
  for (const std::string& name : policy.sequence_columns) {
    if (std::find(reads.begin(), reads.end(), name) == reads.end()) reads.push_back(name);
  }
  HEADRACE_ASSIGN_OR_RETURN(FileView view, FileView::Make(std::move(files), reads, cache));
  auto lookup = std::make_unique<BucketLookup>(std::move(view), std::move(policy), std::move(values));
  HEADRACE_RETURN_NOT_OK(lookup->Open(among));
  return lookup;
}

}  // namespace headrace
