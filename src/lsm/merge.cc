// The plans of a merge, section after section.
#include "lsm/merge.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lsm/decide.h"
#include "lsm/gather.h"
#include "lsm/versions.h"
#include "lsm/window.h"
#include "lsm/window_merge.h"
#include "lsm/winners.h"

namespace headrace {
namespace {

// Any plan for one section: batches until null.
class SectionRows {
 public:
  virtual ~SectionRows() = default;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

// What the plans of one merge share.
struct MergeContext {
  BucketFiles files;
  MergeRequest request;

  bool has_sequence_fields() const { return !request.policy.sequence_columns.empty(); }
};

std::vector<RunReader> OpenRuns(const MergeContext& context, const MergeColumns& columns,
                                const AgedSection& section, int64_t batch_rows) {
  std::vector<RunReader> runs;
  for (const std::vector<MergeFile>& run : section.runs)
    runs.emplace_back(&context.files, &columns, run, batch_rows);
  return runs;
}

// One run: nothing to merge, only retractions to leave out.
class AloneRows final : public SectionRows {
 public:
  static Result<std::unique_ptr<SectionRows>> Open(const MergeContext& context, const RunFiles& run) {
    auto rows = std::make_unique<AloneRows>();
    const MergeRequest& request = context.request;
    rows->policy_ = request.policy;
    rows->pool_ = context.files.pool;
    rows->hand_out_kind_ = request.sequence_and_kind;
    std::vector<DataFileMeta> metas;
    for (const TreeFilePtr& file : run) {
      rows->may_hold_deletes_ |= file->may_hold_deletes();
      metas.push_back(file->meta);
    }
    const ReadColumns columns{.keys = false,
                              .sequence = request.sequence_and_kind,
                              .kind = request.sequence_and_kind || rows->may_hold_deletes_,
                              .values = request.values};
    HEADRACE_ASSIGN_OR_RETURN(
        rows->stream_, OpenConcatenation(context.files, std::move(metas), columns, request.batch_rows));
    return rows;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    const int kind = hand_out_kind_ ? 1 : 0;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, stream_->Next());
      if (batch == nullptr || !may_hold_deletes_) return batch;
      const int8_t* kinds = static_cast<const arrow::Int8Array&>(*batch->column(kind)).raw_values();
      picked_.clear();
      for (uint32_t row = 0; row < batch->num_rows(); ++row) {
        if (TakesPart(kinds[row], policy_) && Survives(kinds[row], policy_)) picked_.push_back({0, row});
      }
      if (picked_.empty()) continue;
      if (!hand_out_kind_) {
        HEADRACE_ASSIGN_OR_RETURN(batch, batch->RemoveColumn(kind));
      }
      return GatherRows({std::move(batch)}, picked_, pool_);
    }
  }

 private:
  MergePolicy policy_;
  arrow::MemoryPool* pool_ = nullptr;
  bool hand_out_kind_ = false;
  bool may_hold_deletes_ = false;
  std::unique_ptr<RowStream> stream_;
  std::vector<RowRef> picked_;
};

// All columns of all runs side by side.
class WholeRows final : public SectionRows {
 public:
  static Result<std::unique_ptr<SectionRows>> Open(const MergeContext& context, const Section& section) {
    const MergeRequest& request = context.request;
    AgedSection aged = AgeFiles(section, context.has_sequence_fields());
    HEADRACE_ASSIGN_OR_RETURN(MergeColumns columns,
                              MergeColumns::Make(*context.files.schema, request.policy, request.values,
                                                 aged.numbers_needed, request.sequence_and_kind));
    return std::make_unique<WholeRows>(context, std::move(columns), aged,
                                       BatchRowsThatFit(section, request.memory_bytes, request.batch_rows));
  }

  WholeRows(const MergeContext& context, MergeColumns columns, const AgedSection& section, int64_t batch_rows)
      : columns_(std::move(columns)),
        windows_(OpenRuns(context, columns_, section, batch_rows), kWindowRows),
        picker_(context.request.policy, !section.numbers_needed, context.request.key_ordered),
        pool_(context.files.pool) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool more, windows_.Next(&window_));
      if (!more) return nullptr;
      picker_.Pick(window_, &picked_);
      if (picked_.empty()) continue;
      std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
      for (const WindowPart& part : window_.parts) batches.push_back(columns_.Project(*part.rows->batch));
      return GatherRows(batches, picked_, pool_);
    }
  }

 private:
  MergeColumns columns_;
  WindowReader windows_;
  WinnerPicker picker_;
  arrow::MemoryPool* pool_;
  Window window_;
  std::vector<RowRef> picked_;
};

