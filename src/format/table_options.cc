// The options of one table: each key checked against its row, then the supported ones read into the struct.
#include "format/table_options.h"

#include <algorithm>
#include <limits>

#include "format/merge_engine_options.h"
#include "format/option_reader.h"
#include "format/option_values.h"

namespace headrace {
namespace {

struct Alias {
  std::string_view old_key;
  std::string_view key;
};
constexpr Alias kAliases[] = {{"first-row.ignore-delete", "ignore-delete"},
                              {"deduplicate.ignore-delete", "ignore-delete"},
                              {"partial-update.ignore-delete", "ignore-delete"},
                              {"write.compaction-skip", "write-only"},
                              {"log.scan", "scan.mode"},
                              {"log.scan.timestamp-millis", "scan.timestamp-millis"},
                              {"changelog-producer.lookup-wait", "lookup-wait"},
                              {"snapshot.expire.clean-empty-directories", "snapshot.clean-empty-directories"},
                              {"delete-file.thread-num", "file-operation.thread-num"},
                              {"blob.stored-descriptor-fields", "blob-descriptor-field"}};

std::string_view CurrentKey(std::string_view key) {
  for (const Alias& alias : kAliases) {
    if (alias.old_key == key) return alias.key;
  }
  return key;
}

// Whether the key is of the pattern's form: each <word> stands for one character or more.
bool MatchesPattern(std::string_view pattern, std::string_view key) {
  const size_t open = pattern.find('<');
  if (open == std::string_view::npos) return pattern == key;
  if (!key.starts_with(pattern.substr(0, open))) return false;
  const std::string_view rest = pattern.substr(pattern.find('>', open) + 1);
  for (size_t end = open + 1; end <= key.size(); ++end) {
    if (MatchesPattern(rest, key.substr(end))) return true;
  }
  return false;
}

bool IsBuiltValue(const OptionRow& row, std::string_view value) {
  const std::string lower = LowerAscii(TrimAscii(value));
  for (const std::string& built : SplitList(row.built_values)) {
    if (built == lower) return true;
  }
  return false;
}

Status CheckAgainstRow(const OptionRow& row, const std::string& key, const std::string& value,
                       Access access) {
  const bool refused = row.support == OptionSupport::kRefusedForReading ||
                       (row.support == OptionSupport::kRefusedForWriting && access == Access::kWrite);
  if (!refused || IsBuiltValue(row, value)) return Status::OK();
  const std::string_view where = row.support == OptionSupport::kRefusedForReading ? "" : " for writing";
  const std::string built =
      row.built_values.empty() ? "leave it out" : "supported: " + std::string(row.built_values);
  return Unsupported("table option '", key, "' = '", value, "' is not supported", where, " (", row.meaning,
                     "); ", built);
}

// A name that becomes part of a path.
Status CheckPathPart(const OptionReader& options, const std::string& key, bool folders) {
  const std::string* text = options.Find(key);
  if (text == nullptr) return Status::OK();
  const bool leads_out = text->starts_with('/') || *text == ".." || text->starts_with("../") ||
                         text->find("/../") != std::string::npos || text->ends_with("/..") ||
                         text->find('\0') != std::string::npos;
  if (leads_out || (!folders && text->find('/') != std::string::npos)) {
    return Invalid("table option '", key, "' = '", *text, "': must stay inside the table's folder");
  }
  return Status::OK();
}

Status ReadLayout(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(CheckPathPart(options, "data-file.prefix", false));
  HEADRACE_RETURN_NOT_OK(CheckPathPart(options, "changelog-file.prefix", false));
  HEADRACE_RETURN_NOT_OK(CheckPathPart(options, "data-file.path-directory", true));
  HEADRACE_RETURN_NOT_OK(options.Text("data-file.prefix", &out->data_file_prefix));
  HEADRACE_RETURN_NOT_OK(options.Text("changelog-file.prefix", &out->changelog_file_prefix));
  HEADRACE_RETURN_NOT_OK(options.Text("data-file.path-directory", &out->data_file_path_directory));
  while (out->data_file_path_directory.ends_with('/')) out->data_file_path_directory.pop_back();
  HEADRACE_RETURN_NOT_OK(options.Text("partition.default-name", &out->partition_default_name));
  if (TrimAscii(out->partition_default_name).empty()) {
    return Invalid("table option 'partition.default-name' = '", out->partition_default_name,
                   "': must not be blank");
  }
  return options.Bool("partition.legacy-name", &out->partition_legacy_name);
}

Status ReadMerging(const OptionReader& options, TableOptions* out) {
  const std::string* fields = options.Find("sequence.field");
  if (fields != nullptr) out->sequence_fields = SplitList(*fields);
  const std::string* order = options.Find("sequence.field.sort-order");
  if (order != nullptr) out->sequence_descending = LowerAscii(TrimAscii(*order)) == "descending";
  HEADRACE_RETURN_NOT_OK(options.Bool("ignore-delete", &out->ignore_delete));
  HEADRACE_RETURN_NOT_OK(options.Bool("write-only", &out->write_only));
  return options.Bool("data-file.thin-mode", &out->thin_mode);
}

Status ReadSpilling(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Bool("write-buffer-spillable", &out->write_buffer_spillable));
  HEADRACE_RETURN_NOT_OK(options.Size("write-buffer-spill.max-disk-size", &out->spill_disk_bytes));
  HEADRACE_RETURN_NOT_OK(options.Int("spill-compression.zstd-level", &out->spill_zstd_level, -7, 22));
  HEADRACE_RETURN_NOT_OK(options.Int("local-sort.max-num-file-handles", &out->spill_fan_in, 2));
  return options.Read("spill-compression", &out->spill_codec,
                      [](std::string_view text) -> Result<SpillCodec> {
                        const std::string name = LowerAscii(TrimAscii(text));
                        if (name == "none") return SpillCodec::kNone;
                        // Nobody but the writer reads what it spills: lz4 stands in for its like.
                        if (name == "lz4" || name == "lzo") return SpillCodec::kLz4;
                        if (name == "zstd") return SpillCodec::kZstd;
                        return Invalid("'", text, "'; allowed are zstd, lz4, lzo, none");
                      });
}

Status ReadFiles(const OptionReader& options, bool has_primary_key, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Lower("file.compression", &out->file_compression));
  HEADRACE_RETURN_NOT_OK(options.Int("file.compression.zstd-level", &out->zstd_level, -7, 22));
  HEADRACE_RETURN_NOT_OK(options.Lower("changelog-file.compression", &out->changelog_compression));
  out->target_file_bytes = (has_primary_key ? 128LL : 256LL) << 20;
  HEADRACE_RETURN_NOT_OK(options.Size("target-file-size", &out->target_file_bytes));
  HEADRACE_RETURN_NOT_OK(options.Size("write-buffer-size", &out->write_buffer_bytes));
  const std::string* integers = options.Find("headrace.parquet.integer-encoding");
  if (integers != nullptr) {
    const bool delta = LowerAscii(TrimAscii(*integers)) == "delta";
    out->integer_encoding = delta ? IntegerEncoding::kDelta : IntegerEncoding::kPlain;
  }
  return options.Read("parquet.enable.dictionary", &out->parquet_dictionary,
                      [](std::string_view text) -> Result<bool> {
                        // Java declares the option as a number and uses it as a flag; both spellings are around.
                        const std::string_view flag = TrimAscii(text);
                        if (flag == "0") return false;
                        if (flag == "1") return true;
                        return ParseBool(text);
                      });
}

