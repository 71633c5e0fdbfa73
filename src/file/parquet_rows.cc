#include "file/parquet_rows.h"

#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
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

Status CheckParquetMagic(Store* store, const std::string& path) {
  constexpr std::string_view kMagic = "PAR1";
  HEADRACE_ASSIGN_OR_RETURN(const auto file, store->OpenForRead(path));
  std::array<char, kMagic.size()> found{};
  HEADRACE_ASSIGN_OR_RETURN(const int64_t bytes, file->ReadAt(0, found.size(), found.data()));
  if (std::string_view(found.data(), static_cast<size_t>(bytes)) == kMagic) return Status::OK();
  std::string hex;
  for (int64_t i = 0; i < bytes; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), " %02x", static_cast<unsigned char>(found[static_cast<size_t>(i)]));
    hex += digits;
  }
  return Corruption("its first bytes are", hex, ", not ", kMagic, " (50 41 52 31)");
}

}  // namespace headrace
