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

// Extends the first `count` runs by every following one that is not larger than all before it together.
size_t ExtendBySize(std::span<const SortedRun> runs, size_t count, const CompactionPolicy& policy) {
  int64_t candidate = SizeOf(runs.first(count));
  for (; count < runs.size(); ++count) {
    const int64_t next = runs[count].size_bytes();
    if (Wide{candidate} * (100 + policy.size_ratio_percent) / 100 < next) break;
    candidate += next;
  }
  return count;
}

// The plan for the first `count` runs; nothing when it would only move one file to where it is.
std::optional<CompactionPlan> PlanOf(const Levels& levels, size_t count) {
  const std::span<const SortedRun> runs = levels.runs();
  CompactionPlan plan;
  plan.max_level = levels.max_level();
  plan.output = count == runs.size() ? plan.max_level : Level(std::max(0, runs[count].level.value - 1));
  if (plan.output.value == 0) {
    // Nothing is written to level 0: take on until the first run of a deeper level is in.
    while (count < runs.size() && plan.output.value == 0) plan.output = runs[count++].level;
  }
  if (count == runs.size()) plan.output = plan.max_level;
  for (const SortedRun& run : runs.first(count))
    plan.files.insert(plan.files.end(), run.files.begin(), run.files.end());
  if (plan.files.empty() || (plan.files.size() == 1 && plan.files[0]->meta.level == plan.output))
    return std::nullopt;
  plan.drop_deletes = plan.output >= levels.highest_level();
  return plan;
}

}  // namespace

CompactionPolicy CompactionPolicyOf(const TableOptions& options) {
  return {.run_trigger = options.compaction_trigger,
          .max_size_amplification_percent = options.max_size_amplification_percent,
          .size_ratio_percent = options.size_ratio_percent};
}

std::optional<CompactionPlan> PickCompaction(const Levels& levels, const CompactionPolicy& policy) {
  const std::span<const SortedRun> runs = levels.runs();
  const auto trigger = static_cast<size_t>(std::max(policy.run_trigger, 1));
  if (runs.size() < trigger) return std::nullopt;
  if (IsAmplified(runs, policy)) return PlanOf(levels, runs.size());
  const size_t similar = ExtendBySize(runs, 1, policy);
  if (similar > 1) return PlanOf(levels, similar);
  if (runs.size() > trigger) return PlanOf(levels, ExtendBySize(runs, runs.size() - trigger + 1, policy));
  return std::nullopt;
}

std::optional<CompactionPlan> PickFullCompaction(const Levels& levels) {
  const std::span<const SortedRun> runs = levels.runs();
  if (runs.empty() || (runs.size() == 1 && runs[0].level == levels.max_level())) return std::nullopt;
  return PlanOf(levels, runs.size());
}

}  // namespace headrace
