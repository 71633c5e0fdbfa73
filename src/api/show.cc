// The small tables behind `show`: schemas, snapshots, options, files, manifests, jobs.
#include <algorithm>
#include <tuple>

#include <arrow/record_batch.h>

#include "api/marked_rows.h"
#include "api/open_table.h"
#include "api/sheet.h"
#include "base/json.h"
#include "base/text.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "catalog/source_lag.h"
#include "format/column_stats.h"
#include "format/option_values.h"
#include "format/table_options.h"
#include "format/value.h"
#include "ingest/jobs.h"
#include "read/key_text.h"

namespace headrace {
namespace {

DataType MillisecondsOf(TypeRoot root) {
  DataType type;
  type.root = root;
  type.precision = 3;
  return type;
}

std::string TimeText(int64_t millis) {
  return ToText(Timestamp{millis, 0}, MillisecondsOf(TypeRoot::kTimestampLtz));
}

std::string_view SupportText(OptionSupport support) {
  switch (support) {
    case OptionSupport::kSupported: return "supported";
    case OptionSupport::kHarmless: return "harmless";
    case OptionSupport::kRefusedForWriting: return "refused for writing";
    case OptionSupport::kRefusedForReading: return "refused for reading";
  }
  return "";
}

// {"column":[min,max,nulls],…}: what the statistics of a file say, as text; empty when they say nothing.
Result<SheetCell> StatsCell(const SimpleStats& stats, const std::optional<std::vector<std::string>>& listed,
                            const std::vector<DataField>& fields) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ColumnStats> columns, ReadStats(stats, listed, fields));
  JsonWriter json(JsonLayout::kFlat);
  json.BeginObject();
  bool says_something = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    const ColumnStats& column = columns[i];
    if (column.is_none()) continue;
    says_something = true;
    json.Key(fields[i].name).BeginArray();
    for (const Value* bound : {&column.min, &column.max}) {
      IsNull(*bound) ? json.Null() : json.String(ToText(*bound, fields[i].type));
    }
    column.null_count ? json.Int(*column.null_count) : json.Null();
    json.EndArray();
  }
  json.EndObject();
  return says_something ? SheetCell(std::move(json).Finish()) : SheetCell();
}

