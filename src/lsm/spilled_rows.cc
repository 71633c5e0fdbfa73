#include "lsm/spilled_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <arrow/record_batch.h>

#include "lsm/decide.h"
#include "lsm/gather.h"
#include "lsm/merged_files.h"
#include "lsm/order.h"
#include "lsm/pieces.h"
#include "lsm/window.h"
#include "lsm/window_merge.h"
#include "lsm/winners.h"

namespace headrace {
namespace {

constexpr int64_t kLeastBlockBytes = 16LL << 10;
constexpr int64_t kMostBlockBytes = 256LL << 10;
constexpr int64_t kMostBlockRows = 32768;
// What merging a run holds of it: a block as it was read, and its rows on their way out.
constexpr int64_t kBlocksARun = 3;

// A buffer's rows in the order of a run, block by block.
class BufferRows final : public RunBatches {
 public:
  static Result<std::unique_ptr<BufferRows>> Sorted(const WriteBuffer& buffer, bool every_version,
                                                    int64_t block_bytes) {
    HEADRACE_ASSIGN_OR_RETURN(Segments segments, buffer.Sort());
    auto rows = std::make_unique<BufferRows>(&buffer, every_version);
    if (!every_version) {
      rows->order_.rows = buffer.Newest(segments);
    } else {
      rows->order_ = std::move(segments);
    }
    const int64_t row_bytes = buffer.bytes() / std::max<int64_t>(1, buffer.rows()) + 1;
    rows->block_rows_ = static_cast<size_t>(std::clamp<int64_t>(block_bytes / row_bytes, 1, kMostBlockRows));
    return rows;
  }

  BufferRows(const WriteBuffer* buffer, bool every_version)
      : buffer_(buffer), every_version_(every_version) {}

  int64_t size() const { return static_cast<int64_t>(order_.rows.size()); }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == order_.rows.size()) return nullptr;
    const size_t begin = next_;
    next_ = EndOfBlock();
    return buffer_->GatherValues(std::span(order_.rows).subspan(begin, next_ - begin));
  }

 private:
  // Rows of one key stay together.
  size_t EndOfBlock() {
    const size_t end = next_ + block_rows_;
    if (end >= order_.rows.size()) return order_.rows.size();
    if (!every_version_) return end;
    const auto start = std::lower_bound(order_.starts.begin(), order_.starts.end(), end);
    return start == order_.starts.end() ? order_.rows.size() : *start;
  }

  const WriteBuffer* buffer_;
  bool every_version_;
  Segments order_;  // without `every_version` rows alone
  size_t block_rows_ = 1;
  size_t next_ = 0;
};

// What comes out of a window: the row of each key, and every row where that is wanted.
struct RunsRows {
  Pieces merged;  // usually one
  std::shared_ptr<arrow::RecordBatch> every_version;
};

class RunsMerge {
 public:
  // `merge`: of an engine that merges rows; null: the newest row wins.
  RunsMerge(std::vector<RunReader> runs, const MergeColumns& columns, const MergePolicy& policy,
            bool every_version, WindowMerge* merge, arrow::MemoryPool* pool)
      : columns_(columns),
        policy_(policy),
        windows_(std::move(runs), kWindowRows),
        // A run's numbers all come after those of older runs.
        picker_(policy, /*by_age=*/columns.sequences.empty(), /*key_ordered=*/true),
        every_version_(every_version),
        merge_(merge),
        pool_(pool) {}

  // False at the end.
  Result<bool> Next(RunsRows* rows, bool merged_wanted) {
    HEADRACE_ASSIGN_OR_RETURN(const bool more, windows_.Next(&window_));
    if (!more) return false;
    *rows = {};
    batches_.clear();
    for (const WindowPart& part : window_.parts) batches_.push_back(columns_.Project(*part.rows->batch));
    if (!every_version_) {
      picker_.Pick(window_, &picked_);
      return Gather(&rows->merged.emplace_back());
    }
    OrderRows(window_, /*by_age=*/false, &segments_);
    HEADRACE_ASSIGN_OR_RETURN(rows->every_version, GatherRows(batches_, segments_.rows, pool_));
    if (!merged_wanted) return true;
    if (merge_ != nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(rows->merged, merge_->MergeApart(window_, columns_, segments_));
      return true;
    }
    std::vector<const int8_t*> kinds;
    for (const WindowPart& part : window_.parts) kinds.push_back(part.rows->kinds);
    picked_.clear();
    DecideDeduplicate(segments_, kinds, policy_, &picked_);
    return Gather(&rows->merged.emplace_back());
  }