// Whole rows for the engines whose row is not simply the newest one.
class EngineRows final : public SectionRows {
 public:
  static Result<std::unique_ptr<SectionRows>> Open(const MergeContext& context, const Section& section) {
    const MergeRequest& request = context.request;
    const TableSchema& schema = *context.files.schema;
    AgedSection aged = AgeFiles(section, context.has_sequence_fields());
    HEADRACE_ASSIGN_OR_RETURN(
        WindowMerge merge,
        WindowMerge::Make(schema, request.policy, request.values,
                          {.sequence_and_kind = request.sequence_and_kind, .by_age = !aged.numbers_needed},
                          context.files.pool));
    HEADRACE_ASSIGN_OR_RETURN(MergeColumns columns, merge.Columns(schema, aged.numbers_needed));
    return std::make_unique<EngineRows>(context, std::move(columns), std::move(merge), aged,
                                        BatchRowsThatFit(section, request.memory_bytes, request.batch_rows));
  }

  EngineRows(const MergeContext& context, MergeColumns columns, WindowMerge merge, const AgedSection& section,
             int64_t batch_rows)
      : directory_(context.files.directory),
        columns_(std::move(columns)),
        merge_(std::move(merge)),
        windows_(OpenRuns(context, columns_, section, batch_rows), kWindowRows) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool more, windows_.Next(&window_));
      if (!more) return nullptr;
      Result<std::shared_ptr<arrow::RecordBatch>> batch = merge_.Merge(window_, columns_);
      if (!batch.ok()) return WithContext("merging the rows of " + directory_, batch.status());
      if (*batch != nullptr) return batch;
    }
  }

 private:
  const std::string directory_;
  MergeColumns columns_;
  WindowMerge merge_;
  WindowReader windows_;
  Window window_;
};

// Keys and kinds first, then each file's columns for its winners.
class WinnersFirst final : public SectionRows {
 public:
  static Result<std::unique_ptr<SectionRows>> Open(const MergeContext& context, const Section& section) {
    auto rows = std::make_unique<WinnersFirst>(context);
    HEADRACE_RETURN_NOT_OK(rows->Mark(section));
    return rows;
  }

  explicit WinnersFirst(const MergeContext& context) : context_(context) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (reader_ == nullptr) {
        while (current_ < marked_.size() && marked_[current_].winners == 0) ++current_;
        if (current_ == marked_.size()) return nullptr;
        HEADRACE_ASSIGN_OR_RETURN(reader_, OpenValues(*marked_[current_].file));
        row_ = 0;
      }
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, reader_->Next());
      if (batch == nullptr) {
        reader_.reset();
        marked_[current_++].bits = {};
        continue;
      }
      PickMarked(marked_[current_], batch->num_rows());
      row_ += batch->num_rows();
      if (!picked_.empty()) return GatherRows({std::move(batch)}, picked_, context_.files.pool);
    }
  }

 private:
  struct Marked {
    TreeFilePtr file;
    std::vector<uint64_t> bits;  // a bit a row, set for winners
    int64_t winners = 0;

    void Set(int64_t row) {
      bits[static_cast<size_t>(row) / 64] |= uint64_t{1} << (row % 64);
      ++winners;
    }
    void GrowTo(int64_t rows) {
      const size_t words = static_cast<size_t>(rows + 63) / 64;
      if (bits.size() < words) bits.resize(words);
    }
  };

  Status Mark(const Section& section) {
    const AgedSection aged = AgeFiles(section, context_.has_sequence_fields());
    for (const std::vector<MergeFile>& run : aged.runs) {
      for (const MergeFile& file : run) marked_.push_back({file.file, {}, 0});
    }
    HEADRACE_ASSIGN_OR_RETURN(
        const MergeColumns columns,
        MergeColumns::Make(*context_.files.schema, context_.request.policy, {}, aged.numbers_needed, false));
    WindowReader windows(OpenRuns(context_, columns, aged, context_.request.batch_rows), kWindowRows);
    WinnerPicker picker(context_.request.policy, !aged.numbers_needed, /*key_ordered=*/false);
    Window window;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool more, windows.Next(&window));
      if (!more) return Status::OK();
      picker.Pick(window, &picked_);
      for (const WindowPart& part : window.parts) {
        marked_[part.rows->file->index].GrowTo(part.rows->first_row + part.rows->keys.size());
      }
      for (const RowRef ref : picked_) {
        const LoadedRows& rows = *window.parts[ref.batch].rows;
        marked_[rows.file->index].Set(rows.first_row + ref.row);
      }
    }
  }

  Result<std::unique_ptr<DataFileReader>> OpenValues(const TreeFile& file) const {
    const bool own = context_.request.sequence_and_kind;
    const ReadColumns columns{.keys = false, .sequence = own, .kind = own, .values = context_.request.values};
    return context_.files.Open(file.meta, columns, context_.request.batch_rows);
  }

  // The winners among the next `rows` rows of the file.
  void PickMarked(const Marked& marked, int64_t rows) {
    picked_.clear();
    const int64_t end = std::min(row_ + rows, static_cast<int64_t>(marked.bits.size()) * 64);
    for (int64_t row = row_; row < end;) {
      const uint64_t word = marked.bits[static_cast<size_t>(row) / 64] >> (row % 64);
      if (word == 0) {
        row += 64 - row % 64;
        continue;
      }
      row += std::countr_zero(word);
      if (row < end) picked_.push_back({0, static_cast<uint32_t>(row - row_)});
      ++row;
    }
  }

  const MergeContext& context_;
  std::vector<Marked> marked_;
  size_t current_ = 0;
  int64_t row_ = 0;  // of the current file, at the start of its next batch
  std::unique_ptr<DataFileReader> reader_;
  std::vector<RowRef> picked_;
};

