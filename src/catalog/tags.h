// What names a table's snapshots from outside its own history: tags, branches, and the consumers that still want to read changes.
//
// A tag keeps the rows of its snapshot. A branch is a history of its own over the same data folder, with its own snapshots, changelogs and
// tags. A consumer names the next snapshot it will read. Functions of the store, thread-safe. A file that vanishes between the listing and
// its reading has been dropped and is passed over; any other failure is an error, never a shorter list.
// Source: TagManager, BranchManager, ConsumerManager.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"

namespace headrace {

struct NamedTag {
  std::string name;
  Tag tag;
};

struct Consumer {
  std::string id;
  SnapshotId next;          // it has read everything before
  int64_t modified_ms = 0;  // when it last moved
};

// What a branch holds besides its schemas.
struct BranchHistory {
  std::string name;
  std::vector<Snapshot> snapshots;   // ascending
  std::vector<Snapshot> changelogs;  // ascending
  std::vector<NamedTag> tags;        // by snapshot
};

Result<std::vector<NamedTag>> ListTags(const Table& table);       // by snapshot, then name
Result<std::vector<Consumer>> ListConsumers(const Table& table);  // by name
Result<std::vector<BranchHistory>> ListBranches(const Table& table);

std::string ConsumerPath(const Table& table, const std::string& id);

}  // namespace headrace
