// Any bytes as a Parquet data file, read by each of three schemas that the seeds were written with. Batches that come out are valid and have
// the rows that the footer tells, within a bounded amount of memory.
//
// Arrow's Parquet reader is not instrumented: of its own faults only the fatal ones are seen here.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "file/data_file_reader.h"
#include "io/memory_store.h"

namespace {

using namespace headrace;

constexpr char kPath[] = "/data-1.parquet";
constexpr int64_t kMostBytes = 256 << 20;
constexpr int64_t kMostRows = 200000;  // columns of nothing but nulls cost no bytes in the file

std::shared_ptr<const TableSchema> SchemaOf(const char* columns, std::vector<std::string> keys) {
  auto schema = std::make_shared<TableSchema>();
  schema->fields = ParseColumns(columns).ValueOrDie();
  schema->primary_keys = std::move(keys);
  return schema;
}

const std::vector<std::shared_ptr<const TableSchema>>& Schemas() {
  static const std::vector<std::shared_ptr<const TableSchema>> schemas = {
      SchemaOf("customer_id BIGINT NOT NULL, name STRING, email STRING, plan STRING, address STRING",
               {"customer_id"}),
      SchemaOf(
          "id INT NOT NULL, c_boolean BOOLEAN, c_tinyint TINYINT, c_smallint SMALLINT, c_int INT, c_bigint "
          "BIGINT, c_float FLOAT, c_float2 FLOAT, c_double DOUBLE, c_double2 DOUBLE, c_decimal_9_2 "
          "DECIMAL(9, "
          "2), c_decimal_18_4 DECIMAL(18, 4), c_decimal_38_18 DECIMAL(38, 18), c_char CHAR(5), c_varchar "
          "VARCHAR(20), c_string STRING, c_binary BINARY(4), c_varbinary VARBINARY(16), c_bytes BYTES, "
          "c_date "
          "DATE, c_time TIME(3), c_ts0 TIMESTAMP(0), c_ts3 TIMESTAMP(3), c_ts6 TIMESTAMP(6), c_ts9 "
          "TIMESTAMP(9), c_ltz3 TIMESTAMP_LTZ(3), c_ltz6 TIMESTAMP_LTZ(6), c_ltz9 TIMESTAMP_LTZ(9), c_array "
          "ARRAY<INT>, c_array_string ARRAY<STRING>, c_array_decimal ARRAY<DECIMAL(20, 3)>, c_array_array "
          "ARRAY<ARRAY<BIGINT>>, c_map MAP<STRING, INT>, c_map_int MAP<INT, STRING>, c_row ROW<a INT, b "
          "STRING, c ROW<d DOUBLE, e DATE, f ARRAY<INT>>>, c_array_row ARRAY<ROW<x BIGINT, y STRING>>, "
          "c_map_row MAP<STRING, ROW<x TIMESTAMP(6), y DECIMAL(9, 2)>>",
          {"id"}),
      SchemaOf("k DECIMAL(38, 18) NOT NULL, v INT", {"k"}),
  };
  return schemas;
}

// The rows of the footer, or nothing when it is none.
int64_t RowsOfFooter(Store* store) {
  try {
    return parquet::ParquetFileReader::Open(store->OpenForRead(kPath).ValueOrDie())->metadata()->num_rows();
  } catch (const std::exception&) {
    return -1;
  }
}

void Read(Store* store, int64_t rows, const std::shared_ptr<const TableSchema>& schema, bool keyed) {
  arrow::CappedMemoryPool pool(arrow::system_memory_pool(), kMostBytes);
  DataFileMeta file;
  file.row_count = rows;
  FileReadOptions options;
  options.table_schema = schema;
  options.columns = {.keys = keyed, .sequence = keyed, .kind = keyed, .values = schema->ColumnNames()};
  options.batch_rows = 1000;
  options.pool = &pool;
  auto reader = OpenDataFile(store, kPath, file, options);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  (void)store.Replace(kPath, {reinterpret_cast<const char*>(data), size});
  const int64_t rows = RowsOfFooter(&store);
  if (rows < 0 || rows > kMostRows) return 0;
  for (const auto& schema : Schemas()) {
    Read(&store, rows, schema, true);
    Read(&store, rows, schema, false);
  }
  return 0;
}
