// Any bytes as an Avro data file of rows, read by each of the schemas that the seeds were written with: an error, or valid batches with as many
// rows as the blocks tell, within a bounded amount of memory.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "format/avro_container.h"
#include "io/memory_store.h"
#include "tests/fuzz/read_data_file.h"

namespace {

using namespace headrace;

constexpr char kPath[] = "/data-1.avro";
constexpr int64_t kMostRows = 20000;  // columns of nothing but nulls cost no bytes in the file

const std::vector<std::shared_ptr<const TableSchema>>& Schemas() {
  static const std::vector<std::shared_ptr<const TableSchema>> schemas = {
      fuzz::SchemaOf(fuzz::kColumnsOfTypes, {"id"}),
      fuzz::SchemaOf("id INT NOT NULL, m MULTISET<STRING>, n MULTISET<VARCHAR(9)>", {"id"}),
      fuzz::SchemaOf("id INT NOT NULL, v STRING, n BIGINT", {"id"}),
  };
  return schemas;
}

// The records of all blocks, as far as there are sound ones.
int64_t RowsOfBlocks(std::string_view bytes) {
  auto reader = AvroFileReader::Open(bytes, kPath);
  if (!reader.ok()) return 0;
  int64_t rows = 0;
  AvroBlock block;
  while (rows <= kMostRows) {
    const auto more = reader->Next(&block);
    if (!more.ok() || !*more) break;
    rows += block.records;
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)store.Replace(kPath, bytes);
  const int64_t rows = RowsOfBlocks(bytes);
  for (const auto& schema : Schemas()) {
    fuzz::Read(&store, kPath, rows <= kMostRows ? rows : 1, schema, true);
    fuzz::Read(&store, kPath, rows <= kMostRows ? rows : 1, schema, false);
  }
  return 0;
}
