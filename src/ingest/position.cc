#include "ingest/position.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/json.h"
#include "catalog/snapshots.h"
#include "catalog/tags.h"
#include "commit/commit.h"
#include "ingest/snapshot_search.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kFilesVersion = 1;
constexpr int64_t kVersion = 2;

void WriteInput(const InputPosition& input, JsonWriter* out) {
  out->BeginObject();
  out->Field("path", input.path)
      .Field("bytes", input.bytes)
      .Field("lines", input.lines)
      .Field("hash", input.hash);
  out->Key("ended").Bool(input.ended).Key("openEnd").Bool(input.open_end);
  out->EndObject();
}

void WritePartition(const PartitionPosition& partition, JsonWriter* out) {
  out->BeginObject().Field("topic", partition.topic);
  out->Field("partition", static_cast<int64_t>(partition.partition));
  out->Field("nextOffset", partition.next_offset).EndObject();
}

void WriteLog(const LogPosition& log, JsonWriter* out) {
  out->BeginObject().Field("system", log.system).Field("slot", log.slot);
  // As text: an LSN has 64 bits without a sign, a JSON number of this file has one.
  out->Field("lsn", std::to_string(log.lsn)).Key("snapshotDone").Bool(log.snapshot_done).EndObject();
}

void WriteSource(const TablePosition& source, JsonWriter* out) {
  out->BeginObject().Field("table", source.table).Field("schemaId", source.schema_id);
  out->Field("nextSnapshot", source.next_snapshot).Field("madeMillis", source.made_ms);
  if (source.looked_up) out->Key("lookedUp").Bool(true);
  out->EndObject();
}

bool IsOfFilesAlone(const Position& position) {
  return position.partitions.empty() && position.cluster.empty() && !position.log &&
         position.sources.empty() && position.sql_hash.empty();
}

void WriteOtherSources(const Position& position, JsonWriter* out) {
  if (!position.partitions.empty()) {
    out->Key("partitions").BeginArray();
    for (const PartitionPosition& partition : position.partitions) WritePartition(partition, out);
    out->EndArray();
  }
  if (!position.cluster.empty()) out->Field("cluster", position.cluster);
  if (position.log) {
    out->Key("log");
    WriteLog(*position.log, out);
  }
  if (!position.sources.empty()) {
    out->Key("sources").BeginArray();
    for (const TablePosition& source : position.sources) WriteSource(source, out);
    out->EndArray();
  }
  if (!position.sql_hash.empty()) out->Field("sqlHash", position.sql_hash);
  out->FieldIfSet("watermark", position.watermark);
}

Result<PartitionPosition> ReadPartition(const nlohmann::json& json, std::string_view origin) {
  PartitionPosition partition;
  HEADRACE_ASSIGN_OR_RETURN(partition.topic, GetString(json, "topic", origin));
  HEADRACE_ASSIGN_OR_RETURN(partition.partition, GetInt32(json, "partition", origin));
  HEADRACE_ASSIGN_OR_RETURN(partition.next_offset, GetInt64(json, "nextOffset", origin));
  if (partition.partition < 0 || partition.next_offset < 0) {
    return Corruption(origin, ": partition ", partition.partition, " of topic ", partition.topic,
                      " at offset ", partition.next_offset, "; neither can be below 0");
  }
  return partition;
}

Result<LogPosition> ReadLog(const nlohmann::json& json, std::string_view origin) {
  LogPosition log;
  HEADRACE_ASSIGN_OR_RETURN(log.system, GetString(json, "system", origin));
  HEADRACE_ASSIGN_OR_RETURN(log.slot, GetString(json, "slot", origin));
  HEADRACE_ASSIGN_OR_RETURN(const std::string lsn, GetString(json, "lsn", origin));
  const auto [end, error] = std::from_chars(lsn.data(), lsn.data() + lsn.size(), log.lsn);
  if (error != std::errc() || end != lsn.data() + lsn.size())
    return Corruption(origin, ": lsn '", lsn, "' is not a number of 64 bits");
  HEADRACE_ASSIGN_OR_RETURN(log.snapshot_done, GetBool(json, "snapshotDone", origin));
  return log;
}

