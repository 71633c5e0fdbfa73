// What must hold of every snapshot of a table, whatever brought it about; found out by reading it in every way there is.
//
// Each function gives OK, or an error that names the law, the snapshot and what was found. The table is as it was at the snapshot
// (TableAsOf). They only read; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "read/scan.h"
#include "tests/scenarios/scenario.h"

namespace headrace::scenario {

// Whole rows as a plain scan gives them, sorted.
Result<std::vector<Row>> RowsOf(const Table& table, const Snapshot& snapshot);
Result<std::vector<Row>> Scan(const Table& table, const Snapshot& snapshot, const ScanOptions& options);

// The changes of each snapshot from `from` to `to`, in the order delivered.
struct ChangesOfSnapshot {
  int64_t id = 0;
  bool skipped_overwrite = false;
  std::vector<Row> rows;
};
Result<std::vector<ChangesOfSnapshot>> ChangesOf(const Table& table, int64_t from, int64_t to,
                                                 const std::vector<std::string>& columns = {});

// Every file named by the snapshot, data and metadata, is there with its size; counts of rows agree.
Status CheckReferences(const Table& table, const Snapshot& snapshot);
// Every live file is in exactly one split; files of a level above 0 do not overlap; keys lie in their bucket.
Status CheckSplits(const Table& table, const Snapshot& snapshot);
// Winners first, whole rows, in key order, in small batches, split by split, column by column and key by key: the same rows as `rows`.
Status CheckReaders(const Table& table, const Snapshot& snapshot, const std::vector<Row>& rows);
// Snapshot by snapshot equals one look at the whole range.
Status CheckFollowing(const Table& table, int64_t from, int64_t to);

// What `headrace check --data --changelog` finds: no damage. Of the latest snapshot, or of everything there is.
Status CheckDamage(const Table& table, bool all);

// All of these for every snapshot of the table; and a compaction changes nothing that is read.
Status CheckTable(const Table& table);

}  // namespace headrace::scenario
