#include "lsm/lookup.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lsm/file_probe.h"
#include "lsm/probed_run.h"

namespace headrace {
namespace {

// Enough for what was learned of the files at opening them, and for the blocks that one call ends and the next begins with.
constexpr int64_t kOwnCacheBytes = 16LL << 20;

class LevelLookup final : public TreeLookup {
 public:
  LevelLookup(FileView view, const Levels& levels, std::unique_ptr<LookupCache> own_cache,
              std::shared_ptr<arrow::RecordBatch> nothing)
      : own_cache_(std::move(own_cache)), view_(std::move(view)) {
    nothing_ = std::move(nothing);
    columns_.resize(static_cast<size_t>(view_.schema->num_fields()));
    std::iota(columns_.begin(), columns_.end(), 0);
    for (const SortedRun& run : levels.runs()) {
      if (run.level >= Level(1)) runs_.emplace_back(view_, run.level, run.files);
    }
  }

  Result<LookupRows> Find(const KeyColumn& keys, Level from) const override {
    Hits hits;
    std::vector<bool> open(static_cast<size_t>(keys.size()), true);
    for (const ProbedRun& run : runs_) {
      if (run.level() < from) continue;
      if (hits.keys.size() == open.size()) break;
      const size_t before = hits.rows.size();
      HEADRACE_RETURN_NOT_OK(run.Find(view_, keys, open, &hits));
      for (size_t i = before; i < hits.keys.size(); ++i) open[static_cast<size_t>(hits.keys[i])] = false;
    }
    LookupRows found;
    found.row_of_key.assign(static_cast<size_t>(keys.size()), -1);
    std::vector<int32_t> all(hits.rows.size());
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = 0; i < hits.rows.size(); ++i) {
      found.row_of_key[static_cast<size_t>(hits.keys[i])] = static_cast<int32_t>(i);
      found.places.push_back({hits.files[i]->file, hits.positions[i]});
    }
    if (all.empty()) {
      found.rows = nothing_;
      return found;
    }
    HEADRACE_ASSIGN_OR_RETURN(found.rows, GatherHits(hits, all, columns_, view_.schema, view_.files.pool));
    return found;
  }

 private:
  std::unique_ptr<LookupCache> own_cache_;  // null where the caller has one
  FileView view_;
  std::shared_ptr<arrow::RecordBatch> nothing_;  // no row: making one costs as much as finding a key
  std::vector<int> columns_;                     // all of them
  std::vector<ProbedRun> runs_;                  // lowest level first
};

}  // namespace

Result<std::unique_ptr<TreeLookup>> TreeLookup::Open(BucketFiles files, Levels levels,
                                                     std::vector<std::string> values, LookupCache* cache) {
  std::unique_ptr<LookupCache> own_cache;
  if (cache == nullptr) {
    own_cache = std::make_unique<LookupCache>(kOwnCacheBytes);
    cache = own_cache.get();
  }
  HEADRACE_ASSIGN_OR_RETURN(FileView view, FileView::Make(std::move(files), values, cache));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> nothing,
                            arrow::RecordBatch::MakeEmpty(view.schema));
  return std::make_unique<LevelLookup>(std::move(view), levels, std::move(own_cache), std::move(nothing));
}

}  // namespace headrace
