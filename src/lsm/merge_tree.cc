#include "lsm/merge_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "base/uuid.h"
#include "file/deletion_file.h"
#include "lsm/bucket_index.h"
#include "lsm/compaction.h"
#include "lsm/decide.h"
#include "lsm/flush.h"
#include "lsm/gather.h"
#include "lsm/row_kinds.h"

namespace headrace {
namespace {

bool WantsChangelog(const TableOptions& options) {
  return options.changelog_producer == ChangelogProducer::kInput;
}

// Null where the table does not put rows aside.
Result<std::unique_ptr<SpilledRows>> MakeSpilledRows(const BucketTreeSpec& spec) {
  const TableOptions& options = *spec.files.options;
  if (spec.scratch == nullptr || !options.write_buffer_spillable) return nullptr;
  SpilledRowsSpec spilled;
  spilled.spill = {spec.scratch, options.spill_codec, options.spill_zstd_level, spec.files.pool};
  spilled.memory_bytes = spec.files.memory_bytes;
  spilled.fan_in = options.spill_fan_in;
  spilled.every_version = WantsChangelog(options);
  return SpilledRows::Make(*spec.files.schema, MergePolicyOf(options, false), spilled);
}

}  // namespace

Result<std::unique_ptr<BucketTree>> MergeTree::Open(BucketTreeSpec spec,
                                                    const std::vector<DataFileMeta>& live) {
  const TableSchema& schema = *spec.files.schema;
  const TableOptions& options = *spec.files.options;
  HEADRACE_ASSIGN_OR_RETURN(KeyOrder key_order, KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  HEADRACE_ASSIGN_OR_RETURN(Levels levels, Levels::Make(key_order, live, options.num_levels));
  HEADRACE_ASSIGN_OR_RETURN(WriteBuffer buffer,
                            WriteBuffer::Make(schema, MergePolicyOf(options, false), spec.files.pool));
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<SpilledRows> spilled, MakeSpilledRows(spec));
  return std::unique_ptr<BucketTree>(new MergeTree(std::move(spec), std::move(key_order), std::move(levels),
                                                   std::move(buffer), std::move(spilled)));
}

MergeTree::MergeTree(BucketTreeSpec spec, KeyOrder key_order, Levels levels, WriteBuffer buffer,
                     std::unique_ptr<SpilledRows> spilled)
    : spec_(std::move(spec)),
      key_order_(std::move(key_order)),
      names_(spec_.uuid, *spec_.files.options),
      levels_(std::move(levels)),
      buffer_(std::move(buffer)),
      spilled_(std::move(spilled)),
      next_sequence_(levels_.max_sequence() + 1),
      last_full_ms_(LastFullCompaction(levels_)) {}

Status MergeTree::Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                         const std::shared_ptr<arrow::Array>& kinds) {
  std::shared_ptr<arrow::RecordBatch> kept = rows;
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> bytes,
                            KindsOrInserts(kinds, rows->num_rows(), spec_.files.pool));
  if (spec_.files.options->ignore_delete) {
    HEADRACE_RETURN_NOT_OK(LeaveOutRetractions(&kept, &bytes, spec_.files.pool));
  }
  const int64_t count = kept->num_rows();
  HEADRACE_RETURN_NOT_OK(buffer_.Append(std::move(kept), std::move(bytes), next_sequence_));
  next_sequence_ += count;
  return Status::OK();
}

bool MergeTree::with_changelog() const { return WantsChangelog(*spec_.files.options); }

Result<bool> MergeTree::Spill() {
  if (spilled_ == nullptr || spilled_->disk_bytes() >= spec_.files.options->spill_disk_bytes) return false;
  HEADRACE_RETURN_NOT_OK(spilled_->Add(buffer_));
  buffer_.Clear();
  return true;
}

void MergeTree::ForgetRows() {
  buffer_.Clear();
  if (spilled_ != nullptr) spilled_->Clear();
}

Status MergeTree::Flush() {
  if (buffered_rows() == 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(FileIncrement flushed,
                            spilled_rows() > 0
                                ? spilled_->Flush(buffer_, spec_.files, &names_)
                                : FlushToLevelZero(buffer_, spec_.files, &names_, with_changelog()));
  const Status taken = EditLevels(flushed);
  if (!taken.ok()) {
    (void)DeleteMade(flushed, spec_.files);
    return taken;
  }
  changes_.AddFlushed(std::move(flushed));
  ForgetRows();
  return Status::OK();
}

Status MergeTree::EditLevels(const FileIncrement& increment) {
  std::vector<TreeFilePtr> added;
  for (const DataFileMeta& meta : increment.added) {
    HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(key_order_, meta));
    added.push_back(std::move(file));
  }
  HEADRACE_ASSIGN_OR_RETURN(levels_, levels_.Edit(increment.removed, std::move(added)));
  return Status::OK();
}

