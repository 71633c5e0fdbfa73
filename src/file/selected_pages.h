// A Parquet file that seems to hold nothing but some pages of one row group: what Arrow's reader decodes a few rows through.
//
// Pages are chosen leaf by leaf, then read by the row group's number as from a whole file; other row groups and leaves seem empty. One thread.
// May throw what Parquet throws.
#pragma once

#include <map>
#include <memory>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "base/error.h"
#include "file/page_places.h"
#include "file/zstd_pages.h"

namespace headrace {

class SelectedPages final : public parquet::ParquetFileReader::Contents {
 public:
  SelectedPages(std::shared_ptr<arrow::io::RandomAccessFile> file,
                std::shared_ptr<parquet::FileMetaData> footer, const parquet::ReaderProperties& properties)
      : file_(std::move(file)), footer_(std::move(footer)), properties_(properties) {}

  // From now on the file is this row group, without any page.
  void Clear(int row_group);
  // Reads the bytes of pages `first` to `last` of a leaf, and those of its dictionary.
  Status Select(int leaf, const ChunkPages& chunk, size_t first, size_t last);

  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int i) override;
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return footer_; }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return nullptr; }
  parquet::BloomFilterReader& GetBloomFilterReader() override;

 private:
  class Group;

  std::unique_ptr<parquet::PageReader> PagesOf(int row_group, int leaf) const;

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::FileMetaData> footer_;
  parquet::ReaderProperties properties_;
  mutable ZstdContext zstd_;                                   // null: not needed yet
  std::unique_ptr<parquet::BloomFilterReader> bloom_filters_;  // asked for by nobody here
  int row_group_ = -1;
  std::map<int, std::shared_ptr<arrow::Buffer>> bytes_;  // by leaf
};

}  // namespace headrace
