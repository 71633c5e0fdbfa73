// Keeping a table in order: ending old snapshots and changelogs, and deleting the files that nothing needs any more.
//
// A writer does this by itself after each commit, as the table's options ask (snapshot.num-retained.min and .max, snapshot.time-retained,
// changelog.…, consumer.expiration-time), unless the table is write-only. What a live snapshot, tag, branch, consumer, ingest job or retained
// changelog needs is never deleted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

struct ExpireOptions {
  bool dry_run = false;  // tell what would end and delete nothing
  // Instead of the table's snapshot.num-retained.min, .max and snapshot.time-retained.
  std::optional<int32_t> retain_min;
  std::optional<int32_t> retain_max;
  // Snapshots whose successor is older end: an age, "2 h" or "PT2H", or a moment, "2026-01-31 12:00:00" in local time.
  std::string older_than;
};

// Why something stays that is old enough, or too much, otherwise.
struct ExpireHold {
  int64_t from = 0;  // the first snapshot that it keeps
  std::string why;   // "consumer 'x' reads snapshot 7 next"
};

struct ExpireResult {
  std::vector<int64_t> snapshots;      // ended, ascending
  bool changelogs_left = false;        // they left their changes behind in changelog/
  std::vector<int64_t> changelogs;     // ended, ascending
  std::vector<std::string> consumers;  // ended, because they were idle
  int64_t files = 0;                   // deleted, metadata included
  int64_t bytes = 0;                   // of those whose size is known
  std::vector<ExpireHold> holds;       // what keeps the first snapshot that stays, then further consumers
  int64_t files_kept = 0;              // data files that tags and branches kept
  std::vector<std::string> keepers;    // "tag v1": those that were asked
  std::optional<int64_t> earliest, latest;  // snapshots there afterwards
  std::optional<int64_t> earliest_changelog;
};

}  // namespace headrace