Status ReadRetention(const OptionReader& options, Retention* out) {
  HEADRACE_RETURN_NOT_OK(options.Int("snapshot.num-retained.min", &out->snapshot_min, 1));
  HEADRACE_RETURN_NOT_OK(options.Int("snapshot.num-retained.max", &out->snapshot_max, 1));
  HEADRACE_RETURN_NOT_OK(options.Duration("snapshot.time-retained", &out->snapshot_ms));
  HEADRACE_RETURN_NOT_OK(options.Int("snapshot.expire.limit", &out->limit, 0));
  HEADRACE_RETURN_NOT_OK(options.Int("changelog.num-retained.min", &out->changelog_min, 1));
  HEADRACE_RETURN_NOT_OK(options.Int("changelog.num-retained.max", &out->changelog_max, 1));
  HEADRACE_RETURN_NOT_OK(options.Read("changelog.time-retained", &out->changelog_ms, ParseDurationMs));
  HEADRACE_RETURN_NOT_OK(options.Read("consumer.expiration-time", &out->consumer_ms, ParseDurationMs));
  HEADRACE_RETURN_NOT_OK(options.Bool("consumer.changelog-only", &out->consumers_hold_changelogs_only));
  return options.Bool("snapshot.clean-empty-directories", &out->clean_empty_directories);
}

