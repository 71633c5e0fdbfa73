#include "file/zstd_pages.h"

#include <cstring>
#include <utility>

#include <arrow/buffer.h>
#include <parquet/exception.h>
#include <zstd.h>

#include "base/error.h"

namespace headrace {
namespace {

// No page that a writer makes is near it; a damaged size is not worth the memory.
constexpr int64_t kMostPageBytes = int64_t{1} << 31;

class UnpackedPages final : public parquet::PageReader {
 public:
  UnpackedPages(std::unique_ptr<parquet::PageReader> stored, ZstdContext context, arrow::MemoryPool* pool)
      : stored_(std::move(stored)), context_(std::move(context)), pool_(pool) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    std::shared_ptr<parquet::Page> page = stored_->NextPage();
    if (page == nullptr) return page;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE:
        return Unpacked(static_cast<const parquet::DictionaryPage&>(*page));
      case parquet::PageType::DATA_PAGE: return Unpacked(static_cast<const parquet::DataPageV1&>(*page));
      case parquet::PageType::DATA_PAGE_V2: {
        const auto& data = static_cast<const parquet::DataPageV2&>(*page);
        return data.is_compressed() ? Unpacked(data) : page;
      }
      default: return page;
    }
  }

  void set_max_page_header_size(uint32_t size) override { stored_->set_max_page_header_size(size); }

 private:
  // Its header says how much there is, but Arrow does not hand that on; most frames say it as well.
  std::shared_ptr<parquet::Page> Unpacked(const parquet::DictionaryPage& page) {
    const unsigned long long size = ZSTD_getFrameContentSize(page.data(), static_cast<size_t>(page.size()));
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
      return WithBytes(page, UnpackGrowing(page));
    return WithBytes(page, Unpack(page, 0, static_cast<int64_t>(size)));
  }

  static std::shared_ptr<parquet::Page> WithBytes(const parquet::DictionaryPage& page,
                                                  std::shared_ptr<arrow::Buffer> bytes) {
    return std::make_shared<parquet::DictionaryPage>(std::move(bytes), page.num_values(), page.encoding(),
                                                     page.is_sorted());
  }

  std::shared_ptr<parquet::Page> Unpacked(const parquet::DataPageV1& page) {
    return std::make_shared<parquet::DataPageV1>(
        Unpack(page, 0, page.uncompressed_size()), page.num_values(), page.encoding(),
        page.definition_level_encoding(), page.repetition_level_encoding(), page.uncompressed_size(),
        page.statistics(), page.first_row_index(), page.size_statistics());
  }

  // The levels come first and are never compressed.
  std::shared_ptr<parquet::Page> Unpacked(const parquet::DataPageV2& page) {
    const int64_t levels =
        int64_t{page.definition_levels_byte_length()} + page.repetition_levels_byte_length();
    if (page.definition_levels_byte_length() < 0 || page.repetition_levels_byte_length() < 0 ||
        levels > page.size() || levels > page.uncompressed_size()) {
      PARQUET_THROW_NOT_OK(Corruption("a page of ", page.size(), " bytes has ", levels, " bytes of levels"));
    }
    return std::make_shared<parquet::DataPageV2>(
        Unpack(page, levels, page.uncompressed_size()), page.num_values(), page.num_nulls(), page.num_rows(),
        page.encoding(), page.definition_levels_byte_length(), page.repetition_levels_byte_length(),
        page.uncompressed_size(), /*is_compressed=*/false, page.statistics(), page.first_row_index(),
        page.size_statistics());
  }

  // `plain` bytes are copied as they are, the rest unpacked, `total` bytes in all.
  std::shared_ptr<arrow::Buffer> Unpack(const parquet::Page& page, int64_t plain, int64_t total) {
    if (total < 0 || total > kMostPageBytes)
      PARQUET_THROW_NOT_OK(Corruption("a page is said to have ", total, " bytes"));
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(total, pool_));
    std::memcpy(bytes->mutable_data(), page.data(), static_cast<size_t>(plain));
    if (total == plain) return bytes;
    const size_t got =
        ZSTD_decompressDCtx(context_.get(), bytes->mutable_data() + plain, static_cast<size_t>(total - plain),
                            page.data() + plain, static_cast<size_t>(page.size() - plain));
    if (ZSTD_isError(got))
      PARQUET_THROW_NOT_OK(Corruption("a page cannot be unpacked: ", ZSTD_getErrorName(got)));
    if (got != static_cast<size_t>(total - plain))
      PARQUET_THROW_NOT_OK(Corruption("a page unpacks to ", got, " bytes, its header says ", total - plain));
    return bytes;
  }

  std::shared_ptr<arrow::Buffer> UnpackGrowing(const parquet::Page& page) {
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::ResizableBuffer> bytes,
                            arrow::AllocateResizableBuffer(0, pool_));
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    ZSTD_inBuffer in{page.data(), static_cast<size_t>(page.size()), 0};
    size_t filled = 0;
    for (size_t left = 1; left != 0;) {
      PARQUET_THROW_NOT_OK(bytes->Resize(static_cast<int64_t>(filled + ZSTD_DStreamOutSize())));
      ZSTD_outBuffer out{bytes->mutable_data() + filled, ZSTD_DStreamOutSize(), 0};
      left = ZSTD_decompressStream(context_.get(), &out, &in);
      filled += out.pos;
      if (ZSTD_isError(left) || (left != 0 && in.pos == in.size && out.pos < out.size) ||
          static_cast<int64_t>(filled) > kMostPageBytes) {
        PARQUET_THROW_NOT_OK(Corruption("a dictionary cannot be unpacked", ZSTD_isError(left) ? ": " : "",
                                        ZSTD_isError(left) ? ZSTD_getErrorName(left) : ""));
      }
    }
    PARQUET_THROW_NOT_OK(bytes->Resize(static_cast<int64_t>(filled)));
    return bytes;
  }

  std::unique_ptr<parquet::PageReader> stored_;
  ZstdContext context_;
  arrow::MemoryPool* pool_;
};

}  // namespace

ZstdContext MakeZstdContext() { return ZstdContext(ZSTD_createDCtx(), ZSTD_freeDCtx); }

std::unique_ptr<parquet::PageReader> UnpackPages(std::unique_ptr<parquet::PageReader> stored,
                                                 ZstdContext context, arrow::MemoryPool* pool) {
  return std::make_unique<UnpackedPages>(std::move(stored), std::move(context), pool);
}

}  // namespace headrace