class Merge final : public RowStream {
 public:
  Merge(const BucketFiles& files, MergeRequest request, MergePlan plan, std::shared_ptr<arrow::Schema> schema)
      : context_{files, std::move(request)}, plan_(plan), schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (section_ == nullptr) {
        if (next_ == context_.request.sections.size()) return nullptr;
        HEADRACE_ASSIGN_OR_RETURN(section_, Open(context_.request.sections[next_++]));
      }
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, section_->Next());
      if (batch != nullptr) return batch;
      section_.reset();
    }
  }

 private:
  Result<std::unique_ptr<SectionRows>> Open(const Section& section) const {
    if (section.size() == 1) return AloneRows::Open(context_, section[0]);
    if (!context_.request.policy.newest_wins()) return EngineRows::Open(context_, section);
    return plan_ == MergePlan::kWinnersFirst ? WinnersFirst::Open(context_, section)
                                             : WholeRows::Open(context_, section);
  }

  const MergeContext context_;
  const MergePlan plan_;
  const std::shared_ptr<arrow::Schema> schema_;
  size_t next_ = 0;
  std::unique_ptr<SectionRows> section_;
};

// Whether all that is wanted is read for the merge itself.
bool ReadForTheMerge(const TableSchema& schema, const MergeRequest& request) {
  std::vector<std::string> narrow = schema.TrimmedPrimaryKeys();
  const std::vector<std::string>& order = request.policy.sequence_columns;
  narrow.insert(narrow.end(), order.begin(), order.end());
  return std::all_of(request.values.begin(), request.values.end(), [&](const std::string& name) {
    return std::find(narrow.begin(), narrow.end(), name) != narrow.end();
  });
}

}  // namespace

MergePlan PlanMerge(const TableSchema& schema, const MergeRequest& request) {
  if (request.key_ordered || !request.policy.newest_wins() || ReadForTheMerge(schema, request))
    return MergePlan::kWholeRows;
  for (const Section& section : request.sections) {
    int64_t rows = 0;
    for (const RunFiles& run : section) {
      for (const TreeFilePtr& file : run) rows += file->meta.row_count;
    }
    if (rows / 8 > request.memory_bytes) return MergePlan::kWholeRows;
  }
  return MergePlan::kWinnersFirst;
}

Result<std::unique_ptr<RowStream>> OpenMerge(const BucketFiles& files, MergeRequest request) {
  // Of few rows it is not worth reading keys first.
  const MergePlan plan = files.only != nullptr ? MergePlan::kWholeRows : PlanMerge(*files.schema, request);
  return OpenMerge(files, std::move(request), plan);
}

Result<std::unique_ptr<RowStream>> OpenMerge(const BucketFiles& files, MergeRequest request, MergePlan plan) {
  if (plan == MergePlan::kWinnersFirst && request.key_ordered) {
    return Invalid("winners first gives rows file by file and cannot give them in key order");
  }
  if (plan == MergePlan::kWinnersFirst && !request.policy.newest_wins())
    return Invalid("winners first cannot merge rows of another engine than deduplicate");
  HEADRACE_ASSIGN_OR_RETURN(
      const MergeColumns columns,
      MergeColumns::Make(*files.schema, request.policy, request.values, false, request.sequence_and_kind));
  return std::make_unique<Merge>(files, std::move(request), plan, columns.output_schema);
}

}  // namespace headrace
