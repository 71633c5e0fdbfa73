#include "tests/hostile/described.h"

#include <optional>

#include "base/json.h"
#include "file/manifest_file.h"
#include "format/snapshot.h"
#include "format/table_schema.h"

namespace headrace::hostile {
namespace {

// A JSON text's members, the innermost ones apart: "fields/0/name".
void Flatten(const nlohmann::json& json, const std::string& prefix, Meaning* meaning) {
  if (!json.is_structured() || json.empty()) {
    (*meaning)[prefix] = ToJsonText(json, JsonLayout::kFlat);
    return;
  }
  for (const auto& [key, value] : json.items())
    Flatten(value, prefix.empty() ? key : prefix + "/" + key, meaning);
}

Result<Meaning> DescribeJson(const std::string& text) {
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, "described"));
  Meaning meaning;
  Flatten(json, "", &meaning);
  return meaning;
}

template <typename T>
std::string Text(const std::optional<T>& value) {
  return value.has_value() ? std::to_string(*value) : "none";
}

std::string Text(const std::optional<std::string>& value) { return value.value_or("none"); }

std::string Text(const SimpleStats& stats) {
  std::string text = SerializeBinaryRow(stats.min_values) + "|" + SerializeBinaryRow(stats.max_values);
  for (const auto& count : stats.null_counts) text += "|" + Text(count);
  return text;
}

std::string Text(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += value + "|";
  return text;
}

std::string At(size_t record, std::string_view field) {
  return std::to_string(record) + "/" + std::string(field);
}

}  // namespace

Result<Meaning> DescribeSnapshot(std::string_view bytes, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const Snapshot snapshot, ParseSnapshot(bytes, origin));
  return DescribeJson(SerializeSnapshot(snapshot));
}

Result<Meaning> DescribeSchema(std::string_view bytes, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const TableSchema schema, ParseTableSchema(bytes, origin));
  return DescribeJson(SerializeTableSchema(schema));
}

Result<Meaning> DescribeManifestList(std::string_view bytes, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(bytes, origin));
  Meaning meaning;
  meaning["records"] = std::to_string(manifests.size());
  for (size_t i = 0; i < manifests.size(); ++i) {
    const ManifestFileMeta& manifest = manifests[i];
    meaning[At(i, "_FILE_NAME")] = manifest.name;
    meaning[At(i, "_FILE_SIZE")] = std::to_string(manifest.size_bytes);
    meaning[At(i, "_NUM_ADDED_FILES")] = std::to_string(manifest.added_files);
    meaning[At(i, "_NUM_DELETED_FILES")] = std::to_string(manifest.deleted_files);
    meaning[At(i, "_PARTITION_STATS")] = Text(manifest.partition_stats);
    meaning[At(i, "_SCHEMA_ID")] = std::to_string(manifest.schema_id.value);
    meaning[At(i, "_MIN_BUCKET")] = Text(manifest.min_bucket);
    meaning[At(i, "_MAX_BUCKET")] = Text(manifest.max_bucket);
    meaning[At(i, "_MIN_LEVEL")] = Text(manifest.min_level);
    meaning[At(i, "_MAX_LEVEL")] = Text(manifest.max_level);
  }
  return meaning;
}

Result<Meaning> DescribeManifest(std::string_view bytes, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadManifest(bytes, origin));
  Meaning meaning;
  meaning["records"] = std::to_string(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const ManifestEntry& entry = entries[i];
    const DataFileMeta& file = entry.file;
    meaning[At(i, "_KIND")] = std::to_string(static_cast<int>(entry.kind));
    meaning[At(i, "_PARTITION")] = SerializeBinaryRow(entry.partition);
    meaning[At(i, "_BUCKET")] = std::to_string(entry.bucket.value);
    meaning[At(i, "_TOTAL_BUCKETS")] = std::to_string(entry.total_buckets);
    meaning[At(i, "_FILE_NAME")] = file.name;
    meaning[At(i, "_FILE_SIZE")] = std::to_string(file.size_bytes);
    meaning[At(i, "_ROW_COUNT")] = std::to_string(file.row_count);
    meaning[At(i, "_MIN_KEY")] = SerializeBinaryRow(file.min_key);
    meaning[At(i, "_MAX_KEY")] = SerializeBinaryRow(file.max_key);
    meaning[At(i, "_KEY_STATS")] = Text(file.key_stats);
    meaning[At(i, "_VALUE_STATS")] = Text(file.value_stats);
    meaning[At(i, "_MIN_SEQUENCE_NUMBER")] = std::to_string(file.min_sequence);
    meaning[At(i, "_MAX_SEQUENCE_NUMBER")] = std::to_string(file.max_sequence);
    meaning[At(i, "_SCHEMA_ID")] = std::to_string(file.schema_id.value);
    meaning[At(i, "_LEVEL")] = std::to_string(file.level.value);
    meaning[At(i, "_EXTRA_FILES")] = Text(file.extra_files);
    meaning[At(i, "_CREATION_TIME")] = Text(file.creation_local_ms);
    meaning[At(i, "_DELETE_ROW_COUNT")] = Text(file.delete_row_count);
    meaning[At(i, "_EMBEDDED_FILE_INDEX")] = Text(file.embedded_index);
    meaning[At(i, "_FILE_SOURCE")] = file.source ? std::to_string(static_cast<int>(*file.source)) : "none";
    meaning[At(i, "_VALUE_STATS_COLS")] = file.value_stats_columns ? Text(*file.value_stats_columns) : "none";
    meaning[At(i, "_EXTERNAL_PATH")] = Text(file.external_path);
    meaning[At(i, "_FIRST_ROW_ID")] = Text(file.first_row_id);
    meaning[At(i, "_WRITE_COLS")] = file.write_columns ? Text(*file.write_columns) : "none";
  }
  return meaning;
}

std::set<std::string> Differing(const Meaning& a, const Meaning& b) {
  std::set<std::string> fields;
  const auto add = [&](const Meaning& from, const Meaning& other) {
    for (const auto& [field, text] : from) {
      const auto it = other.find(field);
      if (it != other.end() && it->second == text) continue;
      const size_t name = field.find_first_not_of("0123456789/");
      fields.insert(name == std::string::npos ? field : field.substr(name));
    }
  };
  add(a, b);
  add(b, a);
  return fields;
}

}  // namespace headrace::hostile
