// A table's schema file and what follows from it: trimmed key, bucket key, options.
//
// Immutable once read. Unknown options are kept: a rewritten schema carries everything it does not understand.
// Source: TableSchema, SchemaSerializer, SchemaValidation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "format/data_type.h"

namespace headrace {

struct TableSchema {
  int32_t version = 3;
  SchemaId id;
  std::vector<DataField> fields;
  int32_t highest_field_id = -1;  // nested and dropped fields included; never decreases
  std::vector<std::string> partition_keys;
  std::vector<std::string> primary_keys;  // as declared, in declared order
  std::map<std::string, std::string> options;
  std::vector<std::string>
      option_order;  // keys as the file had them, to write it back alike; others follow sorted
  std::optional<std::string> comment;
  int64_t time_millis = 0;

  bool operator==(const TableSchema& other) const;  // the order of options means nothing

  bool has_primary_key() const { return !primary_keys.empty(); }
  // A primary key that does not hold all partition keys: its row moves when a partition column changes.
  bool moves_between_partitions() const;
  // Primary keys less partition keys, in primary-key order: the key inside a bucket.
  std::vector<std::string> TrimmedPrimaryKeys() const;
  // `bucket-key`, else the trimmed primary key; empty for an unaware-bucket append table.
  std::vector<std::string> BucketKeys() const;
  std::vector<std::string> ColumnNames() const;
  // Index of a column, or -1.
  int FieldIndex(std::string_view name) const;
  // Fields by name, in the order given. Precondition: all exist.
  std::vector<DataField> FieldsOf(const std::vector<std::string>& names) const;
  std::vector<DataType> TypesOf(const std::vector<std::string>& names) const;
};

// The defaults of old versions are injected on reading, as Java does (version 1: bucket=1, up to 2: file.format=orc).
Result<TableSchema> ParseTableSchema(std::string_view json, std::string_view origin);
// Pretty-printed as Java prints it, so that the bytes of a schema file re-encode to themselves.
std::string SerializeTableSchema(const TableSchema& schema);

// A new table's schema 0: ids assigned depth-first, primary keys made NOT NULL, names and keys checked (columns that exist,
// no reserved names, primitive key types, bucket key inside the primary key and outside the partition keys …).
struct NewTable {
  std::vector<DataField> fields;
  std::vector<std::string> primary_keys;
  std::vector<std::string> partition_keys;
  std::map<std::string, std::string> options;
  std::optional<std::string> comment;
};
Result<TableSchema> MakeTableSchema(NewTable table, int64_t now_ms);

// Physical columns of key-value files, and their reserved field ids.
inline constexpr std::string_view kKeyPrefix = "_KEY_";
inline constexpr std::string_view kSequenceColumn = "_SEQUENCE_NUMBER";
inline constexpr std::string_view kKindColumn = "_VALUE_KIND";
inline constexpr int32_t kSequenceFieldId = 2147483646;
inline constexpr int32_t kKindFieldId = 2147483645;
inline constexpr int32_t kKeyFieldIdBase = 1073741823;

}  // namespace headrace
