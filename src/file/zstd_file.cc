#include "file/zstd_file.h"

#include <algorithm>
#include <utility>

#include <arrow/io/interfaces.h>
#include <parquet/metadata.h>

#include "file/zstd_pages.h"

namespace headrace {
namespace {

using Contents = parquet::ParquetFileReader::Contents;

class ZstdFile final : public Contents {
 public:
  ZstdFile(std::unique_ptr<Contents> inner, std::shared_ptr<arrow::io::RandomAccessFile> file,
           const parquet::ReaderProperties& properties)
      : inner_(std::move(inner)), file_(std::move(file)), properties_(properties) {}

  void Close() override { inner_->Close(); }
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int i) override {
    return std::make_shared<parquet::RowGroupReader>(std::make_unique<Group>(this, inner_->GetRowGroup(i)));
  }
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return inner_->metadata(); }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override {
    return inner_->GetPageIndexReader();
  }
  parquet::BloomFilterReader& GetBloomFilterReader() override { return inner_->GetBloomFilterReader(); }

 private:
  class Group final : public parquet::RowGroupReader::Contents {
   public:
    Group(ZstdFile* file, std::shared_ptr<parquet::RowGroupReader> inner)
        : file_(file), inner_(std::move(inner)) {}

    std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
      const auto chunk = inner_->metadata()->ColumnChunk(leaf);
      if (chunk->compression() != arrow::Compression::ZSTD || file_->IsOld())
        return inner_->GetColumnPageReader(leaf);
      return file_->Unpacked(*chunk, *inner_->metadata()->schema()->Column(leaf));
    }
    const parquet::RowGroupMetaData* metadata() const override { return inner_->metadata(); }
    const parquet::ReaderProperties* properties() const override { return &file_->properties_; }

   private:
    ZstdFile* file_;
    std::shared_ptr<parquet::RowGroupReader> inner_;
  };

  // Writers with errors that Arrow's own reader knows its way around.
  bool IsOld() const {
    const parquet::ApplicationVersion& writer = metadata()->writer_version();
    return writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION()) ||
           writer.VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
  }

  std::unique_ptr<parquet::PageReader> Unpacked(const parquet::ColumnChunkMetaData& chunk,
                                                const parquet::ColumnDescriptor& column) {
    int64_t begin = chunk.data_page_offset();
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
      begin = std::min(begin, chunk.dictionary_page_offset());
    auto stream = properties_.GetStream(file_, begin, chunk.total_compressed_size());
    if (context_ == nullptr) context_ = MakeZstdContext();
    return UnpackPages(parquet::PageReader::Open(std::move(stream), chunk.num_values(),
                                                 arrow::Compression::UNCOMPRESSED, properties_, column),
                       context_, properties_.memory_pool());
  }

  std::unique_ptr<Contents> inner_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  parquet::ReaderProperties properties_;
  ZstdContext context_;  // null: not needed yet
};

}  // namespace

std::unique_ptr<parquet::ParquetFileReader> OpenParquetFile(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                            const parquet::ReaderProperties& properties) {
  auto inner = Contents::Open(file, properties);
  auto reader = std::make_unique<parquet::ParquetFileReader>();
  reader->Open(std::make_unique<ZstdFile>(std::move(inner), std::move(file), properties));
  return reader;
}

}  // namespace headrace
