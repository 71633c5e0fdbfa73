// Any bytes as a Parquet data file, read by each of three schemas that the seeds were written with. Batches that come out are valid and have
// the rows that the footer tells, within a bounded amount of memory.
//
// Arrow's Parquet reader is not instrumented: of its own faults only the fatal ones are seen here.
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "io/memory_store.h"
#include "tests/fuzz/read_data_file.h"

namespace {

using namespace headrace;

constexpr char kPath[] = "/data-1.parquet";
constexpr int64_t kMostRows = 200000;  // columns of nothing but nulls cost no bytes in the file

const std::vector<std::shared_ptr<const TableSchema>>& Schemas() {
  static const std::vector<std::shared_ptr<const TableSchema>> schemas = {
      fuzz::SchemaOf("customer_id BIGINT NOT NULL, name STRING, email STRING, plan STRING, address STRING",
                     {"customer_id"}),
      fuzz::SchemaOf(std::string(fuzz::kColumnsOfTypes) + ", c_ts9 TIMESTAMP(9), c_ltz9 TIMESTAMP_LTZ(9)",
                     {"id"}),
      fuzz::SchemaOf("k DECIMAL(38, 18) NOT NULL, v INT", {"k"}),
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  (void)store.Replace(kPath, {reinterpret_cast<const char*>(data), size});
  const int64_t rows = RowsOfFooter(&store);
  if (rows < 0 || rows > kMostRows) return 0;
  for (const auto& schema : Schemas()) {
    fuzz::Read(&store, kPath, rows, schema, true);
    fuzz::Read(&store, kPath, rows, schema, false);
  }
  return 0;
}
