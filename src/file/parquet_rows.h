// What a Parquet file says of itself outside of its pages: how many rows it has, told by its footer alone, and its first bytes.
//
// For a check that wants to go on where a reader of the file would stop: OpenDataFile refuses a file whose row count contradicts its
// manifest entry. kCorruption when the footer makes no sense. No exception leaves; any thread.
#pragma once

#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "io/store.h"

namespace headrace {

Result<int64_t> ReadParquetRowCount(Store* store, const std::string& path, arrow::MemoryPool* pool);

// The file begins with PAR1. No reader needs these bytes, nor is there a checksum over them. kCorruption tells what is there instead.
Status CheckParquetMagic(Store* store, const std::string& path);

}  // namespace headrace
