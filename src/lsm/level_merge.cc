// One window after the other: order, before images, after images, gather.
#include "lsm/level_merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lsm/decide.h"
#include "lsm/gather.h"
#include "lsm/order.h"
#include "lsm/picked_equality.h"
#include "lsm/segment_merger.h"
#include "lsm/versions.h"
#include "lsm/window.h"

namespace headrace {
namespace {

constexpr int64_t kMostBatchRows = 32768;
constexpr int kNumber = 0;  // columns of the batches below
constexpr int kKind = 1;
constexpr int kFirstValue = 2;

// The batches that RowRefs of a window point into: its parts, what lookups found, what was merged. One shape.
class Sources {
 public:
  void Clear() {
    batches_.clear();
    numbers_.clear();
    kinds_.clear();
  }
  // Its number.
  uint32_t Add(std::shared_ptr<arrow::RecordBatch> batch) {
    numbers_.push_back(static_cast<const arrow::Int64Array&>(*batch->column(kNumber)).raw_values());
    kinds_.push_back(static_cast<const arrow::Int8Array&>(*batch->column(kKind)).raw_values());
    batches_.push_back(std::move(batch));
    return static_cast<uint32_t>(batches_.size() - 1);
  }

  const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches() const { return batches_; }
  const int64_t* numbers(size_t batch) const { return numbers_[batch]; }
  const int8_t* kinds(size_t batch) const { return kinds_[batch]; }
  int64_t number(RowRef ref) const { return numbers_[ref.batch][ref.row]; }
  int8_t kind(RowRef ref) const { return kinds_[ref.batch][ref.row]; }
  std::vector<std::shared_ptr<arrow::Array>> Column(int column) const {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const auto& batch : batches_) arrays.push_back(batch->column(column));
    return arrays;
  }

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  std::vector<const int64_t*> numbers_;
  std::vector<const int8_t*> kinds_;
};

// One key of a window. A segment of `kept` has the versions that take part.
struct KeyState {
  std::optional<RowRef> before;
  std::optional<RowRef> after;
  bool has_new = false;      // a version of level 0
  bool known_below = false;  // a lookup found it
};

// What the changelog is told of a key.
enum class Change : uint8_t { kInsert, kDelete, kUpdate };

std::shared_ptr<arrow::Array> Int8s(std::vector<int8_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return std::make_shared<arrow::Int8Array>(size, arrow::Buffer::FromVector(std::move(values)));
}

std::shared_ptr<arrow::Array> Int64s(std::vector<int64_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return std::make_shared<arrow::Int64Array>(size, arrow::Buffer::FromVector(std::move(values)));
}

class LevelWalk final : public LevelMerge {
 public:
  LevelWalk(const BucketFiles& files, LevelMergeSpec spec, std::unique_ptr<SegmentMerger> merger)
      : files_(files),
        spec_(std::move(spec)),
        merger_(std::move(merger)),
        first_row_(spec_.policy.engine == MergeEngine::kFirstRow) {}

  Result<bool> Next(LevelMerged* merged) override {
    while (true) {
      if (windows_ == nullptr) {
        if (next_section_ == spec_.sections.size()) return false;
        HEADRACE_RETURN_NOT_OK(OpenSection(spec_.sections[next_section_++]));
      }
      HEADRACE_ASSIGN_OR_RETURN(const bool more, windows_->Next(&window_));
      if (!more) {
        windows_.reset();
        continue;
      }
      *merged = {};
      HEADRACE_RETURN_NOT_OK(MergeWindow(merged));
      if (merged->rows != nullptr || merged->changes != nullptr || !merged->replaced.empty()) return true;
    }
  }

 private:
  Status OpenSection(const Section& section) {
    const AgedSection aged = AgeFiles(section, !spec_.policy.sequence_columns.empty());
    by_age_ = !aged.numbers_needed;
    HEADRACE_ASSIGN_OR_RETURN(
        columns_, MergeColumns::Make(*files_.schema, spec_.policy, files_.schema->ColumnNames(), true, true));
    std::vector<RunReader> runs;
    const int64_t batch_rows = BatchRowsThatFit(section, spec_.memory_bytes, kMostBatchRows);
    for (const std::vector<MergeFile>& run : aged.runs)
      runs.emplace_back(&files_, &columns_, run, batch_rows);
    windows_ = std::make_unique<WindowReader>(std::move(runs), kWindowRows);
    return Status::OK();
  }

