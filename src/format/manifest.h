// Manifest lists, manifests and index manifests: bytes to structs and back, in the Avro form Java 1.3.1 writes.
//
// Decoding resolves fields by name, skips unknown ones and reads absent nullable ones as null, so newer and other writers are
// read. The Parquet and ORC forms are turned into Arrow batches by `file/` and come in through the FromBatch functions.
// Pure; any error is kCorruption naming `origin` (the file) and the record. Source: ManifestFileMeta, ManifestEntrySerializer,
// IndexManifestEntry, AvroSchemaConverter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "base/ids.h"
#include "format/avro_codec.h"
#include "format/data_file_meta.h"

namespace headrace {

// One manifest file as a manifest list names it.
struct ManifestFileMeta {
  std::string name;                               // _FILE_NAME, in manifest/
  int64_t size_bytes = 0;                         // _FILE_SIZE
  int64_t added_files = 0;                        // _NUM_ADDED_FILES
  int64_t deleted_files = 0;                      // _NUM_DELETED_FILES
  SimpleStats partition_stats;                    // _PARTITION_STATS
  SchemaId schema_id;                             // _SCHEMA_ID, the largest among the entries' files
  std::optional<int32_t> min_bucket, max_bucket;  // nothing: unknown, the manifest cannot be skipped
  std::optional<int32_t> min_level, max_level;

  bool operator==(const ManifestFileMeta&) const = default;
};

struct DeletionVectorRange {
  std::string data_file;
  int32_t offset = 0;
  int32_t length = 0;
  std::optional<int64_t> cardinality;
  bool operator==(const DeletionVectorRange&) const = default;
};

struct IndexManifestEntry {
  EntryKind kind = EntryKind::kAdd;
  BinaryRow partition;
  BucketId bucket;
  std::string index_type;  // HASH, DELETION_VECTORS, or a type of a newer writer
  std::string file_name;
  int64_t file_size_bytes = 0;
  int64_t row_count = 0;
  std::optional<std::vector<DeletionVectorRange>> deletion_vectors;
  std::optional<std::string> external_path;
  bool has_global_index =
      false;  // _GLOBAL_INDEX of a newer writer is there: the entry cannot be written again
  bool operator==(const IndexManifestEntry&) const = default;
};

// `manifest.compression`: zstd, zstandard, null, none, uncompressed, deflate, gzip, snappy; kUnsupported otherwise.
Result<AvroCodec> AvroCodecFromOption(std::string_view name);

struct ManifestEncoding {
  AvroCodec codec = AvroCodec::kZstd;
  int zstd_level = 1;
};

Result<std::string> EncodeManifestList(const std::vector<ManifestFileMeta>& manifests,
                                       const ManifestEncoding& encoding);
Result<std::string> EncodeManifest(const std::vector<ManifestEntry>& entries,
                                   const ManifestEncoding& encoding);
Result<std::string> EncodeIndexManifest(const std::vector<IndexManifestEntry>& entries,
                                        const ManifestEncoding& encoding);

Result<std::vector<ManifestFileMeta>> DecodeManifestList(std::string_view bytes, std::string_view origin);
Result<std::vector<ManifestEntry>> DecodeManifest(std::string_view bytes, std::string_view origin);
// Only the entries that `wanted` takes (null: all). It sees kind, partition, bucket and total buckets; the file is not read yet and must
// not be looked at. An entry that is not wanted costs a fifth of one that is, one without statistics half of one with them.
using EntryHeadFilter = std::function<bool(const ManifestEntry& head)>;
enum class EntryDetail {
  kWhole,
  kWithoutStatistics,  // no key and value statistics: enough to read and to compare, not to write the entry again
};
Result<std::vector<ManifestEntry>> DecodeManifestWhere(std::string_view bytes, std::string_view origin,
                                                       const EntryHeadFilter& wanted, EntryDetail detail);
Result<std::vector<IndexManifestEntry>> DecodeIndexManifest(std::string_view bytes, std::string_view origin);

// Rows of a manifest stored as Parquet or ORC, already decoded to Arrow columns of the same names.
Result<std::vector<ManifestFileMeta>> ManifestListFromBatch(const arrow::RecordBatch& batch,
                                                            std::string_view origin);
Result<std::vector<ManifestEntry>> ManifestFromBatch(const arrow::RecordBatch& batch,
                                                     std::string_view origin);
Result<std::vector<IndexManifestEntry>> IndexManifestFromBatch(const arrow::RecordBatch& batch,
                                                               std::string_view origin);

// Told by the magic bytes, not by the option.
enum class ManifestContainer { kAvro, kParquet, kOrc };
Result<ManifestContainer> DetectManifestContainer(std::string_view bytes, std::string_view origin);

}  // namespace headrace