 private:
  Result<bool> Gather(std::shared_ptr<arrow::RecordBatch>* into) {
    if (picked_.empty()) return true;
    HEADRACE_ASSIGN_OR_RETURN(*into, GatherRows(batches_, picked_, pool_));
    return true;
  }

  const MergeColumns& columns_;
  const MergePolicy& policy_;
  WindowReader windows_;
  WinnerPicker picker_;
  const bool every_version_;
  WindowMerge* merge_;
  arrow::MemoryPool* pool_;
  Window window_;
  Segments segments_;
  std::vector<RowRef> picked_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

// Joins batches into blocks of about so many rows.
class BlockWriter {
 public:
  BlockWriter(SpilledRun* run, int64_t block_rows, arrow::MemoryPool* pool)
      : run_(run), block_rows_(block_rows), pool_(pool) {}

  Status Add(std::shared_ptr<arrow::RecordBatch> rows) {
    rows_ += rows->num_rows();
    waiting_.push_back(std::move(rows));
    return rows_ < block_rows_ ? Status::OK() : Finish();
  }

  Status Finish() {
    if (rows_ == 0) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto block, arrow::ConcatenateRecordBatches(waiting_, pool_));
    waiting_.clear();
    rows_ = 0;
    return run_->Append(*block);
  }

 private:
  SpilledRun* run_;
  int64_t block_rows_;
  arrow::MemoryPool* pool_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> waiting_;
  int64_t rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<SpilledRows>> SpilledRows::Make(const TableSchema& schema, MergePolicy policy,
                                                       SpilledRowsSpec spec) {
  HEADRACE_ASSIGN_OR_RETURN(MergeColumns columns,
                            MergeColumns::Make(schema, policy, schema.ColumnNames(), true, true));
  return std::unique_ptr<SpilledRows>(new SpilledRows(schema, std::move(columns), std::move(policy), spec));
}

SpilledRows::SpilledRows(const TableSchema& schema, MergeColumns columns, MergePolicy policy,
                         SpilledRowsSpec spec)
    : schema_(schema),
      columns_(std::move(columns)),
      policy_(std::move(policy)),
      spec_(spec),
      shape_(schema) {}

int64_t SpilledRows::rows() const {
  int64_t rows = 0;
  for (const auto& run : runs_) rows += run->rows();
  return rows;
}

int64_t SpilledRows::disk_bytes() const {
  int64_t bytes = 0;
  for (const auto& run : runs_) bytes += run->disk_bytes();
  return bytes;
}

int64_t SpilledRows::BlockBytes() const {
  constexpr int64_t kRunsWanted = 32;
  return std::clamp(spec_.memory_bytes / (kRunsWanted * kBlocksARun), kLeastBlockBytes, kMostBlockBytes);
}

size_t SpilledRows::FanIn() const {
  const int64_t fitting = spec_.memory_bytes / (BlockBytes() * kBlocksARun);
  return static_cast<size_t>(std::clamp<int64_t>(fitting, 2, spec_.fan_in));
}

Status SpilledRows::Add(const WriteBuffer& buffer) {
  if (buffer.rows() == 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto rows, BufferRows::Sorted(buffer, every_row(), BlockBytes()));
  auto run = std::make_unique<SpilledRun>(spec_.spill);
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> block, rows->Next());
    if (block == nullptr) break;
    HEADRACE_RETURN_NOT_OK(run->Append(*block));
  }
  runs_.push_back(std::move(run));
  return Status::OK();
}

std::vector<RunReader> SpilledRows::OpenRuns(size_t begin, size_t count) const {
  std::vector<RunReader> readers;
  for (size_t i = begin; i < begin + count; ++i) {
    const auto age = static_cast<uint32_t>(i);
    readers.emplace_back(ReadSpilledRun(runs_[i].get(), columns_.output_schema), &columns_,
                         MergeFile{nullptr, age, age}, runs_[i]->rows(), every_row());
  }
  return readers;
}

