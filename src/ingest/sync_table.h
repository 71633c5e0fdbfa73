// One of the tables of a sync: its writer, its books and position, its schema, and its quarantine. Knows nothing of the source.
//
// The source decodes events into rows() and says what became of each; Commit makes all since the last commit durable with the position that
// the source stamps. What is uncommitted can be dropped at any time: Restart. A quarantined table takes no rows any more: its events go byte
// for byte to its dead-letter file, its position moves on with them, and it stays so after a restart until it is copied anew. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "headrace/alter_terms.h"
#include "headrace/sync_terms.h"
#include "ingest/ingest.h"
#include "ingest/position.h"
#include "ingest/row_reader.h"
#include "ingest/table_writer.h"

namespace headrace::ingest {

struct SyncTableSetup {
  std::string source;  // "public.orders"
  std::string target;  // "shop.orders"
  std::string job;
  std::string dead_letter_file;  // used once there is something to keep
  IngestOptions options;
  std::function<Result<Table>()> open;
};

class SyncTable {
 public:
  // At the job's position, if there is one.
  static Result<std::unique_ptr<SyncTable>> Open(SyncTableSetup setup);

  const std::string& source() const { return setup_.source; }
  const std::string& target() const { return setup_.target; }
  const Table& table() const { return table_; }
  const TableShape& shape() const { return shape_; }  // another one after Alter
  const Position& committed() const { return writer_->committed(); }
  bool has_position() const { return has_position_; }
  // The job may have had a position, but the snapshots that held it are expired.
  bool position_lost() const { return position_lost_; }
  Result<bool> HasRows() const;
  bool quarantined() const { return quarantined_; }

  RowBuffer* rows() { return writer_->rows(); }
  CurrentRows* current() { return writer_->current(); }
  // From here on rows are remembered so that events can refer to them. Precondition: nothing is uncommitted.
  void KeepCurrentRows();

  // An event became the rows behind `rows_before`.
  Status Applied(int64_t rows_before);
  // Rows that are no event's: of a copy.
  Status CopiedRows();
  Status DeleteEverything();

  bool outstanding() const { return outstanding_; }
  int64_t rows_since_commit() const { return writer_->rows_since_commit(); }
  // What memory it holds that only a commit frees.
  int64_t bytes_since_commit() const;
  int64_t ms_since_commit() const { return writer_->ms_since_commit(); }

  using Stamp = std::function<void(Position*)>;
  // Also when nothing came since, if the stamp moves the position. kCommitConflict: Restart, after CheckAlone.
  Status Commit(const Stamp& stamp);
  Status CheckAlone() const { return writer_->CheckAlone(); }
  Status Restart();
  // The position becomes that of a table just copied: what was counted and kept aside before is over.
  Status CommitCopy(const Stamp& stamp);

  // Precondition of both: nothing is uncommitted.
  Status Alter(const std::vector<SchemaChange>& changes);
  Status Quarantine(const std::string& reason);
  Status AddDeadLetter(const DeadLetter& letter);

  SyncTableReport Report() const;

 private:
  explicit SyncTable(SyncTableSetup setup) : setup_(std::move(setup)) {}
  Status OpenWriter();

  SyncTableSetup setup_;
  Table table_;
  TableShape shape_;
  std::unique_ptr<TableWriter> writer_;
  Position now_;  // the committed one and what was handled since
  bool has_position_ = false;
  bool position_lost_ = false;
  bool quarantined_ = false;
  bool keep_current_ = false;
  bool outstanding_ = false;
  std::string reason_;
  int64_t commits_ = 0;  // of writers before this one
  int64_t started_events_ = 0;
  int64_t started_rows_ = 0;
  int64_t copied_rows_ = 0;
};

}  // namespace headrace::ingest
