// What the fuzzers of data files share: the columns that their seeds were written with, and reading a file to its end within bounded memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include "file/data_file_reader.h"

namespace headrace::fuzz {

inline constexpr int64_t kMostBytes = 256 << 20;

// The columns of the fixtures with every type, but for TIMESTAMP(9) and TIMESTAMP_LTZ(9), which Avro has no form for.
inline constexpr char kColumnsOfTypes[] =
    "id INT NOT NULL, c_boolean BOOLEAN, c_tinyint TINYINT, c_smallint SMALLINT, c_int INT, c_bigint BIGINT, "
    "c_float FLOAT, c_float2 FLOAT, "
    "c_double DOUBLE, c_double2 DOUBLE, c_decimal_9_2 DECIMAL(9, 2), c_decimal_18_4 DECIMAL(18, 4), "
    "c_decimal_38_18 DECIMAL(38, 18), "
    "c_char CHAR(5), c_varchar VARCHAR(20), c_string STRING, c_binary BINARY(4), c_varbinary VARBINARY(16), "
    "c_bytes BYTES, c_date DATE, "
    "c_time TIME(3), c_ts0 TIMESTAMP(0), c_ts3 TIMESTAMP(3), c_ts6 TIMESTAMP(6), c_ltz3 TIMESTAMP_LTZ(3), "
    "c_ltz6 TIMESTAMP_LTZ(6), "
    "c_array ARRAY<INT>, c_array_string ARRAY<STRING>, c_array_decimal ARRAY<DECIMAL(20, 3)>, c_array_array "
    "ARRAY<ARRAY<BIGINT>>, "
    "c_map MAP<STRING, INT>, c_map_int MAP<INT, STRING>, c_row ROW<a INT, b STRING, c ROW<d DOUBLE, e DATE, "
    "f ARRAY<INT>>>, "
    "c_array_row ARRAY<ROW<x BIGINT, y STRING>>, c_map_row MAP<STRING, ROW<x TIMESTAMP(6), y DECIMAL(9, 2)>>";

inline std::shared_ptr<const TableSchema> SchemaOf(const std::string& columns,
                                                   std::vector<std::string> keys) {
  auto schema = std::make_shared<TableSchema>();
  schema->fields = ParseColumns(columns).ValueOrDie();
  schema->primary_keys = std::move(keys);
  return schema;
}

// Reads the file at `path`: to an error, or batches that are valid and have `rows` rows together.
inline void Read(Store* store, const std::string& path, int64_t rows,
                 const std::shared_ptr<const TableSchema>& schema, bool keyed) {
  arrow::CappedMemoryPool pool(arrow::system_memory_pool(), kMostBytes);
  DataFileMeta file;
  file.row_count = rows;
  FileReadOptions options;
  options.table_schema = schema;
  options.columns = {.keys = keyed, .sequence = keyed, .kind = keyed, .values = schema->ColumnNames()};
  options.batch_rows = 1000;
  options.pool = &pool;
  auto reader = OpenDataFile(store, path, file, options);
  if (!reader.ok()) return;
  int64_t read = 0;
  while (true) {
    const auto batch = (*reader)->Next();
    if (!batch.ok()) return;
    if (*batch == nullptr) break;
    if (!(*batch)->ValidateFull().ok()) std::abort();
    read += (*batch)->num_rows();
  }
  if (read != rows) std::abort();
}

}  // namespace headrace::fuzz
