// The ingest jobs that a table knows: one position a job, kept in snapshot properties.
//
// Functions of the table's files. A dropped job leaves a mark in place of its position, so that an older snapshot is not taken for it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "ingest/position.h"

namespace headrace::ingest {

struct JobInfo {
  std::string job;
  Position position;
  SnapshotId snapshot;  // the oldest one found that holds the newest position, or the newest when carried
};

// All jobs with a position, by name.
Result<std::vector<JobInfo>> ListJobs(const Table& table);

// What the position says of each source, for people: "/data/a.jsonl to line 12", "orders/2 to offset 31".
std::vector<std::string> PlacesOf(const Position& position);

// Forgets the job's position by an empty commit and deletes its consumer. kNotFound when there is no such job.
Status DropJob(const Table& table, const std::string& job);

}  // namespace headrace::ingest
