// A Parquet file whose zstd pages are unpacked with one context for all of them (zstd_pages.h); in all else the file as Arrow opens it.
//
// One thread. Throws what Parquet throws.
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

namespace headrace {

std::unique_ptr<parquet::ParquetFileReader> OpenParquetFile(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                            const parquet::ReaderProperties& properties);

}  // namespace headrace
