// Following a table's changes, snapshot by snapshot.
//
// State is the next snapshot id alone: no gap, no repeat. With `changelog-producer` none the changes are the rows of the new
// level-0 files of APPEND snapshots; otherwise the changelog files of any snapshot. OVERWRITE snapshots are passed over and
// counted, never silently. A position whose snapshot expired is kSnapshotExpired. Source: DataTableStreamScan,
// DeltaFollowUpScanner, ChangelogFollowUpScanner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "read/scan.h"

namespace headrace {

struct ChangeStreamOptions {
  SnapshotId from{1};                     // inclusive
  std::vector<std::string> columns = {};  // empty: all
  int64_t batch_rows = 32768;
  arrow::MemoryPool* pool = nullptr;
};

// The changes of one snapshot, in delivered order within a bucket.
// Batches: the columns asked for, then _VALUE_KIND (int8, a RowKind).
struct SnapshotChanges {
  Snapshot snapshot;
  bool skipped_overwrite = false;
  std::unique_ptr<arrow::RecordBatchReader> rows;  // null when the snapshot brings no changes
};

class ChangeStream {
 public:
  static Result<std::unique_ptr<ChangeStream>> Open(const Table& table, ChangeStreamOptions options);
  virtual ~ChangeStream() = default;
  // The next snapshot's changes; nothing when it is not there yet: ask again later.
  virtual Result<std::optional<SnapshotChanges>> Next() = 0;
  virtual SnapshotId next_snapshot() const = 0;
};

// The splits of the rows that a stream has shown by the end of `snapshot`; files that hold no row that meets the conditions are left out, as in
// PlanScan.
Result<std::vector<Split>> PlanStreamVisibleState(const Table& table, const Snapshot& snapshot,
                                                  std::vector<RowCondition> conditions = {});

// These rows, as inserts: what `changes --from full` starts with.
Result<std::unique_ptr<arrow::RecordBatchReader>> OpenStreamVisibleState(const Table& table,
                                                                         const Snapshot& snapshot,
                                                                         const ScanOptions& options);

}  // namespace headrace
