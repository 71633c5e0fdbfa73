#include "lsm/decide_rules.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>

#include "file/physical_columns.h"
#include "lsm/decide.h"

namespace headrace {
namespace {

constexpr RowRef kNoRow{0xFFFFFFFF, 0};
bool IsRow(RowRef ref) { return ref.batch != kNoRow.batch; }

int8_t KindOf(std::span<const int8_t* const> kinds, RowRef ref) { return kinds[ref.batch][ref.row]; }
bool IsDelete(int8_t kind) { return kind == static_cast<int8_t>(RowKind::kDelete); }

// The versions that take part, in *kept where some do not.
std::span<const RowRef> TakingPart(std::span<const RowRef> versions, std::span<const int8_t* const> kinds,
                                   const MergePolicy& policy, std::vector<RowRef>* kept) {
  if (!policy.ignore_delete) return versions;
  kept->clear();
  for (const RowRef version : versions) {
    if (TakesPart(KindOf(kinds, version), policy)) kept->push_back(version);
  }
  return *kept;
}

void BeginResult(uint32_t segment, RowRef newest, Decision* decision) {
  decision->segments.push_back(segment);
  decision->newest.push_back(newest);
  for (Steps& steps : decision->groups) steps.Begin();
}

// The version as it is stored is the whole result.
void TakeWhole(RowRef version, int8_t kind, Decision* decision) {
  for (Steps& steps : decision->groups) {
    steps.Restart();
    steps.Push(Step::kWhole, version);
  }
  decision->kinds.push_back(kind);
}

}  // namespace

void DecideAggregation(const Segments& segments, std::span<const int8_t* const> kinds,
                       const MergePolicy& policy, Decision* decision) {
  std::vector<RowRef> kept;
  Steps& steps = decision->groups[0];
  for (uint32_t i = 0; i < segments.count(); ++i) {
    const std::span<const RowRef> versions = TakingPart(segments[i], kinds, policy, &kept);
    if (versions.empty()) continue;
    BeginResult(i, versions.back(), decision);
    const int8_t last = KindOf(kinds, versions.back());
    if (versions.size() == 1 || (policy.rules.remove_on_delete && IsDelete(last))) {
      TakeWhole(versions.back(), last, decision);
      continue;
    }
    for (const RowRef version : versions) {
      const int8_t kind = KindOf(kinds, version);
      if (policy.rules.remove_on_delete && IsDelete(kind)) {
        steps.Restart();
        steps.Push(Step::kStart, version);
      } else {
        steps.Push(IsRetract(kind) ? Step::kRetract : Step::kAdd, version);
      }
    }
    decision->kinds.push_back(static_cast<int8_t>(RowKind::kInsert));
  }
}

bool PartialUpdateDecider::Ordering::IsSet(uint32_t row) const {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const auto& column) { return column->IsValid(row - first_row); });
}

PartialUpdateDecider::PartialUpdateDecider(MergePolicy policy, std::vector<Group> groups)
    : policy_(std::move(policy)), groups_(std::move(groups)), newest_(groups_.size(), kNoRow) {}

Status PartialUpdateDecider::Prepare(const Segments& segments, size_t batches,
                                     std::span<const std::vector<std::shared_ptr<arrow::Array>>> columns) {
  orderings_.assign(groups_.size(), std::vector<Ordering>(batches));
  if (groups_.empty()) return Status::OK();
  struct Range {
    uint32_t first = 0xFFFFFFFF;
    uint32_t last = 0;
  };
  std::vector<Range> ranges(batches);
  for (const RowRef ref : segments.rows) {
    Range& range = ranges[ref.batch];
    range = {std::min(range.first, ref.row), std::max(range.last, ref.row)};
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (size_t b = 0; b < batches; ++b) {
      if (ranges[b].first > ranges[b].last) continue;
      Ordering& ordering = orderings_[g][b];
      ordering.first_row = ranges[b].first;
      for (const size_t column : groups_[g].columns)
        ordering.columns.push_back(
            columns[column][b]->Slice(ranges[b].first, int64_t{ranges[b].last} - ranges[b].first + 1));
      HEADRACE_ASSIGN_OR_RETURN(ordering.keys, groups_[g].order.Encode(ordering.columns));
    }
  }
  return Status::OK();
}