Status SpilledRows::Thin() {
  const size_t fan_in = FanIn();
  while (runs_.size() + 1 > fan_in) {
    const size_t count = std::min(fan_in, runs_.size() + 2 - fan_in);
    size_t cheapest = 0;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t begin = 0; begin + count <= runs_.size(); ++begin) {
      int64_t bytes = 0;
      for (size_t i = begin; i < begin + count; ++i) bytes += runs_[i]->disk_bytes();
      if (bytes < least) cheapest = begin;
      least = std::min(least, bytes);
    }
    HEADRACE_ASSIGN_OR_RETURN(runs_[cheapest], MergeNeighbours(cheapest, count));
    const auto first = runs_.begin() + static_cast<std::ptrdiff_t>(cheapest);
    runs_.erase(first + 1, first + static_cast<std::ptrdiff_t>(count));
  }
  return Status::OK();
}

Result<std::unique_ptr<SpilledRun>> SpilledRows::MergeNeighbours(size_t begin, size_t count) const {
  int64_t rows = 0;
  int64_t blocks = 0;
  for (size_t i = begin; i < begin + count; ++i) {
    rows += runs_[i]->rows();
    blocks += static_cast<int64_t>(runs_[i]->blocks());
  }
  auto merged = std::make_unique<SpilledRun>(spec_.spill);
  BlockWriter writer(merged.get(), rows / std::max<int64_t>(1, blocks), spec_.spill.pool);
  RunsMerge merge(OpenRuns(begin, count), columns_, policy_, every_row(), nullptr, spec_.spill.pool);
  RunsRows out;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const bool more, merge.Next(&out, /*merged_wanted=*/false));
    if (!more) break;
    std::shared_ptr<arrow::RecordBatch> kept = every_row() ? out.every_version : out.merged[0];
    if (kept != nullptr) HEADRACE_RETURN_NOT_OK(writer.Add(std::move(kept)));
  }
  HEADRACE_RETURN_NOT_OK(writer.Finish());
  return merged;
}

Result<FileIncrement> SpilledRows::Flush(const WriteBuffer& buffer, const BucketFiles& files,
                                         FileNames* names) {
  HEADRACE_RETURN_NOT_OK(Thin());
  std::vector<RunReader> readers = OpenRuns(0, runs_.size());
  if (buffer.rows() > 0) {
    HEADRACE_ASSIGN_OR_RETURN(auto rows, BufferRows::Sorted(buffer, every_row(), BlockBytes()));
    const auto age = static_cast<uint32_t>(runs_.size());
    const int64_t count = rows->size();
    readers.emplace_back(std::move(rows), &columns_, MergeFile{nullptr, age, age}, count, every_row());
  }
  PieceFiles data(files.WriteSpec(names, FileRole::kData, Level(0), FileSource::kAppend), shape_);
  MergedFiles changelog(files.WriteSpec(names, FileRole::kChangelog, Level(0), FileSource::kAppend), shape_);
  std::optional<WindowMerge> engine;
  if (!policy_.newest_wins()) {
    HEADRACE_ASSIGN_OR_RETURN(
        engine, WindowMerge::Make(schema_, policy_, schema_.ColumnNames(),
                                  {.sequence_and_kind = true, .keys_repeat = true}, files.pool));
  }
  RunsMerge merge(std::move(readers), columns_, policy_, every_row(), engine.has_value() ? &*engine : nullptr,
                  files.pool);
  RunsRows out;
  while (true) {
    const Result<bool> next = merge.Next(&out, /*merged_wanted=*/true);
    if (!next.ok()) return WithContext("flushing rows to " + files.directory, next.status());
    const bool more = *next;
    if (!more) break;
    HEADRACE_RETURN_NOT_OK(data.Write(out.merged));
    if (spec_.every_version) HEADRACE_RETURN_NOT_OK(changelog.Write(out.every_version));
  }
  FileIncrement increment;
  HEADRACE_ASSIGN_OR_RETURN(increment.added, data.Close(files));
  Result<std::vector<DataFileMeta>> changes = changelog.Close();
  if (!changes.ok()) {
    (void)files.Delete(increment.added);
    return changes.status();
  }
  increment.changelog = *std::move(changes);
  return increment;
}

}  // namespace headrace