  Status MergeWindow(LevelMerged* merged) {
    sources_.Clear();
    for (const WindowPart& part : window_.parts) sources_.Add(columns_.Project(*part.rows->batch));
    OrderRows(window_, by_age_, &ordered_);
    KeepLevels();
    if (spec_.below != nullptr) HEADRACE_RETURN_NOT_OK(LookBelow(merged));
    HEADRACE_RETURN_NOT_OK(MakeAfterImages());
    if (spec_.keeps_rows) HEADRACE_RETURN_NOT_OK(GatherKept(merged));
    return spec_.tells_changes ? GatherChanges(merged) : Status::OK();
  }

  // The versions that take part, and those that are before images already.
  void KeepLevels() {
    kept_.clear();
    keys_.assign(ordered_.count(), {});
    const bool lowest_alone = files_.options->needs_lookup() && !first_row_;
    for (size_t i = 0; i < ordered_.count(); ++i) {
      KeyState& key = keys_[i];
      int32_t lowest = INT32_MAX;  // of the levels ≥ 1
      for (const RowRef ref : ordered_[i]) {
        const int32_t level = LevelOf(ref);
        if (level == 0) {
          key.has_new = true;
          continue;
        }
        const bool is_before =
            spec_.before == BeforeImages::kTopLevel ? level == spec_.top.value : level < lowest;
        if (is_before) key.before = ref;
        lowest = std::min(lowest, level);
      }
      kept_.starts.push_back(static_cast<uint32_t>(kept_.rows.size()));
      for (const RowRef ref : ordered_[i]) {
        const int32_t level = LevelOf(ref);
        if (!lowest_alone || level == 0 || level == lowest) kept_.rows.push_back(ref);
      }
    }
  }

  int32_t LevelOf(RowRef ref) const { return window_.parts[ref.batch].rows->file->file->meta.level.value; }

