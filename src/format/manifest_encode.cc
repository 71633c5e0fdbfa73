// Structs to Avro manifests, with the schema text and the bytes that Java 1.3.1 writes.
#include <array>

#include "format/avro_bytes.h"
#include "format/avro_container.h"
#include "format/manifest.h"
#include "format/manifest_fields.h"
#include "format/manifest_schemas.h"

namespace headrace {
namespace {

// "name" of the record that holds statistics under `parent`, in the form of Java's schema converter.
std::string StatsType(std::string_view name) {
  return R"({"type":"record","name":")" + std::string(name) +
         R"(","fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},)"
         R"({"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]})";
}

constexpr std::string_view kRecordHead =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)";
constexpr std::string_view kStringsType = R"({"type":"array","items":"string"})";

std::string Field(std::string_view name, std::string_view type) {
  const bool quoted = type.front() != '{';
  const std::string quote = quoted ? "\"" : "";
  return "{\"name\":\"" + std::string(name) + "\",\"type\":" + quote + std::string(type) + quote + "}";
}

std::string NullableField(std::string_view name, std::string_view type) {
  const std::string quote = type.front() == '{' ? "" : "\"";
  return "{\"name\":\"" + std::string(name) + "\",\"type\":[\"null\"," + quote + std::string(type) + quote +
         "],\"default\":null}";
}

std::string Fields(std::initializer_list<std::string> fields) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ",") + field;
  return text;
}

}  // namespace

std::string ManifestListSchema() {
  return std::string(kRecordHead) +
         Fields({Field("_VERSION", "int"), Field("_FILE_NAME", "string"), Field("_FILE_SIZE", "long"),
                 Field("_NUM_ADDED_FILES", "long"), Field("_NUM_DELETED_FILES", "long"),
                 Field("_PARTITION_STATS", StatsType("record__PARTITION_STATS")), Field("_SCHEMA_ID", "long"),
                 NullableField("_MIN_BUCKET", "int"), NullableField("_MAX_BUCKET", "int"),
                 NullableField("_MIN_LEVEL", "int"), NullableField("_MAX_LEVEL", "int")}) +
         "]}";
}

namespace {

std::string DataFileType() {
  return R"({"type":"record","name":"record__FILE","fields":[)" +
         Fields({Field("_FILE_NAME", "string"),
                 Field("_FILE_SIZE", "long"),
                 Field("_ROW_COUNT", "long"),
                 Field("_MIN_KEY", "bytes"),
                 Field("_MAX_KEY", "bytes"),
                 Field("_KEY_STATS", StatsType("record__FILE__KEY_STATS")),
                 Field("_VALUE_STATS", StatsType("record__FILE__VALUE_STATS")),
                 Field("_MIN_SEQUENCE_NUMBER", "long"),
                 Field("_MAX_SEQUENCE_NUMBER", "long"),
                 Field("_SCHEMA_ID", "long"),
                 Field("_LEVEL", "int"),
                 Field("_EXTRA_FILES", kStringsType),
                 NullableField("_CREATION_TIME", R"({"type":"long","logicalType":"timestamp-millis"})"),
                 NullableField("_DELETE_ROW_COUNT", "long"),
                 NullableField("_EMBEDDED_FILE_INDEX", "bytes"),
                 NullableField("_FILE_SOURCE", "int"),
                 NullableField("_VALUE_STATS_COLS", kStringsType),
                 NullableField("_EXTERNAL_PATH", "string"),
                 NullableField("_FIRST_ROW_ID", "long"),
                 NullableField("_WRITE_COLS", kStringsType)}) +
         "]}";
}

}  // namespace

std::string ManifestSchema() {
  return std::string(kRecordHead) +
         Fields({Field("_VERSION", "int"), Field("_KIND", "int"), Field("_PARTITION", "bytes"),
                 Field("_BUCKET", "int"), Field("_TOTAL_BUCKETS", "int"), Field("_FILE", DataFileType())}) +
         "]}";
}

std::string IndexManifestSchema() {
  const std::string range =
      R"({"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[)" +
      Fields({Field("f0", "string"), Field("f1", "int"), Field("f2", "int"),
              NullableField("_CARDINALITY", "long")}) +
      "]}]}";
  return std::string(kRecordHead) +
         Fields({Field("_VERSION", "int"), Field("_KIND", "int"), Field("_PARTITION", "bytes"),
                 Field("_BUCKET", "int"), Field("_INDEX_TYPE", "string"), Field("_FILE_NAME", "string"),
                 Field("_FILE_SIZE", "long"), Field("_ROW_COUNT", "long"),
                 NullableField("_DELETIONS_VECTORS_RANGES", range),
                 NullableField("_EXTERNAL_PATH", "string")}) +
         "]}";
}

namespace {

// Union branches: null is 0, the value 1.
class RecordWriter {
 public:
  explicit RecordWriter(std::string* out) : out_(*out) {}

  void Long(int64_t value) { AppendAvroLong(value, &out_); }
  void Bytes(std::string_view value) { AppendAvroBytes(value, &out_); }

  void Row(const BinaryRow& row) {
    Long(static_cast<int64_t>(4 + row.bytes.size()));
    AppendSerialized(row, &out_);
  }