Status PartialUpdateDecider::Decide(const Segments& segments, std::span<const int8_t* const> kinds,
                                    std::span<const std::vector<std::shared_ptr<arrow::Array>>> columns,
                                    Decision* decision, size_t* failed) {
  HEADRACE_RETURN_NOT_OK(Prepare(segments, kinds.size(), columns));
  std::vector<RowRef> kept;
  for (uint32_t i = 0; i < segments.count(); ++i) {
    const std::span<const RowRef> versions = TakingPart(segments[i], kinds, policy_, &kept);
    if (versions.empty()) continue;
    BeginResult(i, versions.back(), decision);
    if (versions.size() == 1) {
      TakeWhole(versions[0], KindOf(kinds, versions[0]), decision);
      continue;
    }
    const Status decided = DecideSegment(versions, kinds, decision);
    if (!decided.ok()) {
      *failed = i;
      return decided;
    }
  }
  return Status::OK();
}

Status PartialUpdateDecider::DecideSegment(std::span<const RowRef> versions,
                                           std::span<const int8_t* const> kinds, Decision* decision) {
  newest_.assign(groups_.size(), kNoRow);
  has_add_ = false;
  started_ = false;
  removed_ = false;
  for (const RowRef version : versions) {
    const int8_t kind = KindOf(kinds, version);
    if (IsRetract(kind)) {
      HEADRACE_RETURN_NOT_OK(Retract(version, IsDelete(kind), decision));
    } else {
      Add(version, decision);
    }
  }
  if (removed_) {
    TakeWhole(removed_by_, static_cast<int8_t>(RowKind::kDelete), decision);
  } else {
    // Without an add the kind stays: what a -U left as it was must not become a -D that removes the row.
    decision->kinds.push_back(has_add_ ? static_cast<int8_t>(RowKind::kInsert)
                                       : KindOf(kinds, versions.back()));
  }
  return Status::OK();
}

void PartialUpdateDecider::Add(RowRef version, Decision* decision) {
  has_add_ = true;
  started_ = true;
  removed_ = false;
  decision->groups[0].Push(Step::kAdd, version);
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (!IsSet(g, version)) continue;
    const bool late = IsLate(g, version);
    decision->groups[g + 1].Push(late ? Step::kLateAdd : Step::kAdd, version);
    if (!late) newest_[g] = version;
  }
}

// As Java: whatever comes after a removal brings the row back, once something was ever added.
Status PartialUpdateDecider::Retract(RowRef version, bool is_delete, Decision* decision) {
  removed_ = false;
  if (!policy_.rules.groups.empty()) {
    RetractInGroups(version, is_delete, decision);
    return Status::OK();
  }
  if (!policy_.rules.remove_on_delete) {
    return Invalid(
        "merge-engine partial-update takes no -U and -D, unless one of these options says what "
        "they mean: 'ignore-delete' = 'true' drops them, "
        "'partial-update.remove-record-on-delete' = 'true' lets -D remove the row, "
        "'fields.<column>.sequence-group' lets them take back the columns of the group");
  }
  if (!started_ || is_delete) StartFrom(version, decision);
  if (!is_delete) return Status::OK();
  removed_ = true;
  removed_by_ = version;
  return Status::OK();
}

void PartialUpdateDecider::RetractInGroups(RowRef version, bool is_delete, Decision* decision) {
  if (!started_) StartFrom(version, decision);
  for (size_t g = 0; is_delete && g < groups_.size(); ++g) {
    if (!groups_[g].removes_row || !IsSet(g, version) || IsLate(g, version)) continue;
    StartFrom(version, decision);
    removed_ = true;
    removed_by_ = version;
    return;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (!IsSet(g, version)) continue;
    const bool late = IsLate(g, version);
    decision->groups[g + 1].Push(late ? Step::kLateRetract : Step::kRetract, version);
    if (!late) newest_[g] = version;
  }
}

// Nothing of what came before is left; columns that must not be null have the version's value.
void PartialUpdateDecider::StartFrom(RowRef version, Decision* decision) {
  for (Steps& steps : decision->groups) {
    steps.Restart();
    steps.Push(Step::kStart, version);
  }
  for (size_t g = 0; g < groups_.size(); ++g) newest_[g] = groups_[g].nullable ? kNoRow : version;
  started_ = true;
}

bool PartialUpdateDecider::IsSet(size_t group, RowRef version) const {
  return orderings_[group][version.batch].IsSet(version.row);
}

bool PartialUpdateDecider::IsLate(size_t group, RowRef version) const {
  const RowRef newest = newest_[group];
  if (!IsRow(newest)) return false;
  const Ordering& a = orderings_[group][version.batch];
  const Ordering& b = orderings_[group][newest.batch];
  return a.keys.Compare(version.row - a.first_row, b.keys, newest.row - b.first_row) < 0;
}

}  // namespace headrace
