// One table: its rows, its changes, its history, its files, and writers into it.
//
// A handle keeps the schema it was opened with and sees newer snapshots. Reading methods may be called from many threads; a reader they
// return belongs to one thread. Every reader's Arrow fields carry the Paimon type as SQL text in the metadata key kTypeMetadataKey, since Arrow
// alone does not know a TIMESTAMP(0) from a TIMESTAMP(3).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "headrace/check_terms.h"
#include "headrace/error.h"
#include "headrace/maintain.h"

namespace headrace {

inline constexpr char kTypeMetadataKey[] = "headrace.type";

struct ColumnInfo {
  int32_t id = 0;
  std::string name;
  std::string type;  // Paimon's SQL text, "BIGINT NOT NULL"
  std::string comment;
};

struct TableInfo {
  std::string name;  // "db.table", or the folder it was opened by
  std::string path;
  int64_t schema_id = 0;
  std::vector<ColumnInfo> columns;
  std::vector<std::string> primary_key;
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> options;
  std::string comment;
  std::vector<std::string> unknown_options;  // kept, but not known to Paimon: told once
};

struct ReadOptions {
  std::vector<std::string> columns;  // empty: all, in schema order
  std::optional<int64_t> snapshot;   // in the schema of its time; nothing: the latest, in the handle's
  int64_t batch_rows = 32768;
  bool key_ordered = false;  // rows of a bucket in key order
  // Of a table with a primary key, only what compactions have brought to the deepest level: nothing is merged, and newer rows are missing.
  bool read_optimized = false;
};

struct LookupOptions {
  std::vector<std::string> columns = {};  // empty: all, in schema order
  std::optional<int64_t> snapshot = {};   // in the schema of its time; nothing: the latest, in the handle's
  // Keeps the snapshot from being expired, by any writer of the table and by Java too, as long as the lookup lives: a file
  // consumer/consumer-lookup-<uuid> in the table, which goes with the lookup. What a crash leaves ends by consumer.expiration-time.
  bool hold_snapshot = false;
};

struct LookupResult {
  std::vector<int32_t> row_of_key;           // for each key asked: its row below, or -1 when it has none
  std::shared_ptr<arrow::RecordBatch> rows;  // in no order
};

// A key as a line of text: a JSON object, or column=value pairs with white space between them; values as JSON lines show them. kInvalid
// tells what it does not understand.
Result<std::vector<std::pair<std::string, std::string>>> ParseKeyLine(std::string_view line);

// The rows of keys as of one snapshot: opened once, asked many times, from any number of threads. Pages and keys that were read stay in the
// engine's cache for all its lookups, so a server keeps its Engine. To see newer rows a new one is opened; what the cache holds of
// files that are still there serves it as well. Once the snapshot has expired a lookup that needs its files is kSnapshotExpired: open a new one, or
// keep the snapshot with `hold_snapshot`.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual std::optional<int64_t> snapshot() const = 0;  // nothing: the table has none, and no key a row
  // A key as column=text pairs, as for TableHandle::Get: one row, or null.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Get(
      const std::vector<std::pair<std::string, std::string>>& key) = 0;
  // Keys by the batch: the columns of the primary key, by name and in the table's Arrow types, in any order.
  virtual Result<LookupResult> GetMany(const arrow::RecordBatch& keys) = 0;
};

struct ChangesOptions {
  enum class From { kSnapshot, kEarliest, kLatest, kFull };
  From from = From::kEarliest;
  int64_t from_snapshot = 0;           // kSnapshot: inclusive
  std::optional<int64_t> to_snapshot;  // inclusive; nothing: all there is, or for ever when `follow`
  bool follow = false;
  std::vector<std::string> columns;
};

// A table's changes in snapshot order: _rowkind (utf8: +I -U +U -D), _snapshot (int64), then the columns. kFull starts with the rows
// of the state as +I.
class ChangeReader {
 public:
  virtual ~ChangeReader() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  // The next rows; null when there are none at present (`follow`) or no more.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  virtual bool at_end() const = 0;
  // Snapshots passed over because they were overwrites, whose changes no stream shows.
  virtual int64_t skipped_overwrites() const = 0;
  // Start here to go on without gap or repeat.
  virtual int64_t next_snapshot() const = 0;
};

// A writer into a table. One thread at a time. Rows are visible after Commit, all or none.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // All columns in schema order; `kinds` int8 RowKind bytes (0 +I, 1 -U, 2 +U, 3 -D), or null for inserts.
  virtual Status Write(const std::shared_ptr<arrow::RecordBatch>& rows,
                       const std::shared_ptr<arrow::Array>& kinds) = 0;
  // The newest snapshot made, or nothing when there was nothing to commit. Compactions run beside the writer; what has finished is
  // committed along, and with `wait_for_compaction` what is under way as well.
  virtual Result<std::optional<int64_t>> Commit(bool wait_for_compaction = false) = 0;
  // kInvalid where a bucket stays uncompacted because what its rows make together does not fit a column: the message names bucket, key and
  // column. The last commit stands, its rows are in the table, and other buckets are not concerned; reading the bucket gives the error.
  virtual const Status& held_back() const = 0;
  // How ending old snapshots after the last commit went; the commit stands either way.
  virtual const Status& expiry() const = 0;
};