  template <typename T>
  void Optional(const std::optional<T>& value) {
    Long(value.has_value() ? 1 : 0);
    if (!value.has_value()) return;
    if constexpr (std::is_same_v<T, std::string>) {
      Bytes(*value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      Strings(*value);
    } else {
      Long(static_cast<int64_t>(*value));
    }
  }

  void Strings(const std::vector<std::string>& values) {
    BeginItems(values.size());
    for (const std::string& value : values) Bytes(value);
    EndItems(values.size());
  }

  void Stats(const SimpleStats& stats) {
    Row(stats.min_values);
    Row(stats.max_values);
    Long(1);
    BeginItems(stats.null_counts.size());
    for (const std::optional<int64_t>& count : stats.null_counts) Optional(count);
    EndItems(stats.null_counts.size());
  }

  void File(const DataFileMeta& file) {
    Bytes(file.name);
    Long(file.size_bytes);
    Long(file.row_count);
    Row(file.min_key);
    Row(file.max_key);
    Stats(file.key_stats);
    Stats(file.value_stats);
    Long(file.min_sequence);
    Long(file.max_sequence);
    Long(file.schema_id.value);
    Long(file.level.value);
    Strings(file.extra_files);
    Optional(file.creation_local_ms);
    Optional(file.delete_row_count);
    Optional(file.embedded_index);
    Optional(file.source);
    Optional(file.value_stats_columns);
    Optional(file.external_path);
    Optional(file.first_row_id);
    Optional(file.write_columns);
  }

  void Range(const DeletionVectorRange& range) {
    Bytes(range.data_file);
    Long(range.offset);
    Long(range.length);
    Optional(range.cardinality);
  }

  void Ranges(const std::optional<std::vector<DeletionVectorRange>>& ranges) {
    Long(ranges.has_value() ? 1 : 0);
    if (!ranges.has_value()) return;
    BeginItems(ranges->size());
    for (const DeletionVectorRange& range : *ranges) {
      Long(1);
      Range(range);
    }
    EndItems(ranges->size());
  }

 private:
  void BeginItems(size_t count) {
    if (count > 0) Long(static_cast<int64_t>(count));
  }
  void EndItems(size_t) { Long(0); }

  std::string& out_;
};

Status Write(const ManifestFileMeta& manifest, RecordWriter* out) {
  out->Long(kManifestVersion);
  out->Bytes(manifest.name);
  out->Long(manifest.size_bytes);
  out->Long(manifest.added_files);
  out->Long(manifest.deleted_files);
  out->Stats(manifest.partition_stats);
  out->Long(manifest.schema_id.value);
  out->Optional(manifest.min_bucket);
  out->Optional(manifest.max_bucket);
  out->Optional(manifest.min_level);
  out->Optional(manifest.max_level);
  return Status::OK();
}

Status Write(const ManifestEntry& entry, RecordWriter* out) {
  out->Long(kManifestVersion);
  out->Long(static_cast<int64_t>(entry.kind));
  out->Row(entry.partition);
  out->Long(entry.bucket.value);
  out->Long(entry.total_buckets);
  out->File(entry.file);
  return Status::OK();
}

Status Write(const IndexManifestEntry& entry, RecordWriter* out) {
  if (entry.has_global_index) {
    return Unsupported("index file ", entry.file_name, " of type ", entry.index_type,
                       " has a _GLOBAL_INDEX record, which this build cannot write back: writing to this "
                       "table would lose it");
  }
  out->Long(kIndexManifestVersion);
  out->Long(static_cast<int64_t>(entry.kind));
  out->Row(entry.partition);
  out->Long(entry.bucket.value);
  out->Bytes(entry.index_type);
  out->Bytes(entry.file_name);
  out->Long(entry.file_size_bytes);
  out->Long(entry.row_count);
  out->Ranges(entry.deletion_vectors);
  out->Optional(entry.external_path);
  return Status::OK();
}

template <typename T>
Result<std::string> Encode(const std::string& schema, const std::vector<T>& records,
                           const ManifestEncoding& encoding) {
  AvroFileWriter file(schema, encoding.codec, encoding.zstd_level);
  RecordWriter writer(file.buffer());
  for (const T& record : records) {
    HEADRACE_RETURN_NOT_OK(Write(record, &writer));
    HEADRACE_RETURN_NOT_OK(file.EndRecord());
  }
  return file.Finish();
}

}  // namespace

Result<std::string> EncodeManifestList(const std::vector<ManifestFileMeta>& manifests,
                                       const ManifestEncoding& encoding) {
  return Encode(ManifestListSchema(), manifests, encoding);
}

Result<std::string> EncodeManifest(const std::vector<ManifestEntry>& entries,
                                   const ManifestEncoding& encoding) {
  return Encode(ManifestSchema(), entries, encoding);
}

Result<std::string> EncodeIndexManifest(const std::vector<IndexManifestEntry>& entries,
                                        const ManifestEncoding& encoding) {
  return Encode(IndexManifestSchema(), entries, encoding);
}

Result<AvroCodec> AvroCodecFromOption(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  static constexpr std::array<std::pair<std::string_view, AvroCodec>, 8> kNames = {
      {{"zstd", AvroCodec::kZstd},
       {"zstandard", AvroCodec::kZstd},
       {"null", AvroCodec::kNull},
       {"none", AvroCodec::kNull},
       {"uncompressed", AvroCodec::kNull},
       {"deflate", AvroCodec::kDeflate},
       {"gzip", AvroCodec::kDeflate},
       {"snappy", AvroCodec::kSnappy}}};
  for (const auto& [known, codec] : kNames) {
    if (known == lower) return codec;
  }
  return Unsupported("manifest.compression '", name, "'; supported are zstd, none, deflate, gzip, snappy");
}

std::string IdentityOf(const ManifestEntry& entry) {
  // Lengths in front of every variable part, so that no two identities share their bytes.
  std::string identity;
  RecordWriter out(&identity);
  out.Row(entry.partition);
  out.Long(entry.bucket.value);
  out.Long(entry.file.level.value);
  out.Bytes(entry.file.name);
  out.Strings(entry.file.extra_files);
  out.Optional(entry.file.embedded_index);
  out.Optional(entry.file.external_path);
  return identity;
}

}  // namespace headrace