Result<TablePosition> ReadSource(const nlohmann::json& json, std::string_view origin) {
  TablePosition source;
  HEADRACE_ASSIGN_OR_RETURN(source.table, GetString(json, "table", origin));
  HEADRACE_ASSIGN_OR_RETURN(source.schema_id, GetInt64(json, "schemaId", origin));
  HEADRACE_ASSIGN_OR_RETURN(source.next_snapshot, GetInt64(json, "nextSnapshot", origin));
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<int64_t> made, FindInt64(json, "madeMillis", origin));
  source.made_ms = made.value_or(0);
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<bool> looked_up, FindBool(json, "lookedUp", origin));
  source.looked_up = looked_up.value_or(false);
  return source;
}

// Into fields that were empty before.
Status ReadOtherSources(const nlohmann::json& json, std::string_view origin, Position* position) {
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* partitions, FindArray(json, "partitions", origin));
  for (size_t i = 0; partitions != nullptr && i < partitions->size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(PartitionPosition one, ReadPartition((*partitions)[i], origin));
    position->partitions.push_back(std::move(one));
  }
  HEADRACE_ASSIGN_OR_RETURN(std::optional<std::string> cluster, FindString(json, "cluster", origin));
  position->cluster = std::move(cluster).value_or("");
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* log, FindObject(json, "log", origin));
  if (log != nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(position->log, ReadLog(*log, origin));
  }
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* sources, FindArray(json, "sources", origin));
  for (size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(TablePosition one, ReadSource((*sources)[i], origin));
    position->sources.push_back(std::move(one));
  }
  HEADRACE_ASSIGN_OR_RETURN(std::optional<std::string> sql_hash, FindString(json, "sqlHash", origin));
  position->sql_hash = std::move(sql_hash).value_or("");
  HEADRACE_ASSIGN_OR_RETURN(position->watermark, FindInt64(json, "watermark", origin));
  return Status::OK();
}

Result<InputPosition> ReadInput(const nlohmann::json& json, std::string_view origin) {
  InputPosition input;
  HEADRACE_ASSIGN_OR_RETURN(input.path, GetString(json, "path", origin));
  HEADRACE_ASSIGN_OR_RETURN(input.bytes, GetInt64(json, "bytes", origin));
  HEADRACE_ASSIGN_OR_RETURN(input.lines, GetInt64(json, "lines", origin));
  HEADRACE_ASSIGN_OR_RETURN(input.hash, GetString(json, "hash", origin));
  HEADRACE_ASSIGN_OR_RETURN(input.ended, GetBool(json, "ended", origin));
  HEADRACE_ASSIGN_OR_RETURN(input.open_end, GetBool(json, "openEnd", origin));
  if (input.bytes < 0 || input.lines < 0)
    return Corruption(origin, ": a position before the start of ", input.path);
  return input;
}

}  // namespace

bool Position::SamePlaceOutsideFiles(const Position& other) const {
  return partitions == other.partitions && cluster == other.cluster && log == other.log &&
         sources == other.sources && sql_hash == other.sql_hash && watermark == other.watermark;
}

std::string SerializePosition(const Position& position) {
  JsonWriter out(JsonLayout::kFlat);
  out.BeginObject();
  out.Field("version", IsOfFilesAlone(position) ? kFilesVersion : kVersion);
  out.Key("finished").Bool(position.finished).Field("format", position.format);
  out.Field("sourceTable", position.source_table).Field("identifier", position.identifier);
  out.Field("lines", position.lines).Field("applied", position.applied).Field("ignored", position.ignored);
  out.Field("deadLetters", position.dead_letters).Field("rows", position.rows);
  out.Field("deadLetterFile", position.dead_letter_file).Field("deadLetterBytes", position.dead_letter_bytes);
  out.Key("inputs").BeginArray();
  for (const InputPosition& input : position.inputs) WriteInput(input, &out);
  out.EndArray();
  WriteOtherSources(position, &out);
  out.EndObject();
  return std::move(out).Finish();
}

