#include "file/selected_pages.h"

#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>

namespace headrace {

class SelectedPages::Group final : public parquet::RowGroupReader::Contents {
 public:
  Group(const SelectedPages* pages, int row_group)
      : pages_(pages), row_group_(row_group), metadata_(pages->footer_->RowGroup(row_group)) {}

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    return pages_->PagesOf(row_group_, leaf);
  }
  const parquet::RowGroupMetaData* metadata() const override { return metadata_.get(); }
  const parquet::ReaderProperties* properties() const override { return &pages_->properties_; }

 private:
  const SelectedPages* pages_;
  int row_group_;
  std::unique_ptr<parquet::RowGroupMetaData> metadata_;
};

void SelectedPages::Clear(int row_group) {
  row_group_ = row_group;
  bytes_.clear();
}

Status SelectedPages::Select(int leaf, const ChunkPages& chunk, size_t first, size_t last) {
  const int64_t begin = chunk.pages[first].offset;
  const int64_t bytes = chunk.pages[last].offset + chunk.pages[last].bytes - begin;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<arrow::Buffer> buffer,
                            arrow::AllocateBuffer(chunk.dictionary_bytes + bytes, properties_.memory_pool()));
  const auto read = [&](int64_t offset, int64_t count, uint8_t* out) -> Status {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t got, file_->ReadAt(offset, count, out));
    if (got == count) return Status::OK();
    return Corruption("pages of ", count, " bytes at ", offset, " end after ", got);
  };
  // Where the dictionary comes right before the pages one read does for both.
  if (chunk.dictionary_offset + chunk.dictionary_bytes == begin) {
    HEADRACE_RETURN_NOT_OK(read(begin - chunk.dictionary_bytes, buffer->size(), buffer->mutable_data()));
  } else {
    if (chunk.dictionary_bytes > 0) {
      HEADRACE_RETURN_NOT_OK(read(chunk.dictionary_offset, chunk.dictionary_bytes, buffer->mutable_data()));
    }
    HEADRACE_RETURN_NOT_OK(read(begin, bytes, buffer->mutable_data() + chunk.dictionary_bytes));
  }
  bytes_[leaf] = std::move(buffer);
  return Status::OK();
}

std::shared_ptr<parquet::RowGroupReader> SelectedPages::GetRowGroup(int i) {
  return std::make_shared<parquet::RowGroupReader>(std::make_unique<Group>(this, i));
}

parquet::BloomFilterReader& SelectedPages::GetBloomFilterReader() {
  if (bloom_filters_ == nullptr)
    bloom_filters_ = parquet::BloomFilterReader::Make(file_, footer_, properties_);
  return *bloom_filters_;
}

std::unique_ptr<parquet::PageReader> SelectedPages::PagesOf(int row_group, int leaf) const {
  const auto found = bytes_.find(leaf);
  const bool chosen = row_group == row_group_ && found != bytes_.end();
  auto stream = std::make_shared<arrow::io::BufferReader>(
      chosen ? found->second : std::make_shared<arrow::Buffer>(nullptr, 0));
  const auto chunk = footer_->RowGroup(row_group)->ColumnChunk(leaf);
  // Some old writers marked pages as not compressed that were.
  const bool always_compressed =
      footer_->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
  const bool zstd = chunk->compression() == arrow::Compression::ZSTD && !always_compressed;
  std::unique_ptr<parquet::PageReader> pages = parquet::PageReader::Open(
      std::move(stream), chunk->num_values(), zstd ? arrow::Compression::UNCOMPRESSED : chunk->compression(),
      properties_, *footer_->schema()->Column(leaf), always_compressed);
  if (!zstd) return pages;
  if (zstd_ == nullptr) zstd_ = MakeZstdContext();
  return UnpackPages(std::move(pages), zstd_, properties_.memory_pool());
}

}  // namespace headrace
