#include "pipeline/waited_for.h"

#include <algorithm>
#include <utility>

namespace headrace::pipeline {

WaitedFor::WaitedFor(const std::vector<std::unique_ptr<Stage>>& stages, std::map<std::string, int64_t> until)
    : stages_(stages),
      until_(std::move(until)),
      concerned_(stages.size()),
      is_done_(stages.size()),
      made_(stages.size()) {
  const auto follows_concerned = [&](const Stage& stage) {
    for (const auto& [table, snapshot] : until_)
      if (stage.plan().Follows(table)) return true;
    for (size_t j = 0; j < stages_.size(); ++j)
      if (concerned_[j] && stage.plan().Follows(stages_[j]->plan().target)) return true;
    return false;
  };
  // As often as a chain of stages may be long.
  for (size_t round = 0; round < stages_.size(); ++round)
    for (size_t i = 0; i < stages_.size(); ++i) concerned_[i] = follows_concerned(*stages_[i]);
}

bool WaitedFor::HasTakenInAll(size_t i) const {
  const Stage& stage = *stages_[i];
  for (const auto& [table, snapshot] : until_)
    if (!stage.HasTakenIn(table, snapshot)) return false;
  for (size_t j = 0; j < stages_.size(); ++j) {
    const std::string& target = stages_[j]->plan().target;
    if (!concerned_[j] || !stage.plan().Follows(target)) continue;
    if (!is_done_[j] || !stage.HasTakenIn(target, made_[j])) return false;
  }
  return true;
}

Status WaitedFor::LookAt(size_t i) {
  if (!concerned_[i] || is_done_[i] || !HasTakenInAll(i)) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const StageState state, stages_[i]->State());
  made_[i] = state.target_seen.value_or(0);
  is_done_[i] = true;
  return Status::OK();
}

bool WaitedFor::is_done() const {
  if (until_.empty()) return false;
  for (size_t i = 0; i < stages_.size(); ++i)
    if (concerned_[i] && !is_done_[i]) return false;
  return true;
}

}  // namespace headrace::pipeline