// Of all rows in the files, older versions of keys and deletes among them, those that no deletion vector marks.
SheetCell LiveAtMost(const Table& table, const Snapshot& snapshot) {
  const auto marked = MarkedRows::Of(table, snapshot);
  if (!marked.ok() || !snapshot.total_record_count) return SheetCell();
  return *snapshot.total_record_count - marked->known();
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> SchemasOf(const Table& table) {
  Sheet sheet({{"schema_id", true},
               {"columns"},
               {"primary_key"},
               {"partition_by"},
               {"options"},
               {"comment"},
               {"created"}});
  HEADRACE_ASSIGN_OR_RETURN(std::vector<SchemaId> ids, ListSchemaIds(table.store.get(), table.path));
  for (SchemaId id : ids) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const TableSchema> schema, table.schema_by_id(id));
    std::vector<std::string> columns, options;
    for (const DataField& field : schema->fields) columns.push_back(field.name + " " + ToSql(field.type));
    for (const auto& [key, value] : schema->options) options.push_back(key + "=" + value);
    sheet.Add({id.value, Joined(columns), Joined(schema->primary_keys, ","),
               Joined(schema->partition_keys, ","), Joined(options), CellOf(schema->comment),
               TimeText(schema->time_millis)});
  }
  return sheet.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> SnapshotsOf(const Table& table) {
  Sheet sheet({{"snapshot", true},
               {"kind"},
               {"time"},
               {"user"},
               {"identifier", true},
               {"schema_id", true},
               {"total_rows", true},
               {"live_at_most", true},
               {"delta_rows", true},
               {"changelog_rows", true},
               {"watermark", true}});
  HEADRACE_ASSIGN_OR_RETURN(std::vector<SnapshotId> ids, ListSnapshotIds(table));
  for (SnapshotId id : ids) {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> found, FindSnapshot(table, id));
    if (!found) continue;  // expired since it was listed
    const Snapshot& snapshot = *found;
    sheet.Add({id.value, std::string(NameOf(snapshot.commit_kind)), TimeText(snapshot.time_millis),
               snapshot.commit_user, snapshot.commit_identifier, snapshot.schema_id.value,
               CellOf(snapshot.total_record_count), LiveAtMost(table, snapshot),
               CellOf(snapshot.delta_record_count), CellOf(snapshot.changelog_record_count),
               CellOf(snapshot.watermark)});
  }
  return sheet.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> OptionsOf(const Table& table) {
  Sheet sheet({{"option"}, {"value"}, {"default"}, {"support"}, {"meaning"}});
  for (const auto& [key, value] : table.schema->options) {
    const OptionRow* row = FindOption(key);
    if (row == nullptr) {
      sheet.Add({key, value, SheetCell(), std::string("unknown"),
                 std::string("not an option that Paimon knows; kept as it is")});
    } else {
      const std::vector<std::string> built = SplitList(row->built_values);
      const bool built_value = std::find(built.begin(), built.end(), value) != built.end();
      const OptionSupport support = built_value ? OptionSupport::kSupported : row->support;
      sheet.Add({key, value, std::string(row->default_text), std::string(SupportText(support)),
                 std::string(row->meaning)});
    }
  }
  return sheet.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> FilesOf(const Table& table, std::optional<int64_t> snapshot_id) {
  Sheet sheet({{"partition"},
               {"bucket", true},
               {"total_buckets", true},
               {"level", true},
               {"file"},
               {"rows", true},
               {"delete_rows", true},
               {"marked_rows", true},
               {"live_at_most", true},
               {"bytes", true},
               {"min_key"},
               {"max_key"},
               {"min_sequence", true},
               {"max_sequence", true},
               {"schema_id", true},
               {"source"},
               {"created_local"},
               {"key_stats"},
               {"value_stats"}});
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, snapshot_id));
  if (!snapshot) return sheet.Finish();
  HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestEntry> entries, LiveFiles(table, *snapshot));
  HEADRACE_ASSIGN_OR_RETURN(const MarkedRows marked_rows, MarkedRows::Of(table, *snapshot));
  std::stable_sort(entries.begin(), entries.end(), [](const ManifestEntry& a, const ManifestEntry& b) {
    return std::tie(a.partition, a.bucket, a.file.level, a.file.min_sequence) <
           std::tie(b.partition, b.bucket, b.file.level, b.file.min_sequence);
  });
  const std::vector<DataField> key_fields = table.schema->FieldsOf(table.schema->TrimmedPrimaryKeys());
  for (const ManifestEntry& entry : entries) {
    const DataFileMeta& file = entry.file;
    HEADRACE_ASSIGN_OR_RETURN(std::string partition, PartitionText(table, entry.partition));
    HEADRACE_ASSIGN_OR_RETURN(std::string min_key, KeyText(table, file.min_key));
    HEADRACE_ASSIGN_OR_RETURN(std::string max_key, KeyText(table, file.max_key));
    HEADRACE_ASSIGN_OR_RETURN(SheetCell key_stats, StatsCell(file.key_stats, std::nullopt, key_fields));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const TableSchema> schema, table.schema_by_id(file.schema_id));
    HEADRACE_ASSIGN_OR_RETURN(SheetCell value_stats,
                              StatsCell(file.value_stats, file.value_stats_columns, schema->fields));
    SheetCell source;
    if (file.source) source = std::string(*file.source == FileSource::kAppend ? "APPEND" : "COMPACT");
    SheetCell created;
    if (file.creation_local_ms) {
      created = ToText(Timestamp{*file.creation_local_ms, 0}, MillisecondsOf(TypeRoot::kTimestamp));
    }
    const std::optional<int64_t> marked = marked_rows.In(file.name);
    const int64_t live = file.row_count - file.delete_row_count.value_or(0) - marked.value_or(0);
    sheet.Add({partition, int64_t{entry.bucket.value}, int64_t{entry.total_buckets},
               int64_t{file.level.value}, file.name, file.row_count, CellOf(file.delete_row_count),
               CellOf(marked), live, file.size_bytes, min_key, max_key, file.min_sequence, file.max_sequence,
               file.schema_id.value, source, created, key_stats, value_stats});
  }
  return sheet.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> ManifestsOf(const Table& table,
                                                        std::optional<int64_t> snapshot_id) {
  Sheet sheet({{"list"},
               {"manifest"},
               {"bytes", true},
               {"added_files", true},
               {"deleted_files", true},
               {"schema_id", true},
               {"min_bucket", true},
               {"max_bucket", true},
               {"min_level", true},
               {"max_level", true}});
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot, SnapshotFor(table, snapshot_id));
  if (!snapshot) return sheet.Finish();
  const auto add = [&](const std::string& list, const std::string& name) -> Status {
    HEADRACE_ASSIGN_OR_RETURN(std::vector<ManifestFileMeta> manifests, ReadManifestList(table, name));
    for (const ManifestFileMeta& m : manifests) {
      sheet.Add({list, m.name, m.size_bytes, m.added_files, m.deleted_files, m.schema_id.value,
                 CellOf(m.min_bucket), CellOf(m.max_bucket), CellOf(m.min_level), CellOf(m.max_level)});
    }
    return Status::OK();
  };
  HEADRACE_RETURN_NOT_OK(add("base", snapshot->base_manifest_list));
  HEADRACE_RETURN_NOT_OK(add("delta", snapshot->delta_manifest_list));
  if (snapshot->changelog_manifest_list)
    HEADRACE_RETURN_NOT_OK(add("changelog", *snapshot->changelog_manifest_list));
  return sheet.Finish();
}

