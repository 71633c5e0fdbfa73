#include "ingest/jobs.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/uuid.h"
#include "commit/commit.h"
#include "ingest/snapshot_search.h"

namespace headrace::ingest {

Result<std::vector<JobInfo>> ListJobs(const Table& table) {
  std::vector<JobInfo> jobs;
  std::set<std::string> seen;  // dropped ones too: what older snapshots say of them counts no more
  const auto look = [&](const Snapshot& snapshot, std::string_view origin) -> Result<bool> {
    for (auto property = snapshot.properties.lower_bound(std::string(kPositionPrefix));
         property != snapshot.properties.end() && property->first.starts_with(kPositionPrefix); ++property) {
      const std::string job = property->first.substr(kPositionPrefix.size());
      if (!seen.insert(job).second || property->second == kDroppedPosition) continue;
      HEADRACE_ASSIGN_OR_RETURN(
          Position position,
          ParsePosition(property->second, std::string(origin) + ", property " + property->first));
      jobs.push_back({job, std::move(position), snapshot.id});
    }
    return false;
  };
  HEADRACE_RETURN_NOT_OK(SearchSnapshots(table, look));
  std::sort(jobs.begin(), jobs.end(), [](const JobInfo& a, const JobInfo& b) { return a.job < b.job; });
  return jobs;
}

std::vector<std::string> PlacesOf(const Position& position) {
  std::vector<std::string> places;
  for (const InputPosition& input : position.inputs)
    places.push_back(input.path + " to line " + std::to_string(input.lines));
  for (const PartitionPosition& one : position.partitions) {
    places.push_back(one.topic + "/" + std::to_string(one.partition) + " to offset " +
                     std::to_string(one.next_offset));
  }
  if (position.log) {
    char lsn[32];
    std::snprintf(lsn, sizeof(lsn), "%X/%X", static_cast<unsigned>(position.log->lsn >> 32),
                  static_cast<unsigned>(position.log->lsn & 0xFFFFFFFF));
    places.push_back("slot " + position.log->slot + " to " + lsn +
                     (position.log->snapshot_done ? "" : ", its first snapshot not taken yet"));
  }
  for (const TablePosition& source : position.sources)
    places.push_back(source.table + " before snapshot " + std::to_string(source.next_snapshot));
  return places;
}

Status DropJob(const Table& table, const std::string& job) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<JobInfo> jobs, ListJobs(table));
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const JobInfo& one) { return one.job == job; });
  if (found == jobs.end()) {
    std::string known;
    for (const JobInfo& one : jobs) known += (known.empty() ? "" : ", ") + one.job;
    return NotFound("dropping the job '", job, "' of table ", table.name,
                    ": there is none of that name; there are: ", known.empty() ? "none" : known);
  }
  PreparedCommit mark;
  mark.user = "headrace-jobs-" + NewUuid();
  mark.identifier = kBatchCommitIdentifier;
  mark.properties.emplace(PositionKey(job), std::string(kDroppedPosition));
  mark.commit_when_empty = true;
  HEADRACE_RETURN_NOT_OK(Commit(table, mark).status());
  return ReleaseSnapshot(table, job);
}

}  // namespace headrace::ingest