Status ReadMetadata(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(
      options.Read("manifest.compression", &out->manifest_encoding.codec, AvroCodecFromOption));
  out->manifest_encoding.zstd_level = out->zstd_level;
  HEADRACE_RETURN_NOT_OK(options.Size("manifest.target-file-size", &out->manifest_target_bytes));
  HEADRACE_RETURN_NOT_OK(
      options.Size("manifest.full-compaction-threshold-size", &out->manifest_full_compaction_bytes));
  HEADRACE_RETURN_NOT_OK(options.Int("manifest.merge-min-count", &out->manifest_merge_min_count, 1));
  HEADRACE_RETURN_NOT_OK(options.Bool("manifest.delete-file-drop-stats", &out->manifest_drop_delete_stats));
  HEADRACE_RETURN_NOT_OK(options.Read("metadata.stats-mode", &out->stats_mode, ParseStatsMode));
  HEADRACE_RETURN_NOT_OK(
      options.Read("metadata.stats-mode.per.level", &out->level_stats_mode, ParseStatsModeByLevel));
  HEADRACE_RETURN_NOT_OK(options.Bool("metadata.stats-dense-store", &out->stats_dense_store));
  HEADRACE_RETURN_NOT_OK(options.Int("metadata.stats-keep-first-n-columns", &out->stats_first_columns, -1));
  HEADRACE_RETURN_NOT_OK(options.Int("commit.max-retries", &out->commit_max_retries, 0));
  HEADRACE_RETURN_NOT_OK(options.Duration("commit.timeout", &out->commit_timeout_ms));
  HEADRACE_RETURN_NOT_OK(options.Duration("commit.min-retry-wait", &out->commit_min_retry_wait_ms));
  HEADRACE_RETURN_NOT_OK(options.Duration("commit.max-retry-wait", &out->commit_max_retry_wait_ms));
  return ReadRetention(options, &out->retention);
}

Status CheckRetention(const Retention& retention) {
  if (retention.snapshot_min > retention.snapshot_max)
    return Invalid("table option 'snapshot.num-retained.min' = ", retention.snapshot_min,
                   " is more than 'snapshot.num-retained.max' = ", retention.snapshot_max);
  const int32_t least = retention.changelog_min.value_or(retention.snapshot_min);
  const int32_t most = retention.changelog_max.value_or(retention.snapshot_max);
  if (least > most)
    return Invalid("table option 'changelog.num-retained.min' = ", least,
                   " is more than 'changelog.num-retained.max' = ", most,
                   " (each is the snapshots' where it is not set)");
  return Status::OK();
}

Status ReadFieldModes(const std::map<std::string, std::string>& options, TableOptions* out) {
  constexpr std::string_view kPrefix = "fields.";
  constexpr std::string_view kSuffix = ".stats-mode";
  for (const auto& [key, value] : options) {
    if (!key.starts_with(kPrefix) || !key.ends_with(kSuffix) || key.size() <= kPrefix.size() + kSuffix.size())
      continue;
    auto mode = ParseStatsMode(value);
    if (!mode.ok()) return WithContext("table option '" + key + "'", mode.status());
    out->field_stats_mode[key.substr(kPrefix.size(), key.size() - kPrefix.size() - kSuffix.size())] = *mode;
  }
  return Status::OK();
}

