// Field by field, with the checks that later code relies on.
#include "format/manifest_fill.h"

#include "format/file_name.h"

namespace headrace {
namespace {

constexpr Problem kNoSuchField = "a value for a field of another type";

Problem AsInt(int64_t value, int32_t least, int32_t* out) {
  if (value < least) return "a number below the smallest allowed";
  if (value > std::numeric_limits<int32_t>::max()) return "a number beyond 32 bits";
  *out = static_cast<int32_t>(value);
  return nullptr;
}

Problem AsOptionalInt(int64_t value, std::optional<int32_t>* out) {
  int32_t number = 0;
  const Problem problem = AsInt(value, std::numeric_limits<int32_t>::min(), &number);
  *out = number;
  return problem;
}

Problem AsSize(int64_t value, int64_t* out) {
  if (value < 0) return "a negative size or count";
  *out = value;
  return nullptr;
}

Problem AsKind(int64_t value, EntryKind* out) {
  if (value != 0 && value != 1) return "a kind other than 0 (add) and 1 (delete)";
  *out = static_cast<EntryKind>(value);
  return nullptr;
}

Problem AsVersion(int64_t value, int64_t wanted) {
  return value == wanted ? nullptr : "another format version than this build reads";
}

Problem AsFileName(std::string_view value, std::string* out) {
  const Problem problem = WhyNotAFileName(value);
  if (problem == nullptr) out->assign(value);
  return problem;
}

Problem AsRow(std::string_view value, BinaryRow* out) {
  if (value.size() < 12) return "a serialized row of fewer than 12 bytes";
  uint32_t arity = 0;
  for (size_t i = 0; i < 4; ++i) arity = (arity << 8) | static_cast<unsigned char>(value[i]);
  if (arity > value.size()) return "a serialized row with more fields than bytes";
  const size_t fixed = (static_cast<size_t>(arity) + 63 + 8) / 64 * 8 + 8 * static_cast<size_t>(arity);
  if (value.size() - 4 < fixed) return "a serialized row shorter than its fixed part";
  out->arity = static_cast<int32_t>(arity);
  out->bytes.assign(value.substr(4));
  return nullptr;
}

}  // namespace

std::span<const WantedField> FieldsFor(const SimpleStats*) { return kStatsFields; }
std::span<const WantedField> FieldsFor(const ManifestFileMeta*) { return kListFields; }
std::span<const WantedField> FieldsFor(const DataFileMeta*) { return kFileFields; }
std::span<const WantedField> FieldsFor(const ManifestEntry*) { return kEntryFields; }
std::span<const WantedField> FieldsFor(const DeletionVectorRange*) { return kRangeFields; }
std::span<const WantedField> FieldsFor(const IndexManifestEntry*) { return kIndexFields; }

Problem SetLong(SimpleStats*, int32_t, int64_t) { return kNoSuchField; }

Problem SetLong(ManifestFileMeta* out, int32_t field, int64_t value) {
  switch (field) {
    case list_field::kVersion: return AsVersion(value, kManifestVersion);
    case list_field::kFileSize: return AsSize(value, &out->size_bytes);
    case list_field::kAdded: return AsSize(value, &out->added_files);
    case list_field::kDeleted: return AsSize(value, &out->deleted_files);
    case list_field::kSchemaId: return AsSize(value, &out->schema_id.value);
    case list_field::kMinBucket: return AsOptionalInt(value, &out->min_bucket);
    case list_field::kMaxBucket: return AsOptionalInt(value, &out->max_bucket);
    case list_field::kMinLevel: return AsOptionalInt(value, &out->min_level);
    case list_field::kMaxLevel: return AsOptionalInt(value, &out->max_level);
    default: return kNoSuchField;
  }
}

Problem SetLong(DataFileMeta* out, int32_t field, int64_t value) {
  switch (field) {
    case file_field::kFileSize: return AsSize(value, &out->size_bytes);
    case file_field::kRowCount: return AsSize(value, &out->row_count);
    case file_field::kMinSequence: out->min_sequence = value; return nullptr;
    case file_field::kMaxSequence: out->max_sequence = value; return nullptr;
    case file_field::kSchemaId: return AsSize(value, &out->schema_id.value);
    case file_field::kLevel: return AsInt(value, 0, &out->level.value);
    case file_field::kCreationTime: out->creation_local_ms = value; return nullptr;
    case file_field::kDeleteRowCount:
      out->delete_row_count = 0;
      return AsSize(value, &*out->delete_row_count);
    case file_field::kFileSource:
      if (value != 0 && value != 1) return "a file source other than 0 (append) and 1 (compact)";
      out->source = static_cast<FileSource>(value);
      return nullptr;
    case file_field::kFirstRowId: out->first_row_id = value; return nullptr;
    default: return kNoSuchField;
  }
}

Problem SetLong(ManifestEntry* out, int32_t field, int64_t value) {
  switch (field) {
    case entry_field::kVersion: return AsVersion(value, kManifestVersion);
    case entry_field::kKind: return AsKind(value, &out->kind);
    case entry_field::kBucket: return AsInt(value, -2, &out->bucket.value);
    case entry_field::kTotalBuckets:
      return AsInt(value, std::numeric_limits<int32_t>::min(), &out->total_buckets);
    default: return kNoSuchField;
  }
}

Problem SetLong(DeletionVectorRange* out, int32_t field, int64_t value) {
  switch (field) {
    case range_field::kOffset: return AsInt(value, 0, &out->offset);
    case range_field::kLength: return AsInt(value, 0, &out->length);
    case range_field::kCardinality: out->cardinality = 0; return AsSize(value, &*out->cardinality);
    default: return kNoSuchField;
  }
}

Problem SetLong(IndexManifestEntry* out, int32_t field, int64_t value) {
  switch (field) {
    case index_field::kVersion: return AsVersion(value, kIndexManifestVersion);
    case index_field::kKind: return AsKind(value, &out->kind);
    case index_field::kBucket: return AsInt(value, -2, &out->bucket.value);
    case index_field::kFileSize: return AsSize(value, &out->file_size_bytes);
    case index_field::kRowCount: return AsSize(value, &out->row_count);
    default: return kNoSuchField;
  }
}

Problem SetBytes(SimpleStats* out, int32_t field, std::string_view value) {
  switch (field) {
    case stats_field::kMin: return AsRow(value, &out->min_values);
    case stats_field::kMax: return AsRow(value, &out->max_values);
    default: return kNoSuchField;
  }
}

Problem SetBytes(ManifestFileMeta* out, int32_t field, std::string_view value) {
  return field == list_field::kFileName ? AsFileName(value, &out->name) : kNoSuchField;
}

Problem SetBytes(DataFileMeta* out, int32_t field, std::string_view value) {
  switch (field) {
    case file_field::kFileName: return AsFileName(value, &out->name);
    case file_field::kMinKey: return AsRow(value, &out->min_key);
    case file_field::kMaxKey: return AsRow(value, &out->max_key);
    case file_field::kEmbeddedIndex: out->embedded_index.emplace(value); return nullptr;
    case file_field::kExternalPath: out->external_path.emplace(value); return nullptr;
    default: return kNoSuchField;
  }
}

Problem SetBytes(ManifestEntry* out, int32_t field, std::string_view value) {
  return field == entry_field::kPartition ? AsRow(value, &out->partition) : kNoSuchField;
}

Problem SetBytes(DeletionVectorRange* out, int32_t field, std::string_view value) {
  return field == range_field::kDataFile ? AsFileName(value, &out->data_file) : kNoSuchField;
}

Problem SetBytes(IndexManifestEntry* out, int32_t field, std::string_view value) {
  switch (field) {
    case index_field::kPartition: return AsRow(value, &out->partition);
    case index_field::kIndexType: out->index_type.assign(value); return nullptr;
    case index_field::kFileName: return AsFileName(value, &out->file_name);
    case index_field::kExternalPath: out->external_path.emplace(value); return nullptr;
    default: return kNoSuchField;
  }
}

std::vector<std::optional<int64_t>>* LongsOf(SimpleStats* out, int32_t field) {
  return field == stats_field::kNullCounts ? &out->null_counts : nullptr;
}

std::vector<std::string>* StringsOf(DataFileMeta* out, int32_t field) {
  switch (field) {
    case file_field::kExtraFiles: return &out->extra_files;
    case file_field::kValueStatsColumns: return &out->value_stats_columns.emplace();
    case file_field::kWriteColumns: return &out->write_columns.emplace();
    default: return nullptr;
  }
}

Problem CheckStrings(const DataFileMeta& out, int32_t field) {
  if (field != file_field::kExtraFiles) return nullptr;
  for (const std::string& name : out.extra_files) {
    const Problem problem = WhyNotAFileName(name);
    if (problem != nullptr) return problem;
  }
  return nullptr;
}

SimpleStats* RecordOf(ManifestFileMeta* out, int32_t field) {
  return field == list_field::kPartitionStats ? &out->partition_stats : nullptr;
}

SimpleStats* RecordOf(DataFileMeta* out, int32_t field) {
  if (field == file_field::kKeyStats) return &out->key_stats;
  return field == file_field::kValueStats ? &out->value_stats : nullptr;
}

DataFileMeta* RecordOf(ManifestEntry* out, int32_t field) {
  return field == entry_field::kFile ? &out->file : nullptr;
}

std::vector<DeletionVectorRange>* RecordsOf(IndexManifestEntry* out, int32_t field) {
  return field == index_field::kDeletionVectors ? &out->deletion_vectors.emplace() : nullptr;
}

}  // namespace headrace