struct CompactResult {
  std::vector<int64_t> snapshots;  // empty: nothing to do
  int64_t files_before = 0;
  int64_t files_after = 0;
  int64_t bytes_written = 0;
  Status
      held_back;  // kInvalid: these buckets could not be compacted, see TableWriter::held_back(); all others were
  Status expiry;  // how ending old snapshots went afterwards; the compaction stands either way
};

struct RescaleOptions {
  int32_t buckets = 0;
  std::map<std::string, std::string>
      partition;  // values by partition column, as text; empty: the whole table
};

struct RescaledTable {
  std::vector<int64_t> snapshots;  // empty: every partition had that many buckets
  int64_t partitions = 0;          // that were written anew
  int64_t rows = 0;
  int64_t files_before = 0;
  int64_t files_after = 0;
  int64_t bytes_written = 0;
  bool option_changed = false;  // the table's option `bucket` is that number now
};

// One sorted run of a bucket's tree, as `inspect` draws it.
struct RunInfo {
  int32_t level = 0;
  int64_t files = 0;
  int64_t rows = 0;
  std::optional<int64_t> deletes;
  std::optional<int64_t> marked;  // deleted by position, by deletion vectors; nothing: not told of every file
  int64_t bytes = 0;
  std::string min_key;  // empty for append tables
  std::string max_key;
  int64_t min_sequence = 0;
  int64_t max_sequence = 0;
};

struct BucketInfo {
  std::string partition;  // "dt=2024-01-01/region=eu", empty without partitions
  int32_t bucket = 0;
  int32_t total_buckets = 0;
  std::vector<RunInfo> runs;    // newest first: level 0, then 1, 2 …
  int64_t changelog_files = 0;  // of all retained snapshots
  int64_t changelog_rows = 0;
};

class TableHandle {
 public:
  virtual ~TableHandle() = default;

  virtual const TableInfo& info() const = 0;

  virtual Result<std::unique_ptr<arrow::RecordBatchReader>> Read(const ReadOptions& options) = 0;
  // The current row of a key given as column=text pairs, as JSON lines show the values; nothing when there is none. One row.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Get(
      const std::vector<std::pair<std::string, std::string>>& key, const ReadOptions& options) = 0;
  // kInvalid for a table without a primary key.
  virtual Result<std::unique_ptr<Lookup>> OpenLookup(const LookupOptions& options) = 0;
  virtual Result<std::unique_ptr<ChangeReader>> Changes(const ChangesOptions& options) = 0;
  // A named reader of changes, consumer/consumer-<id> in the table as Paimon and Flink know it: the first snapshot that it has not read, kept
  // from expiry together with all after it. Nothing when there is no such consumer.
  virtual Result<std::optional<int64_t>> ConsumerPosition(const std::string& id) = 0;
  virtual Status MoveConsumer(const std::string& id, int64_t next_snapshot) = 0;

  // kUnsupported when an option of the table is refused for writing, naming it.
  virtual Result<std::unique_ptr<TableWriter>> OpenWriter() = 0;
  // Compacts as the table's options ask, write-only ones too, or everything into one run a bucket. Where compactions make the changelog, this
  // one makes it: with changelog-producer=full-compaction it is always a full one.
  // Also gives rows that wait in postponed buckets (bucket = -2) theirs.
  virtual Result<CompactResult> Compact(bool full) = 0;
  // Writes a table with a fixed number of buckets, or some of its partitions, anew with another number. Readers go on meanwhile;
  // kCommitConflict, and nothing is changed, when something was written to those partitions.
  virtual Result<RescaledTable> Rescale(const RescaleOptions& options) = 0;
  // Ends all that is due, however much; what was done, or would be.
  virtual Result<ExpireResult> Expire(const ExpireOptions& options) = 0;

  // Whether the table's files agree with each other; changes nothing. See headrace/check.h, also for tables that cannot be opened.
  virtual Result<CheckReport> Check(const CheckOptions& options) = 0;
  // Every version of a key in the live files of a snapshot (nothing: the latest), and which wins. The key as for Get, and columns of the
  // partition where it is not part of the key.
  virtual Result<KeyHistory> Why(const std::vector<std::pair<std::string, std::string>>& key,
                                 std::optional<int64_t> snapshot) = 0;

  // What `show` prints, as small Arrow tables.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowSchemas() = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowSnapshots() = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowOptions() = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowFiles(std::optional<int64_t> snapshot) = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowManifests(std::optional<int64_t> snapshot) = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> ShowJobs() = 0;
  virtual Status DropJob(const std::string& job) = 0;
  virtual Result<std::vector<BucketInfo>> Tree(std::optional<int64_t> snapshot) = 0;

  virtual Result<std::optional<int64_t>> LatestSnapshot() = 0;
};

}  // namespace headrace
