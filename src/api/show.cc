// The small tables behind `show`: schemas, snapshots, options, files, manifests, jobs.
#include <algorithm>
#include <map>

#include <arrow/record_batch.h>
#include <nlohmann/json.hpp>

#include "api/open_table.h"
#include "api/sheet.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "format/partition_path.h"
#include "format/table_options.h"
#include "format/value.h"
#include "ingest/jobs.h"

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

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
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

// The row of an option; a pattern row such as fields.<f>.stats-mode matches any column name.
const OptionRow* RowOf(std::string_view key) {
  for (const OptionRow& row : OptionTable()) {
    const size_t hole = row.key.find('<');
    if (hole == std::string_view::npos) {
      if (row.key == key) return &row;
      continue;
    }
    const std::string_view before = row.key.substr(0, hole);
    const std::string_view after = row.key.substr(row.key.find('>') + 1);
    if (key.size() > before.size() + after.size() && key.starts_with(before) && key.ends_with(after))
      return &row;
  }
  return nullptr;
}

// {"column": [min, max, nulls], …}: what the statistics of a file say, as text.
Result<SheetCell> StatsCell(const SimpleStats& stats, const std::vector<DataField>& fields) {
  std::vector<DataType> types;
  for (const DataField& field : fields) types.push_back(field.type);
  if (stats.min_values.arity != static_cast<int32_t>(fields.size()) ||
      stats.min_values.arity != stats.max_values.arity) {
    return SheetCell();
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (size_t i = 0; i < fields.size(); ++i) json[fields[i].name] = {nullptr, nullptr, nullptr};
  const auto fill = [&](const BinaryRow& row, size_t place) -> Status {
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> values, DecodeBinaryRow(row, types));
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!IsNull(values[i])) json[fields[i].name][place] = ToText(values[i], types[i]);
    }
    return Status::OK();
  };
  HEADRACE_RETURN_NOT_OK(fill(stats.min_values, 0));
  HEADRACE_RETURN_NOT_OK(fill(stats.max_values, 1));
  for (size_t i = 0; i < fields.size() && i < stats.null_counts.size(); ++i) {
    if (stats.null_counts[i]) json[fields[i].name][2] = *stats.null_counts[i];
  }
  return SheetCell(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Result<SheetCell> ValueStatsCell(const Table& table, const DataFileMeta& file) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const TableSchema> schema, table.schema_by_id(file.schema_id));
  std::vector<DataField> fields;
  if (file.value_stats_columns) {
    for (const std::string& name : *file.value_stats_columns) {
      const int index = schema->FieldIndex(name);
      if (index < 0) return SheetCell();
      fields.push_back(schema->fields[index]);
    }
  } else {
    fields = schema->fields;
  }
  // A nested column has no minimum or maximum to decode.
  for (const DataField& field : fields) {
    if (field.type.is_nested()) return SheetCell();
  }
  return StatsCell(file.value_stats, fields);
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
    std::string columns;
    for (const DataField& field : schema->fields) {
      columns += (columns.empty() ? "" : ", ") + field.name + " " + ToSql(field.type);
    }
    std::string options;
    for (const auto& [key, value] : schema->options)
      options += (options.empty() ? "" : ", ") + key + "=" + value;
    sheet.Add({id.value, columns, Listed(schema->primary_keys), Listed(schema->partition_keys), options,
               CellOf(schema->comment), TimeText(schema->time_millis)});
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
               CellOf(snapshot.total_record_count), CellOf(snapshot.delta_record_count),
               CellOf(snapshot.changelog_record_count), CellOf(snapshot.watermark)});
  }
  return sheet.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> OptionsOf(const Table& table) {
  Sheet sheet({{"option"}, {"value"}, {"default"}, {"support"}, {"meaning"}});
  for (const auto& [key, value] : table.schema->options) {
    const OptionRow* row = RowOf(key);
    if (row == nullptr) {
      sheet.Add({key, value, SheetCell(), std::string("unknown"),
                 std::string("not an option that Paimon knows; kept as it is")});
    } else {
      sheet.Add({key, value, std::string(row->default_text), std::string(SupportText(row->support)),
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
    HEADRACE_ASSIGN_OR_RETURN(SheetCell key_stats, StatsCell(file.key_stats, key_fields));
    HEADRACE_ASSIGN_OR_RETURN(SheetCell value_stats, ValueStatsCell(table, file));
    SheetCell source;
    if (file.source) source = std::string(*file.source == FileSource::kAppend ? "APPEND" : "COMPACT");
    SheetCell created;
    if (file.creation_local_ms) {
      created = ToText(Timestamp{*file.creation_local_ms, 0}, MillisecondsOf(TypeRoot::kTimestamp));
    }
    sheet.Add({partition, int64_t{entry.bucket.value}, int64_t{entry.total_buckets},
               int64_t{file.level.value}, file.name, file.row_count, CellOf(file.delete_row_count),
               file.size_bytes, min_key, max_key, file.min_sequence, file.max_sequence, file.schema_id.value,
               source, created, key_stats, value_stats});
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

Result<std::shared_ptr<arrow::RecordBatch>> JobsOf(const Table& table) {
  Sheet sheet({{"job"},
               {"state"},
               {"inputs"},
               {"lines", true},
               {"applied", true},
               {"ignored", true},
               {"dead_letters", true},
               {"rows", true},
               {"snapshot", true}});
  HEADRACE_ASSIGN_OR_RETURN(std::vector<ingest::JobInfo> jobs, ingest::ListJobs(table));
  for (const ingest::JobInfo& job : jobs) {
    const ingest::Position& at = job.position;
    const std::string state = at.finished ? "finished" : "under way";
    std::string inputs;
    for (const ingest::InputPosition& input : at.inputs) {
      inputs += (inputs.empty() ? "" : ", ") + input.path + " to line " + std::to_string(input.lines);
    }
    sheet.Add({job.job, state, inputs, at.lines, at.applied, at.ignored, at.dead_letters, at.rows,
               job.snapshot.value});
  }
  return sheet.Finish();
}

}  // namespace headrace
