#include "commit/expiry_choice.h"

#include <algorithm>

namespace headrace {
namespace {

// The consumers of ingest jobs (ingest/position.h).
constexpr std::string_view kJobConsumers = "headrace-";

struct Limits {
  int64_t min, max;  // so many of the newest stay; more than that do not
  int64_t time_ms;
};

// Longer than any clock has run, and far from what 64 bits hold.
constexpr int64_t kForEverMs = INT64_MAX / 4;

Limits SnapshotLimits(const Retention& retention) {
  return {retention.snapshot_min, retention.snapshot_max, std::min(retention.snapshot_ms, kForEverMs)};
}

Limits ChangelogLimits(const Retention& retention) {
  return {retention.changelog_min.value_or(retention.snapshot_min),
          retention.changelog_max.value_or(retention.snapshot_max),
          std::min(retention.changelog_ms.value_or(retention.snapshot_ms), kForEverMs)};
}

// Lets an end that is later than `at` be `at`, and remembers who did that.
struct Bound {
  int64_t end;
  Hold by;
  void Lower(int64_t at, Hold hold) {
    if (at >= end) return;
    end = at;
    by = std::move(hold);
  }
};

int64_t SaturatingAdd(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

Hold ConsumerHold(const Consumer& consumer) { return {HoldReason::kConsumer, consumer.next, consumer.id}; }

// The first id from `begin` on that is too young to end, at most `end`. The age of `id` is that of `id + step`.
Result<int64_t> FirstYoung(const ExpiryFacts& facts, int64_t begin, int64_t end, int64_t step,
                           int64_t older_than_ms, const TimeOf& time_of) {
  for (int64_t id = begin; id < end;) {
    HEADRACE_ASSIGN_OR_RETURN(const auto time, time_of(SnapshotId(id + step)));
    if (time.has_value() && older_than_ms <= *time) return id;
    ++id;
    if (time.has_value() || facts.next_there == nullptr) continue;
    HEADRACE_ASSIGN_OR_RETURN(const SnapshotId next, facts.next_there(SnapshotId(id - 1 + step)));
    id = std::max(id, next.value - step);
  }
  return end;
}

Status CheckLimits(const Limits& limits, const char* what) {
  if (limits.max >= limits.min) return Status::OK();
  return Invalid("expiring ", what, "s: at least ", limits.min, " are to be retained (", what,
                 ".num-retained.min), which is more than the ", limits.max, " retained at most (", what,
                 ".num-retained.max)");
}

Result<IdRange> PickSnapshots(const ExpiryFacts& facts, const Retention& retention, const TimeOf& time_of,
                              std::vector<Hold>* holds) {
  const Limits limits = SnapshotLimits(retention);
  HEADRACE_RETURN_NOT_OK(CheckLimits(limits, "snapshot"));
  const int64_t earliest = facts.earliest.value;
  const int64_t latest = facts.latest.value;
  const int64_t too_many_before = std::max(latest - limits.max + 1, earliest);

  Bound bound{latest - limits.min + 1, {HoldReason::kNewest, SnapshotId(latest - limits.min + 1), ""}};
  const bool consumers_count = !(retention.consumers_hold_changelogs_only && retention.changelogs_outlive());
  if (consumers_count)
    for (const Consumer& consumer : facts.consumers) bound.Lower(consumer.next.value, ConsumerHold(consumer));
  if (facts.holds_positions.has_value())
    bound.Lower(facts.holds_positions->value, {HoldReason::kPosition, *facts.holds_positions, ""});
  const int64_t limit_end = SaturatingAdd(earliest, retention.limit);
  bound.Lower(limit_end, {HoldReason::kLimit, SnapshotId(limit_end), ""});
  HEADRACE_ASSIGN_OR_RETURN(const int64_t young, FirstYoung(facts, too_many_before, bound.end, 1,
                                                            facts.now_ms - limits.time_ms, time_of));
  bound.Lower(young, {HoldReason::kYoung, SnapshotId(young), ""});

  bound.by.from = SnapshotId(std::max(bound.end, earliest));
  holds->push_back(bound.by);
  for (const Consumer& consumer : facts.consumers)
    if (consumers_count && consumer.next.value <= bound.by.from.value && consumer.id != bound.by.consumer)
      holds->push_back(ConsumerHold(consumer));
  return IdRange{facts.earliest, SnapshotId(std::max(bound.end, earliest))};
}

Result<IdRange> PickChangelogs(const ExpiryFacts& facts, const Retention& retention, IdRange snapshots,
                               const TimeOf& time_of) {
  const Limits limits = ChangelogLimits(retention);
  HEADRACE_RETURN_NOT_OK(CheckLimits(limits, "changelog"));
  const bool gains = retention.changelogs_outlive() && !snapshots.empty();
  if (!facts.earliest_changelog.has_value() && !gains) return IdRange{};
  const int64_t earliest = facts.earliest_changelog.value_or(snapshots.begin).value;
  const int64_t newest =
      gains ? snapshots.end.value - 1 : facts.latest_changelog.value_or(SnapshotId(earliest)).value;

  const int64_t latest = facts.latest.value;
  int64_t end = std::min({latest - limits.min + 1, newest, SaturatingAdd(earliest, retention.limit)});
  for (const Consumer& consumer : facts.consumers) end = std::min(end, consumer.next.value);
  if (facts.holds_positions.has_value()) end = std::min(end, facts.holds_positions->value);
  const int64_t too_many_before = std::max(latest - limits.max + 1, earliest);
  HEADRACE_ASSIGN_OR_RETURN(
      end, FirstYoung(facts, too_many_before, end, 0, facts.now_ms - limits.time_ms, time_of));
  return IdRange{SnapshotId(earliest), SnapshotId(std::max(end, earliest))};
}

}  // namespace

Result<ExpiryChoice> PickExpired(const ExpiryFacts& facts, const Retention& retention,
                                 const TimeOf& time_of) {
  ExpiryChoice choice;
  choice.leave_changelogs = retention.changelogs_outlive();
  HEADRACE_ASSIGN_OR_RETURN(choice.snapshots, PickSnapshots(facts, retention, time_of, &choice.holds));
  HEADRACE_ASSIGN_OR_RETURN(choice.changelogs, PickChangelogs(facts, retention, choice.snapshots, time_of));
  return choice;
}

Result<bool> IsUrgent(const ExpiryFacts& facts, const Retention& retention, const ExpiryChoice& choice,
                      const TimeOf& time_of) {
  constexpr int64_t kMany = 10;
  struct Part {
    IdRange range;
    Limits limits;
    int64_t step;  // whose age counts
  };
  const Part parts[] = {{choice.snapshots, SnapshotLimits(retention), 1},
                        {choice.changelogs, ChangelogLimits(retention), 0}};
  for (const Part& part : parts) {
    if (part.range.empty()) continue;
    const bool too_many = part.range.begin.value <= facts.latest.value - part.limits.max;
    if (too_many || part.range.size() >= kMany) return true;
    HEADRACE_ASSIGN_OR_RETURN(const auto time, time_of(SnapshotId(part.range.begin.value + part.step)));
    const int64_t patience_ms = part.limits.time_ms / 10;
    if (!time.has_value() || *time < facts.now_ms - part.limits.time_ms - patience_ms) return true;
  }
  return false;
}

std::vector<Consumer> PickIdleConsumers(const std::vector<Consumer>& consumers, const Retention& retention,
                                        int64_t now_ms) {
  std::vector<Consumer> idle;
  if (!retention.consumer_ms.has_value()) return idle;
  for (const Consumer& consumer : consumers)
    if (!consumer.id.starts_with(kJobConsumers) && consumer.modified_ms < now_ms - *retention.consumer_ms)
      idle.push_back(consumer);
  return idle;
}

std::vector<NamedTag> TagsTouching(const std::vector<NamedTag>& tags, IdRange range) {
  const auto id_of = [](const NamedTag& tag) { return tag.tag.snapshot.id; };
  const auto after_begin =
      std::find_if(tags.begin(), tags.end(), [&](const auto& t) { return id_of(t) > range.begin; });
  const auto last =
      std::find_if(tags.begin(), tags.end(), [&](const auto& t) { return id_of(t) >= range.end; });
  auto first = after_begin;
  if (first != tags.begin()) {
    // All tags of that one snapshot are the same root; one will do.
    --first;
  }
  if (first >= last) return {};
  return {first, last};
}

}  // namespace headrace