  // Asks for the keys of which nothing above level 0 is at hand.
  Status LookBelow(LevelMerged* merged) {
    std::vector<RowRef> asked;
    std::vector<size_t> segments;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].before.has_value()) continue;
      asked.push_back(kept_[i][0]);
      segments.push_back(i);
    }
    if (asked.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const KeyColumn keys, KeysOf(asked));
    HEADRACE_ASSIGN_OR_RETURN(LookupRows found, spec_.below->Find(keys, Level(spec_.output.value + 1)));
    if (found.rows == nullptr || found.rows->num_rows() == 0) return Status::OK();
    std::vector<int32_t> row_of_segment(keys_.size(), -1);
    for (size_t i = 0; i < segments.size(); ++i) {
      row_of_segment[segments[i]] = found.row_of_key[i];
      keys_[segments[i]].known_below = found.row_of_key[i] >= 0;
    }
    merged->replaced = std::move(found.places);
    if (first_row_ || spec_.places_only) return Status::OK();
    return Insert(*found.rows, row_of_segment);
  }

  Result<KeyColumn> KeysOf(const std::vector<RowRef>& refs) const {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const int position : columns_.keys) {
      std::vector<std::shared_ptr<arrow::Array>> parts;
      for (const WindowPart& part : window_.parts) parts.push_back(part.rows->batch->column(position));
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column, GatherColumn(parts, refs, files_.pool));
      columns.push_back(std::move(column));
    }
    return columns_.key_order.Encode(columns);
  }

  // What was found joins its segment, where its order puts it: with sequence fields that need not be the first place.
  Status Insert(const arrow::RecordBatch& found, const std::vector<int32_t>& row_of_segment) {
    const uint32_t batch =
        sources_.Add(arrow::RecordBatch::Make(columns_.output_schema, found.num_rows(), found.columns()));
    KeyColumn order;
    if (!spec_.policy.sequence_columns.empty()) {
      std::vector<std::shared_ptr<arrow::Array>> columns;
      for (const std::string& name : spec_.policy.sequence_columns)
        columns.push_back(found.column(kFirstValue + files_.schema->FieldIndex(name)));
      HEADRACE_ASSIGN_OR_RETURN(order, columns_.sequence_order.Encode(columns));
    }
    Segments joined;
    joined.rows.reserve(kept_.rows.size() + static_cast<size_t>(found.num_rows()));
    joined.starts.reserve(kept_.starts.size());
    for (size_t i = 0; i < keys_.size(); ++i) {
      joined.starts.push_back(static_cast<uint32_t>(joined.rows.size()));
      const std::span<const RowRef> versions = kept_[i];
      joined.rows.insert(joined.rows.end(), versions.begin(), versions.end());
      if (row_of_segment[i] < 0) continue;
      const RowRef ref{batch, static_cast<uint32_t>(row_of_segment[i])};
      const auto newer = [&](RowRef version) { return IsNewer(version, ref, order); };
      const auto begin = joined.rows.end() - static_cast<std::ptrdiff_t>(versions.size());
      joined.rows.insert(std::find_if(begin, joined.rows.end(), newer), ref);
      keys_[i].before = ref;
    }
    kept_ = std::move(joined);
    return Status::OK();
  }

  // Whether a row of the window is newer than one that lies deeper; of equal ones it is.
  bool IsNewer(RowRef version, RowRef deeper, const KeyColumn& order_of_deeper) const {
    if (order_of_deeper.size() > 0) {
      const int order =
          window_.parts[version.batch].rows->order.Compare(version.row, order_of_deeper, deeper.row);
      if (order != 0) return order > 0;
    }
    const int64_t number = sources_.number(version);
    const int64_t deeper_number = sources_.number(deeper);
    if (number != deeper_number) return number > deeper_number;
    return !IsRetract(sources_.kind(version)) || IsRetract(sources_.kind(deeper));
  }

  Status MakeAfterImages() {
    if (merger_ != nullptr) return MergeAfterImages();
    for (size_t i = 0; i < keys_.size(); ++i) {
      const std::span<const RowRef> versions = kept_[i];
      for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
        if (!TakesPart(sources_.kind(*version), spec_.policy)) continue;
        keys_[i].after = *version;
        break;
      }
    }
    return Status::OK();
  }

  Status MergeAfterImages() {
    std::vector<MergeSource> sources;
    for (size_t b = 0; b < sources_.batches().size(); ++b) {
      MergeSource& source = sources.emplace_back();
      source.numbers = sources_.numbers(b);
      source.kinds = sources_.kinds(b);
      for (const std::string& name : merger_->reads())
        source.columns.push_back(
            sources_.batches()[b]->column(kFirstValue + files_.schema->FieldIndex(name)));
    }
    Result<MergedRows> result = merger_->Merge(kept_, sources);
    if (!result.ok()) return WithContext("merging the rows of " + files_.directory, result.status());
    MergedRows rows = *std::move(result);
    const int64_t count = rows.size();
    const std::vector<uint32_t> segments = std::move(rows.segments);
    std::vector<std::shared_ptr<arrow::Array>> columns = std::move(rows.values);
    columns.insert(columns.begin(), {Int64s(std::move(rows.numbers)), Int8s(std::move(rows.kinds))});
    const uint32_t batch =
        sources_.Add(arrow::RecordBatch::Make(columns_.output_schema, count, std::move(columns)));
    for (uint32_t row = 0; row < segments.size(); ++row) keys_[segments[row]].after = RowRef{batch, row};
    return Status::OK();
  }

  // Of first-row, a key that is there already below the output is new to nobody.
  bool IsForgotten(const KeyState& key) const { return first_row_ && key.known_below; }
  bool Adds(const std::optional<RowRef>& row) const {
    return row.has_value() && !IsRetract(sources_.kind(*row));
  }

  Status GatherKept(LevelMerged* merged) {
    picked_.clear();
    for (const KeyState& key : keys_) {
      if (!key.after.has_value() || IsForgotten(key)) continue;
      if (Survives(sources_.kind(*key.after), spec_.policy)) picked_.push_back(*key.after);
    }
    if (picked_.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(merged->rows, GatherRows(sources_.batches(), picked_, files_.pool));
    return Status::OK();
  }

  std::optional<Change> ChangeOf(size_t i) const {
    const KeyState& key = keys_[i];
    if (spec_.before == BeforeImages::kTopLevel) {
      if (key.before.has_value() && ordered_[i].size() == 1) return std::nullopt;
    } else if (!key.has_new) {
      return std::nullopt;
    }
    if (first_row_) {
      const bool is_new = !key.before.has_value() && !key.known_below && Adds(key.after);
      return is_new ? std::optional(Change::kInsert) : std::nullopt;
    }
    if (!Adds(key.before)) return Adds(key.after) ? std::optional(Change::kInsert) : std::nullopt;
    return Adds(key.after) ? Change::kUpdate : Change::kDelete;
  }

  Status GatherChanges(LevelMerged* merged) {
    std::vector<std::pair<size_t, Change>> changes;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (const std::optional<Change> change = ChangeOf(i); change.has_value())
        changes.emplace_back(i, *change);
    }
    if (files_.options->row_deduplicate) LeaveOutEqual(&changes);
    if (changes.empty()) return Status::OK();
    picked_.clear();
    std::vector<int8_t> kinds;
    const auto tell = [&](RowRef row, RowKind kind) {
      picked_.push_back(row);
      kinds.push_back(static_cast<int8_t>(kind));
    };
    for (const auto& [i, change] : changes) {
      const KeyState& key = keys_[i];
      switch (change) {
        // The first row is told as it came, as in Java.
        case Change::kInsert:
          tell(*key.after, first_row_ ? static_cast<RowKind>(sources_.kind(*key.after)) : RowKind::kInsert);
          break;
        case Change::kDelete: tell(*key.before, RowKind::kDelete); break;
        case Change::kUpdate:
          tell(*key.before, RowKind::kUpdateBefore);
          tell(*key.after, RowKind::kUpdateAfter);
          break;
      }
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> rows,
                              GatherRows(sources_.batches(), picked_, files_.pool));
    HEADRACE_ASSIGN_OR_RETURN(merged->changes,
                              rows->SetColumn(kKind, rows->schema()->field(kKind), Int8s(std::move(kinds))));
    return Status::OK();
  }

  // row-deduplicate: an update that changes no column that counts is none.
  void LeaveOutEqual(std::vector<std::pair<size_t, Change>>* changes) const {
    std::vector<RowRef> before;
    std::vector<RowRef> after;
    for (const auto& [i, change] : *changes) {
      if (change != Change::kUpdate) continue;
      before.push_back(*keys_[i].before);
      after.push_back(*keys_[i].after);
    }
    if (before.empty()) return;
    std::vector<char> equal(before.size(), 1);
    const std::vector<std::string>& ignored = files_.options->row_deduplicate_ignored;
    for (size_t field = 0; field < files_.schema->fields.size(); ++field) {
      if (std::find(ignored.begin(), ignored.end(), files_.schema->fields[field].name) != ignored.end())
        continue;
      KeepEqual(sources_.Column(kFirstValue + static_cast<int>(field)), before, after, &equal);
    }
    size_t update = 0;
    std::erase_if(*changes, [&](const auto& change) {
      return change.second == Change::kUpdate && equal[update++] != 0;
    });
  }

  const BucketFiles files_;
  const LevelMergeSpec spec_;
  const std::unique_ptr<SegmentMerger> merger_;  // null: deduplicate, which picks whole rows
  const bool first_row_;
  size_t next_section_ = 0;
  MergeColumns columns_;
  bool by_age_ = false;
  std::unique_ptr<WindowReader> windows_;
  // Of the window at work.
  Window window_;
  Sources sources_;
  Segments ordered_;
  Segments kept_;
  std::vector<KeyState> keys_;  // one a segment
  std::vector<RowRef> picked_;
};

}  // namespace

Result<std::unique_ptr<LevelMerge>> LevelMerge::Open(const BucketFiles& files, LevelMergeSpec spec) {
  std::unique_ptr<SegmentMerger> merger;
  if (spec.policy.engine != MergeEngine::kDeduplicate) {
    HEADRACE_ASSIGN_OR_RETURN(
        merger, SegmentMerger::Make(*files.schema, spec.policy, files.schema->ColumnNames(), files.pool));
  }
  return std::make_unique<LevelWalk>(files, std::move(spec), std::move(merger));
}

}  // namespace headrace
