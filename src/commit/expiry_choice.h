// Which snapshots end, which of them leave a changelog behind, and which changelogs end: decided on ids and times alone.
//
// An id range is half open. Snapshots end from the earliest on and never the newest: first whatever is more than `snapshot_max`, then what
// is old; a snapshot counts as old when its successor is older than `snapshot_ms`, so that a reader who began while it was the latest has the
// whole time. `snapshot_min`, consumers, a job's position and `limit` hold back. Changelogs end by their own age and counts, counted from the
// newest snapshot; the newest changelog stays. Pure but for the times, which are asked for one by one and only as far as needed.
// Source: ExpireSnapshotsImpl, ExpireChangelogImpl, ExpireConfig.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "catalog/tags.h"
#include "format/table_options.h"

namespace headrace {

// The next id that is there after one that is not; the largest id when there is none.
using NextThere = std::function<Result<SnapshotId>(SnapshotId missing)>;

struct ExpiryFacts {
  SnapshotId earliest, latest;
  std::optional<SnapshotId> earliest_changelog, latest_changelog;  // before any snapshot ends
  std::vector<Consumer> consumers;                                 // those that have not ended themselves
  // The newest snapshot or changelog that carries the jobs' positions: without it a job could not go on.
  std::optional<SnapshotId> holds_positions;
  int64_t now_ms = 0;
  NextThere next_there = nullptr;  // null: ids are tried one by one
};

// The commit time of a snapshot or changelog; nothing: there is no such file.
using TimeOf = std::function<Result<std::optional<int64_t>>(SnapshotId id)>;

enum class HoldReason { kNewest, kYoung, kConsumer, kPosition, kLimit };

// Why something that could have ended does not. `from` is the first id that it keeps.
struct Hold {
  HoldReason reason;
  SnapshotId from;
  std::string consumer;  // kConsumer
};

struct IdRange {
  SnapshotId begin, end;
  int64_t size() const { return end.value > begin.value ? end.value - begin.value : 0; }
  bool empty() const { return size() == 0; }
};

struct ExpiryChoice {
  IdRange snapshots;
  bool leave_changelogs = false;  // each ended snapshot becomes changelog/changelog-<id>
  IdRange changelogs;
  // What keeps the first snapshot that stays, and every consumer that keeps one which would have ended without it.
  std::vector<Hold> holds;
};

// kInvalid when the retention keeps at least more than it keeps at most.
Result<ExpiryChoice> PickExpired(const ExpiryFacts& facts, const Retention& retention, const TimeOf& time_of);

// Whether what is chosen should end now, rather than with what comes after it: when more is there than may be, when what has grown old are
// ten or more, or when something is older by a tenth than it may be. So that a writer of many commits a second does not pay with each.
Result<bool> IsUrgent(const ExpiryFacts& facts, const Retention& retention, const ExpiryChoice& choice,
                      const TimeOf& time_of);

// Consumers that have not moved for `consumer.expiration-time`. Those of our own jobs never end this way: a job says itself when it has.
std::vector<Consumer> PickIdleConsumers(const std::vector<Consumer>& consumers, const Retention& retention,
                                        int64_t now_ms);

// Of tags in ascending order of their snapshots, those whose files can be among those of snapshots in `range`: between the last one at or
// before its begin and the last one before its end.
std::vector<NamedTag> TagsTouching(const std::vector<NamedTag>& tags, IdRange range);

}  // namespace headrace