Result<Position> ParsePosition(std::string_view text, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, origin));
  HEADRACE_ASSIGN_OR_RETURN(const int64_t version, GetInt64(json, "version", origin));
  if (version < kFilesVersion || version > kVersion) {
    return Unsupported(origin, ": the job's position is of version ", version, ", read here are versions ",
                       kFilesVersion, " to ", kVersion, "; use the Headrace that wrote it");
  }
  Position position;
  HEADRACE_ASSIGN_OR_RETURN(position.finished, GetBool(json, "finished", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.format, GetString(json, "format", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.source_table, GetString(json, "sourceTable", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.identifier, GetInt64(json, "identifier", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.lines, GetInt64(json, "lines", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.applied, GetInt64(json, "applied", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.ignored, GetInt64(json, "ignored", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.dead_letters, GetInt64(json, "deadLetters", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.rows, GetInt64(json, "rows", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.dead_letter_file, GetString(json, "deadLetterFile", origin));
  HEADRACE_ASSIGN_OR_RETURN(position.dead_letter_bytes, GetInt64(json, "deadLetterBytes", origin));
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* inputs, GetArray(json, "inputs", origin));
  for (const nlohmann::json& input : *inputs) {
    HEADRACE_ASSIGN_OR_RETURN(InputPosition one, ReadInput(input, origin));
    position.inputs.push_back(std::move(one));
  }
  HEADRACE_RETURN_NOT_OK(ReadOtherSources(json, origin, &position));
  return position;
}

Result<std::optional<std::string>> CarriedPositionText(const Table& table, std::string_view job) {
  HEADRACE_ASSIGN_OR_RETURN(auto carried, CarriedProperties(table));
  const auto it = carried.find(PositionKey(job));
  if (it == carried.end()) return std::nullopt;
  return std::move(it->second);
}

Result<std::optional<FoundPosition>> FindPosition(const Table& table, const std::string& job) {
  const std::string key = PositionKey(job);
  std::optional<FoundPosition> found;
  bool dropped = false;
  bool ours = false;  // a snapshot that holds the positions of all jobs
  const auto look = [&](const Snapshot& snapshot, std::string_view origin) -> Result<bool> {
    ours = ours || snapshot.properties.contains(std::string(kWriterProperty));
    const auto property = snapshot.properties.find(key);
    if (property == snapshot.properties.end()) return false;
    dropped = property->second == kDroppedPosition;
    if (dropped) return true;
    HEADRACE_ASSIGN_OR_RETURN(Position position,
                              ParsePosition(property->second, std::string(origin) + ", property " + key));
    found = FoundPosition{std::move(position), snapshot.id};
    return true;
  };
  HEADRACE_RETURN_NOT_OK(SearchSnapshots(table, look));
  if (found || dropped || ours) return found;

  HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> earliest, FindEarliestSnapshotId(table));
  if (earliest && earliest->value > 1) {
    return SnapshotExpired("table ", table.name, " has no position of the job '", job,
                           "', but its snapshots before ", earliest->value,
                           " are expired and may have held it. If the job is new, or is to begin at its "
                           "first record, say --again");
  }
  return std::nullopt;
}

Status CheckJobName(std::string_view job) {
  const bool legal = !job.empty() && job.size() <= 100 && job.front() != '.' &&
                     std::all_of(job.begin(), job.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '_' || c == '.';
                     });
  if (legal) return Status::OK();
  return Invalid("'", job,
                 "' is not a job name: 1 to 100 letters, digits, '-', '_' and '.', not beginning with '.'");
}

std::string CommitUserOf(std::string_view job) { return "headrace-" + std::string(job); }

Status KeepSnapshot(const Table& table, std::string_view job, SnapshotId snapshot) {
  HEADRACE_RETURN_NOT_OK(CheckJobName(job));
  JsonWriter out;
  out.BeginObject().Field("nextSnapshot", snapshot.value).EndObject();
  return table.store->Replace(ConsumerPath(table, CommitUserOf(job)), std::move(out).Finish());
}

Status ReleaseSnapshot(const Table& table, std::string_view job) {
  // A snapshot may tell of jobs of any name; those that Headrace would not run have no consumer to delete.
  if (!CheckJobName(job).ok()) return Status::OK();
  return table.store->Delete(ConsumerPath(table, CommitUserOf(job)));
}

}  // namespace headrace::ingest
