// The pages of a column chunk, unpacked with one zstd context for all of them.
//
// Arrow's reader makes a new context for every page, which for pages of some kilobytes costs as much as unpacking them. Here the pages are read as
// they are stored (their checksums are verified there) and unpacked on the way out. One thread a context. Throws what Parquet throws.
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>

struct ZSTD_DCtx_s;

namespace headrace {

using ZstdContext = std::shared_ptr<ZSTD_DCtx_s>;

ZstdContext MakeZstdContext();

// `stored`: the chunk's pages, opened as if they were not compressed.
std::unique_ptr<parquet::PageReader> UnpackPages(std::unique_ptr<parquet::PageReader> stored,
                                                 ZstdContext context, arrow::MemoryPool* pool);

}  // namespace headrace