bool MergeTree::ShouldWaitForCompaction() const {
  const TableOptions& options = *spec_.files.options;
  return !options.write_only && levels_.runs().size() > static_cast<size_t>(options.stop_trigger);
}

bool MergeTree::HasFilesForLookup() const {
  const TableOptions& options = *spec_.files.options;
  return options.needs_lookup() && !options.write_only && levels_.level0_count() > 0;
}

std::optional<CompactionPlan> MergeTree::PickCompaction(bool full) {
  const TableOptions& options = *spec_.files.options;
  if (compacting_ || (options.write_only && !full)) return std::nullopt;
  full |= !MarksAreWhole();
  std::optional<CompactionPlan> plan =
      full ? PickFullCompaction(levels_, spec_.files.deletions.get(), options.force_rewrite_all_files)
           : PickByShape();
  compacting_ = plan.has_value();
  return plan;
}

// Since vectors were switched on a compaction marks what it replaces in the lowest level that has it. Files from before the switch may hold a key
// on several levels, and what lies deeper would come to light: they are brought together first.
bool MergeTree::MarksAreWhole() const {
  if (!spec_.files.options->deletion_vectors) return true;
  const TableSchema& schema = *spec_.files.schema;
  SchemaId oldest = schema.id;
  for (const TreeFilePtr& file : levels_.files()) oldest = std::min(oldest, file->meta.schema_id);
  if (oldest == schema.id) return true;
  const auto without = LastSchemaWithoutDeletionVectors(schema, spec_.files.schema_by_id, oldest);
  std::set<Level> levels;
  for (const TreeFilePtr& file : levels_.files()) {
    const bool before = !without.ok() || file->meta.schema_id <= *without;
    if (before && file->meta.level > Level(0)) levels.insert(file->meta.level);
  }
  return levels.size() < 2;
}

std::optional<CompactionPlan> MergeTree::PickByShape() {
  constexpr int64_t kHourMs = 3600 * 1000;
  const TableOptions& options = *spec_.files.options;
  const int64_t now_ms = spec_.files.clock->LocalNowMs();
  const CompactionPolicy policy = CompactionPolicyOf(options, static_cast<int>(now_ms / kHourMs % 24));
  std::optional<CompactionPlan> plan = headrace::PickCompaction(levels_, policy, {now_ms, last_full_ms_});
  if (!plan.has_value() && IsLevelZeroDue()) plan = PickLevelZero(levels_, policy);
  if (plan.has_value() && plan->everything) last_full_ms_ = now_ms;
  return plan;
}

bool MergeTree::IsLevelZeroDue() {
  const TableOptions& options = *spec_.files.options;
  if (!options.takes_level_zero()) return false;
  if (!options.needs_lookup() || options.lookup_compact == LookupCompact::kRadical) return true;
  if (++picks_without_level_zero_ < options.lookup_compact_max_interval) return false;
  picks_without_level_zero_ = 0;
  return true;
}

Result<CompactionResult> MergeTree::RunCompaction(const CompactionPlan& plan) const {
  // Names of its own: the tree's counter belongs to the thread that flushes.
  FileNames names(NewUuid(), *spec_.files.options);
  CompactionTask task{plan, spec_.files, MergePolicyOf(*spec_.files.options, plan.drop_deletes),
                      spec_.lookup_cache, /*tells_changes=*/!spec_.overwrites};
  HEADRACE_ASSIGN_OR_RETURN(Compacted compacted, Compact(task, &names));
  CompactionResult result{std::move(compacted.increment), std::move(compacted.deletions)};
  if (result.deletions == nullptr) return result;
  const Status listed = ReplaceDeletions(spec_.files, spec_.index, *result.deletions, &result.increment);
  if (listed.ok()) return result;
  (void)DeleteMade(result.increment, spec_.files);
  return listed;
}

Status MergeTree::ApplyCompaction(const CompactionResult& result) {
  HEADRACE_RETURN_NOT_OK(EditLevels(result.increment));
  if (result.deletions != nullptr) {
    spec_.files.deletions = result.deletions;
    spec_.index = IndexAfter(std::move(spec_.index), result.increment);
  }
  compacting_ = false;
  return changes_.AddCompacted(result.increment, spec_.files);
}

Status MergeTree::DropCompaction(const CompactionResult* result) {
  compacting_ = false;
  return result == nullptr ? Status::OK() : DeleteMade(result->increment, spec_.files);
}

Status MergeTree::Discard() {
  ForgetRows();
  return changes_.Discard(spec_.files);
}

std::vector<DataFileMeta> MergeTree::LiveFiles() const {
  std::vector<DataFileMeta> live;
  for (const TreeFilePtr& file : levels_.files()) live.push_back(file->meta);
  return live;
}

}  // namespace headrace
