// Where a job stands: what of each input, Kafka partition, log or source table is in the table, and what became of it.
//
// Kept as versioned JSON in the snapshot property headrace.position.<job>, so it is atomic with the rows. A position is trusted only when
// the bytes before it are the same ones: a running hash of every consumed byte is part of it. A dead-letter file's length is part of it
// as well. Plain values; a position of a newer version is refused by name, never guessed at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"

namespace headrace::ingest {

struct InputPosition {
  std::string path;       // as it was opened, absolute; "-" is standard input
  int64_t bytes = 0;      // consumed, of the unpacked content; rows for Parquet and Arrow
  int64_t lines = 0;      // consumed
  std::string hash;       // of the bytes consumed, 16 hex digits; of the whole file for Parquet and Arrow
  bool ended = false;     // read to its end as it was then
  bool open_end = false;  // its last line had no line end

  bool operator==(const InputPosition&) const = default;
};

struct PartitionPosition {
  std::string topic;
  int32_t partition = 0;
  int64_t next_offset = 0;  // of the first record that is not in the table

  bool operator==(const PartitionPosition&) const = default;
};

// A place in PostgreSQL's log.
struct LogPosition {
  std::string system;  // the server's system identifier
  std::string slot;
  uint64_t lsn = 0;            // the end of the last whole transaction that is in the table
  bool snapshot_done = false;  // the table's rows as of the slot's consistent point are in the table

  bool operator==(const LogPosition&) const = default;
};

// A source table of a query that is kept up to date.
struct TablePosition {
  std::string table;
  int64_t schema_id = 0;
  int64_t next_snapshot = 0;  // the first whose changes are not in the table
  int64_t made_ms = 0;  // when the table was made, by which one of the same name is told from it; 0: not said
  bool looked_up = false;  // its own changes are none of the job's, so that nobody is behind them

  bool operator==(const TablePosition&) const = default;
};

struct Position {
  std::vector<InputPosition> inputs;  // in the order they were begun; all but the last are ended
  bool finished = false;              // every input was read to its end
  std::string format;
  std::string source_table;  // the table the events are of, once known
  int64_t identifier = 0;    // of the commit that holds this position
  int64_t lines = 0, applied = 0, ignored = 0, dead_letters = 0, rows = 0;
  std::string dead_letter_file;
  int64_t dead_letter_bytes = 0;
  // Of other sources than files. Each is written only when it is set, and the position is of version 2 then, so that a Headrace that does
  // not know them refuses the job.
  std::vector<PartitionPosition> partitions;  // by topic and partition
  std::string cluster;                        // the Kafka cluster that has them
  std::optional<LogPosition> log;
  std::vector<TablePosition> sources;
  std::string sql_hash;              // of the query that `sources` belong to
  std::optional<int64_t> watermark;  // ms, of a query whose windows come when they close

  // Both stand at the same place of Kafka, the log or source tables.
  bool SamePlaceOutsideFiles(const Position& other) const;
  bool operator==(const Position&) const = default;
};

inline constexpr std::string_view kPositionPrefix = "headrace.position.";
inline std::string PositionKey(std::string_view job) {
  return std::string(kPositionPrefix) + std::string(job);
}
inline constexpr std::string_view kDroppedPosition = R"({"version":1,"dropped":true})";

std::string SerializePosition(const Position& position);
// `origin` names where the text came from. kUnsupported for a newer version.
Result<Position> ParsePosition(std::string_view json, std::string_view origin);

struct FoundPosition {
  Position position;
  SnapshotId snapshot;
};

// The job's newest position: in the newest snapshot that has one, else among the retained changelogs, else among the tags. Nothing when
// there is none. kSnapshotExpired when there is none, the table's first snapshots are gone, and no snapshot is left that Headrace made
// (those hold the positions of all jobs): it may have been in one of them.
Result<std::optional<FoundPosition>> FindPosition(const Table& table, const std::string& job);

// The text that a commit made now would find for the job, a dropped job's mark included; nothing when there is none.
Result<std::optional<std::string>> CarriedPositionText(const Table& table, std::string_view job);

// A legal job name: 1–100 of letters, digits, '-', '_' and '.'.
Status CheckJobName(std::string_view job);
std::string CommitUserOf(std::string_view job);

// The consumer file that keeps the snapshot with the position from being expired by any writer of the table.
Status KeepSnapshot(const Table& table, std::string_view job, SnapshotId snapshot);
Status ReleaseSnapshot(const Table& table, std::string_view job);

}  // namespace headrace::ingest
