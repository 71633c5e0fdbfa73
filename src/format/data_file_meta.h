// One data file as a manifest lists it, and an entry that adds or deletes it.
//
// Plain values. A file's identity is (partition, bucket, level, name, extra files, embedded index, external path): a DELETE must
// repeat them exactly. Source: DataFileMeta, ManifestEntry, FileEntry.Identifier, SimpleStats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "format/binary_row.h"

namespace headrace {

// Minimum, maximum and null count a column. Rows of all columns listed; a null minimum and maximum means "unknown" unless
// the null count says that all values are null.
struct SimpleStats {
  BinaryRow min_values;
  BinaryRow max_values;
  std::vector<std::optional<int64_t>> null_counts;

  bool operator==(const SimpleStats&) const = default;
};

enum class FileSource : int32_t { kAppend = 0, kCompact = 1 };

struct DataFileMeta {
  std::string name;                           // _FILE_NAME
  int64_t size_bytes = 0;                     // _FILE_SIZE
  int64_t row_count = 0;                      // _ROW_COUNT, deletes included
  BinaryRow min_key;                          // _MIN_KEY, exact
  BinaryRow max_key;                          // _MAX_KEY, exact
  SimpleStats key_stats;                      // _KEY_STATS
  SimpleStats value_stats;                    // _VALUE_STATS
  int64_t min_sequence = 0;                   // _MIN_SEQUENCE_NUMBER
  int64_t max_sequence = 0;                   // _MAX_SEQUENCE_NUMBER
  SchemaId schema_id;                         // _SCHEMA_ID the file was written with
  Level level;                                // _LEVEL
  std::vector<std::string> extra_files;       // _EXTRA_FILES
  std::optional<int64_t> creation_local_ms;   // _CREATION_TIME: the writer's local wall clock read as UTC
  std::optional<int64_t> delete_row_count;    // _DELETE_ROW_COUNT; nothing: unknown
  std::optional<std::string> embedded_index;  // _EMBEDDED_FILE_INDEX
  std::optional<FileSource> source;           // _FILE_SOURCE
  std::optional<std::vector<std::string>> value_stats_columns;  // _VALUE_STATS_COLS; nothing: all columns
  std::optional<std::string> external_path;                     // _EXTERNAL_PATH
  std::optional<int64_t> first_row_id;                          // _FIRST_ROW_ID
  std::optional<std::vector<std::string>> write_columns;        // _WRITE_COLS

  bool operator==(const DataFileMeta&) const = default;
};

enum class EntryKind : int32_t { kAdd = 0, kDelete = 1 };

struct ManifestEntry {
  EntryKind kind = EntryKind::kAdd;
  BinaryRow partition;
  BucketId bucket;
  int32_t total_buckets = 0;  // the `bucket` option when written: n, -1 or -2
  DataFileMeta file;

  bool operator==(const ManifestEntry&) const = default;
};

// A partition and a bucket in it. In the order of bytes: for maps and sets.
using BucketPlace = std::pair<BinaryRow, BucketId>;

// The bytes that identify a file among live files; equal identities are the same file.
std::string IdentityOf(const ManifestEntry& entry);

}  // namespace headrace