Status CheckSequence(const TableSchema& schema, const TableOptions& options) {
  if (options.sequence_fields.empty()) return Status::OK();
  if (!schema.has_primary_key()) return Invalid("table option 'sequence.field' needs a primary key");
  for (size_t i = 0; i < options.sequence_fields.size(); ++i) {
    const std::string& name = options.sequence_fields[i];
    const int index = schema.FieldIndex(name);
    if (index < 0) return Invalid("table option 'sequence.field': column '", name, "' does not exist");
    if (schema.fields[static_cast<size_t>(index)].type.is_nested()) {
      return Unsupported("table option 'sequence.field': column '", name, "' has a nested type");
    }
    if (std::count(options.sequence_fields.begin(), options.sequence_fields.end(), name) > 1) {
      return Invalid("table option 'sequence.field': column '", name, "' is named twice");
    }
    if (schema.options.contains("fields." + name + ".aggregate-function")) {
      return Invalid("table option 'sequence.field': column '", name, "' has an aggregate function");
    }
  }
  return Status::OK();
}

Status CheckTogether(const TableSchema& schema, const TableOptions& options, Access access) {
  HEADRACE_RETURN_NOT_OK(CheckBucketOptions(schema, options, access));
  HEADRACE_RETURN_NOT_OK(CheckSequence(schema, options));
  if (!schema.has_primary_key() && options.changelog_producer != ChangelogProducer::kNone) {
    return Invalid("table option 'changelog-producer' needs a primary key");
  }
  HEADRACE_RETURN_NOT_OK(CheckCompactionOptions(schema, options));
  if (access == Access::kRead) return Status::OK();
  HEADRACE_RETURN_NOT_OK(CheckRetention(options.retention));
  if (!schema.has_primary_key() && options.bucket == -1 &&
      options.full_compaction_delta_commits.has_value()) {
    return Invalid("table option 'full-compaction.delta-commits' needs buckets");
  }
  for (const DataField& field : schema.fields) {
    if (field.default_value.has_value()) {
      return Unsupported("column '", field.name, "' has a default value ('", *field.default_value,
                         "'), which is not supported for writing");
    }
  }
  return Status::OK();
}

}  // namespace

const OptionRow* FindOption(std::string_view key) {
  const std::string_view current = CurrentKey(key);
  const OptionRow* best = nullptr;
  for (const OptionRow& row : OptionTable()) {
    if (row.key == current) return &row;
    if (!MatchesPattern(row.key, current)) continue;
    if (best == nullptr || row.key.size() > best->key.size()) best = &row;
  }
  return best;
}

Result<TableOptions> ParseTableOptions(const TableSchema& schema, Access access,
                                       std::vector<std::string>* unknown) {
  std::map<std::string, std::string> options;  // under today's names; one of today wins over an old one
  for (const auto& [key, value] : schema.options) {
    const OptionRow* row = FindOption(key);
    if (row == nullptr) {
      if (unknown != nullptr) unknown->push_back(key);
      continue;
    }
    HEADRACE_RETURN_NOT_OK(CheckAgainstRow(*row, key, value, access));
    const std::string current(CurrentKey(key));
    if (current == key) {
      options[key] = value;
    } else {
      options.emplace(current, value);
    }
  }
  const OptionReader reader(options);
  TableOptions result;
  HEADRACE_RETURN_NOT_OK(ReadBucketOptions(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadLayout(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadMerging(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadFiles(reader, schema.has_primary_key(), &result));
  HEADRACE_RETURN_NOT_OK(ReadSpilling(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadCompactionOptions(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadDeletionOptions(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadMergeEngine(options, schema, access, &result));
  HEADRACE_RETURN_NOT_OK(ReadMetadata(reader, &result));
  HEADRACE_RETURN_NOT_OK(ReadFieldModes(options, &result));
  HEADRACE_RETURN_NOT_OK(CheckTogether(schema, result, access));
  return result;
}

}  // namespace headrace
