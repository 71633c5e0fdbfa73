#include "file/parquet_rows.h"

#include <exception>
#include <memory>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

namespace headrace {

Result<int64_t> ReadParquetRowCount(Store* store, const std::string& path, arrow::MemoryPool* pool) {
  auto file = store->OpenForRead(path);
  if (!file.ok()) return WithContext("reading " + path, file.status());
  try {
    const parquet::ReaderProperties properties(pool == nullptr ? arrow::default_memory_pool() : pool);
    const auto reader = parquet::ParquetFileReader::Open(*std::move(file), properties);
    return reader->metadata()->num_rows();
  } catch (const parquet::ParquetStatusException& error) {
    if (error.status().detail() != nullptr) return WithContext("reading " + path, error.status());
    return Corruption("reading ", path, ": ", error.what());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("reading ", path);
  } catch (const std::exception& error) {
    return Corruption("reading ", path, ": ", error.what());
  }
}

}  // namespace headrace
