// The rows of one PostgreSQL table as of an exported snapshot, copied into a table: all of them, or what differs from what is there.
//
// Rows are handed to the table's writer and not committed: the caller commits them with the snapshot's place in the log as position. A value that
// the table cannot take is kInvalid and names column and key; drop what is uncommitted then. One thread.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "ingest/postgres_catalog.h"
#include "ingest/postgres_connection.h"
#include "ingest/sync_table.h"

namespace headrace::ingest {

// From here to the end of the transaction the connection sees the exported snapshot.
Status UseSnapshot(PostgresConnection* connection, const ExportedSnapshot& snapshot);

class PostgresCopy {
 public:
  using Progress = std::function<void(int64_t rows)>;
  PostgresCopy(PostgresConnection* connection, const SourceTable& source, SyncTable* table, Progress progress)
      : connection_(connection), source_(source), table_(table), progress_(std::move(progress)) {}

  // Into a table without rows.
  Status CopyAll();
  // Into a table with rows and a primary key. `memory_bytes` may be used to compare.
  Status CopyDifference(int64_t memory_bytes);

  int64_t deleted() const { return deleted_; }
  int64_t changed() const { return changed_; }
  int64_t added() const { return added_; }

 private:
  Status EachRow(RowBuffer* out, const std::function<Status()>& each);
  Status WriteWhatDiffers(const Snapshot& view, const arrow::RecordBatch& rows, class LiveRows* live);
  Status WriteUpdateBefore(const Snapshot& view, const arrow::RecordBatch& rows, int64_t row);

  PostgresConnection* connection_;
  const SourceTable& source_;
  SyncTable* table_;
  Progress progress_;
  int64_t deleted_ = 0, changed_ = 0, added_ = 0;
};

}  // namespace headrace::ingest
