// The fields of manifest records, by the names they have on disk, in the order of Java 1.3.1.
//
// One enumerator a field and one table a record: the decoders of Avro bytes and of Arrow batches both go through them.
#pragma once

#include <array>
#include <cstdint>

#include "format/avro_plan.h"

namespace headrace {

namespace stats_field {
enum : int32_t { kMin, kMax, kNullCounts };
}
inline constexpr std::array<WantedField, 3> kStatsFields = {{{"_MIN_VALUES", AvroShape::kBytes, true, {}},
                                                             {"_MAX_VALUES", AvroShape::kBytes, true, {}},
                                                             {"_NULL_COUNTS", AvroShape::kLongs, false, {}}}};

namespace list_field {
enum : int32_t {
  kVersion,
  kFileName,
  kFileSize,
  kAdded,
  kDeleted,
  kPartitionStats,
  kSchemaId,
  kMinBucket,
  kMaxBucket,
  kMinLevel,
  kMaxLevel
};
}
inline constexpr std::array<WantedField, 11> kListFields = {
    {{"_VERSION", AvroShape::kLong, true, {}},
     {"_FILE_NAME", AvroShape::kBytes, true, {}},
     {"_FILE_SIZE", AvroShape::kLong, true, {}},
     {"_NUM_ADDED_FILES", AvroShape::kLong, true, {}},
     {"_NUM_DELETED_FILES", AvroShape::kLong, true, {}},
     {"_PARTITION_STATS", AvroShape::kRecord, true, kStatsFields},
     {"_SCHEMA_ID", AvroShape::kLong, true, {}},
     {"_MIN_BUCKET", AvroShape::kLong, false, {}},
     {"_MAX_BUCKET", AvroShape::kLong, false, {}},
     {"_MIN_LEVEL", AvroShape::kLong, false, {}},
     {"_MAX_LEVEL", AvroShape::kLong, false, {}}}};

namespace file_field {
enum : int32_t {
  kFileName,
  kFileSize,
  kRowCount,
  kMinKey,
  kMaxKey,
  kKeyStats,
  kValueStats,
  kMinSequence,
  kMaxSequence,
  kSchemaId,
  kLevel,
  kExtraFiles,
  kCreationTime,
  kDeleteRowCount,
  kEmbeddedIndex,
  kFileSource,
  kValueStatsColumns,
  kExternalPath,
  kFirstRowId,
  kWriteColumns
};
}
inline constexpr std::array<WantedField, 20> kFileFields = {
    {{"_FILE_NAME", AvroShape::kBytes, true, {}},
     {"_FILE_SIZE", AvroShape::kLong, true, {}},
     {"_ROW_COUNT", AvroShape::kLong, true, {}},
     {"_MIN_KEY", AvroShape::kBytes, true, {}},
     {"_MAX_KEY", AvroShape::kBytes, true, {}},
     {"_KEY_STATS", AvroShape::kRecord, true, kStatsFields},
     {"_VALUE_STATS", AvroShape::kRecord, true, kStatsFields},
     {"_MIN_SEQUENCE_NUMBER", AvroShape::kLong, true, {}},
     {"_MAX_SEQUENCE_NUMBER", AvroShape::kLong, true, {}},
     {"_SCHEMA_ID", AvroShape::kLong, true, {}},
     {"_LEVEL", AvroShape::kLong, true, {}},
     {"_EXTRA_FILES", AvroShape::kStrings, true, {}},
     {"_CREATION_TIME", AvroShape::kLong, false, {}},
     {"_DELETE_ROW_COUNT", AvroShape::kLong, false, {}},
     {"_EMBEDDED_FILE_INDEX", AvroShape::kBytes, false, {}},
     {"_FILE_SOURCE", AvroShape::kLong, false, {}},
     {"_VALUE_STATS_COLS", AvroShape::kStrings, false, {}},
     {"_EXTERNAL_PATH", AvroShape::kBytes, false, {}},
     {"_FIRST_ROW_ID", AvroShape::kLong, false, {}},
     {"_WRITE_COLS", AvroShape::kStrings, false, {}}}};

namespace entry_field {
enum : int32_t { kVersion, kKind, kPartition, kBucket, kTotalBuckets, kFile };
}
inline constexpr std::array<WantedField, 6> kEntryFields = {
    {{"_VERSION", AvroShape::kLong, true, {}},
     {"_KIND", AvroShape::kLong, true, {}},
     {"_PARTITION", AvroShape::kBytes, true, {}},
     {"_BUCKET", AvroShape::kLong, true, {}},
     {"_TOTAL_BUCKETS", AvroShape::kLong, true, {}},
     {"_FILE", AvroShape::kRecord, true, kFileFields}}};

namespace range_field {
enum : int32_t { kDataFile, kOffset, kLength, kCardinality };
}
inline constexpr std::array<WantedField, 4> kRangeFields = {{{"f0", AvroShape::kBytes, true, {}},
                                                             {"f1", AvroShape::kLong, true, {}},
                                                             {"f2", AvroShape::kLong, true, {}},
                                                             {"_CARDINALITY", AvroShape::kLong, false, {}}}};

namespace index_field {
enum : int32_t {
  kVersion,
  kKind,
  kPartition,
  kBucket,
  kIndexType,
  kFileName,
  kFileSize,
  kRowCount,
  kDeletionVectors,
  kExternalPath,
  kGlobalIndex
};
}
inline constexpr std::array<WantedField, 11> kIndexFields = {
    {{"_VERSION", AvroShape::kLong, true, {}},
     {"_KIND", AvroShape::kLong, true, {}},
     {"_PARTITION", AvroShape::kBytes, true, {}},
     {"_BUCKET", AvroShape::kLong, true, {}},
     {"_INDEX_TYPE", AvroShape::kBytes, true, {}},
     {"_FILE_NAME", AvroShape::kBytes, true, {}},
     {"_FILE_SIZE", AvroShape::kLong, true, {}},
     {"_ROW_COUNT", AvroShape::kLong, true, {}},
     {"_DELETIONS_VECTORS_RANGES", AvroShape::kRecords, false, kRangeFields},
     {"_EXTERNAL_PATH", AvroShape::kBytes, false, {}},
     {"_GLOBAL_INDEX", AvroShape::kPresence, false, {}}}};

inline constexpr int64_t kManifestVersion = 2;       // of manifests and manifest lists
inline constexpr int64_t kIndexManifestVersion = 1;  // of index manifests

}  // namespace headrace