Result<Table> OpenSourceOf(const Table& table, const std::string& name) {
  const size_t dot = name.find('.');
  const std::string database = table.path.substr(0, table.path.rfind('/'));
  const std::string warehouse = database.substr(0, database.rfind('/'));
  return OpenTableAt(table.store, table.clock,
                     warehouse + "/" + name.substr(0, dot) + ".db/" + name.substr(dot + 1), name,
                     Access::kRead);
}

namespace {

// How far a job is behind its source tables; nothing for jobs whose sources are none, or gone.
struct Lag {
  std::optional<int64_t> snapshots, rows, seconds;
};

Result<Lag> LagOf(const Table& table, const ingest::Position& position) {
  Lag lag;
  const auto take = [](std::optional<int64_t>* most, int64_t value) {
    *most = std::max(most->value_or(0), value);
  };
  for (const ingest::TablePosition& at : position.sources) {
    if (at.looked_up) continue;
    const auto source = OpenSourceOf(table, at.table);
    if (IsKind(source.status(), ErrorKind::kNotFound)) continue;
    HEADRACE_RETURN_NOT_OK(source.status());
    HEADRACE_ASSIGN_OR_RETURN(const SourceLag behind, LagBehind(*source, at.next_snapshot));
    take(&lag.snapshots, behind.snapshots);
    lag.rows = lag.rows.value_or(0) + behind.rows;
    take(&lag.seconds, behind.since_ms ? (table.clock->NowMs() - *behind.since_ms) / 1000 : 0);
  }
  return lag;
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> JobsOf(const Table& table) {
  Sheet sheet({{"job"},
               {"state"},
               {"inputs"},
               {"lines", true},
               {"applied", true},
               {"ignored", true},
               {"dead_letters", true},
               {"rows", true},
               {"snapshot", true},
               {"lag_snapshots", true},
               {"lag_rows", true},
               {"lag_seconds", true}});
  HEADRACE_ASSIGN_OR_RETURN(std::vector<ingest::JobInfo> jobs, ingest::ListJobs(table));
  for (const ingest::JobInfo& job : jobs) {
    const ingest::Position& at = job.position;
    HEADRACE_ASSIGN_OR_RETURN(const Lag lag, LagOf(table, at));
    const std::string state = at.finished ? "finished" : "under way";
    // A stage of a pipeline keeps no counts.
    const auto counted = [&](int64_t count) {
      return CellOf(at.sql_hash.empty() ? std::optional(count) : std::nullopt);
    };
    sheet.Add({job.job, state, Joined(ingest::PlacesOf(at)), counted(at.lines), counted(at.applied),
               counted(at.ignored), counted(at.dead_letters), counted(at.rows), job.snapshot.value,
               CellOf(lag.snapshots), CellOf(lag.rows), CellOf(lag.seconds)});
  }
  return sheet.Finish();
}

}  // namespace headrace
