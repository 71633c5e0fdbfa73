#include "lsm/compaction_picker.h"

#include <algorithm>
#include <span>

namespace headrace {
namespace {

int64_t SizeOf(std::span<const SortedRun> runs) {
  int64_t bytes = 0;
  for (const SortedRun& run : runs) bytes += run.size_bytes();
  return bytes;
}

// Products of sizes and percentages may pass 64 bits.
using Wide = __int128;

bool IsAmplified(std::span<const SortedRun> runs, const CompactionPolicy& policy) {
  const int64_t newer = SizeOf(runs.first(runs.size() - 1));
  return Wide{newer} * 100 > Wide{policy.max_size_amplification_percent} * runs.back().size_bytes();
}

// Extends the first `count` runs by every following one that is not larger than all before it together; once something is to be
// compacted (`triggered`), also by a larger run of level 0 or 1, which the output would meet anyway.
size_t ExtendBySize(std::span<const SortedRun> runs, size_t count, bool triggered,
                    const CompactionPolicy& policy) {
  int64_t candidate = SizeOf(runs.first(count));
  for (; count < runs.size(); ++count) {
    const int64_t next = runs[count].size_bytes();
    const bool larger = Wide{candidate} * (100 + policy.size_ratio_percent) < Wide{next} * 100;
    if (larger && (!triggered || runs[count].level.value > 1)) break;
    candidate += next;
    triggered = true;
  }
  return count;
}

// The plan for the first `count` runs; nothing when it would only move one file to where it is.
std::optional<CompactionPlan> PlanOf(const Levels& levels, size_t count, const CompactionPolicy& policy) {
  const std::span<const SortedRun> runs = levels.runs();
  CompactionPlan plan;
  plan.tree = levels;
  plan.max_level = levels.max_level();
  plan.output = count == runs.size() ? plan.max_level : Level(std::max(0, runs[count].level.value - 1));
  if (plan.output.value == 0) {
    // Nothing is written to level 0: take on until the first run of a deeper level is in.
    while (count < runs.size() && plan.output.value == 0) plan.output = runs[count++].level;
  }
  plan.everything = count == runs.size();
  if (plan.everything) plan.output = plan.max_level;
  for (const SortedRun& run : runs.first(count))
    plan.files.insert(plan.files.end(), run.files.begin(), run.files.end());
  if (plan.files.empty() || (plan.files.size() == 1 && plan.files[0]->meta.level == plan.output))
    return std::nullopt;
  plan.drop_deletes = plan.output >= levels.highest_level() || policy.always_drop_deletes;
  return plan;
}

bool IsFullOneDue(const Levels& levels, const CompactionPolicy& policy, const CompactionTime& time) {
  const std::span<const SortedRun> runs = levels.runs();
  if (runs.size() < 2) return false;
  if (policy.full_interval_ms.has_value() &&
      (!time.last_full_ms.has_value() || time.now_ms - *time.last_full_ms > *policy.full_interval_ms))
    return true;
  const int64_t total = SizeOf(runs);
  if (policy.small_bucket_bytes.has_value() && total < *policy.small_bucket_bytes) return true;
  const int64_t top = runs.back().level == levels.max_level() ? runs.back().size_bytes() : 0;
  return policy.most_incremental_bytes.has_value() && total - top > *policy.most_incremental_bytes;
}

bool IsOffPeak(const TableOptions& options, int hour) {
  const int start = options.offpeak_start_hour;
  const int end = options.offpeak_end_hour;
  if (start == -1 || end == -1 || start == end) return false;
  return start < end ? start <= hour && hour < end : hour < end || start <= hour;
}

}  // namespace

CompactionPolicy CompactionPolicyOf(const TableOptions& options, int hour) {
  const int32_t extra = IsOffPeak(options, hour) ? options.offpeak_ratio_percent : 0;
  return {.run_trigger = options.compaction_trigger,
          .max_size_amplification_percent = options.max_size_amplification_percent,
          .size_ratio_percent =
              static_cast<int32_t>(std::min<int64_t>(INT32_MAX, int64_t{options.size_ratio_percent} + extra)),
          .full_interval_ms = options.full_compaction_interval_ms,
          .small_bucket_bytes = options.small_bucket_bytes,
          .most_incremental_bytes = options.most_incremental_bytes,
          .always_drop_deletes = options.deletion_vectors};
}

std::optional<int64_t> LastFullCompaction(const Levels& levels) {
  std::optional<int64_t> newest;
  for (const TreeFilePtr& file : levels.files()) {
    if (file->meta.level != levels.max_level() || !file->meta.creation_local_ms.has_value()) continue;
    newest = std::max(newest.value_or(INT64_MIN), *file->meta.creation_local_ms);
  }
  return newest;
}

std::optional<CompactionPlan> PickCompaction(const Levels& levels, const CompactionPolicy& policy,
                                             const CompactionTime& time) {
  const std::span<const SortedRun> runs = levels.runs();
  if (IsFullOneDue(levels, policy, time)) return PlanOf(levels, runs.size(), policy);
  const auto trigger = static_cast<size_t>(std::max(policy.run_trigger, 1));
  if (runs.size() < trigger) return std::nullopt;
  if (IsAmplified(runs, policy)) return PlanOf(levels, runs.size(), policy);
  const size_t similar = ExtendBySize(runs, 1, /*triggered=*/false, policy);
  if (similar > 1) return PlanOf(levels, similar, policy);
  if (runs.size() == trigger) return std::nullopt;
  const size_t over = runs.size() - trigger + 1;
  return PlanOf(levels, ExtendBySize(runs, over, /*triggered=*/over > 1, policy), policy);
}

std::optional<CompactionPlan> PickLevelZero(const Levels& levels, const CompactionPolicy& policy) {
  const size_t newest = levels.level0_count();
  if (newest == 0) return std::nullopt;
  return PlanOf(levels, ExtendBySize(levels.runs(), newest, /*triggered=*/true, policy), policy);
}

std::optional<CompactionPlan> PickFullCompaction(const Levels& levels, const DeletionVectors* deletions,
                                                 bool rewrite_all) {
  const std::span<const SortedRun> runs = levels.runs();
  if (runs.empty()) return std::nullopt;
  if (runs.size() > 1 || runs[0].level != levels.max_level()) return PlanOf(levels, runs.size(), {});
  CompactionPlan plan;
  plan.tree = levels;
  plan.output = plan.max_level = levels.max_level();
  plan.drop_deletes = true;
  plan.one_by_one = true;
  for (const TreeFilePtr& file : runs[0].files) {
    if (rewrite_all || (deletions != nullptr && deletions->contains(file->meta.name)))
      plan.files.push_back(file);
  }
  if (plan.files.empty()) return std::nullopt;
  return plan;
}

}  // namespace headrace
