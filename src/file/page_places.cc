#include "file/page_places.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "file/footer_bounds.h"

namespace headrace {
namespace {

// The bytes of a column chunk, dictionary included.
struct ChunkBytes {
  int64_t begin = 0;
  int64_t end = 0;
};

Result<ChunkBytes> BytesOf(const parquet::ColumnChunkMetaData& chunk, int leaf, int64_t file_bytes) {
  ChunkBytes bytes{chunk.data_page_offset(), 0};
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
    bytes.begin = std::min(bytes.begin, chunk.dictionary_page_offset());
  const int64_t size = chunk.total_compressed_size();
  if (bytes.begin < 0 || size < 0 || bytes.begin > file_bytes || size > file_bytes - bytes.begin) {
    return Corruption("column ", leaf, ": its pages are said to be ", size, " bytes at ", bytes.begin,
                      " of a file of ", file_bytes, " bytes");
  }
  bytes.end = bytes.begin + size;
  return bytes;
}

Result<ChunkPages> PlacesOf(const parquet::OffsetIndex* index, const ChunkBytes& chunk, int leaf,
                            int64_t rows) {
  ChunkPages places;
  places.rows = rows;
  if (index == nullptr || index->page_locations().empty()) {
    places.pages = {{chunk.begin, chunk.end - chunk.begin, 0}};
    return places;
  }
  int64_t next_offset = chunk.begin;
  int64_t next_row = 0;
  for (const parquet::PageLocation& page : index->page_locations()) {
    const bool first = places.pages.empty();
    const bool in_order = first ? page.first_row_index == 0 && page.offset >= next_offset
                                : page.first_row_index > next_row && page.offset == next_offset;
    if (!in_order || page.first_row_index >= rows || page.compressed_page_size <= 0 ||
        page.compressed_page_size > chunk.end - page.offset) {
      return Corruption("column ", leaf, ": the page index has page ", places.pages.size(), " of ",
                        page.compressed_page_size, " bytes at ", page.offset, " from row ",
                        page.first_row_index, ", which does not follow the page before it in ", rows,
                        " rows and the bytes ", chunk.begin, " to ", chunk.end);
    }
    places.pages.push_back({page.offset, page.compressed_page_size, page.first_row_index});
    next_offset = page.offset + page.compressed_page_size;
    next_row = page.first_row_index;
  }
  places.dictionary_offset = chunk.begin;
  places.dictionary_bytes = places.pages[0].offset - chunk.begin;
  return places;
}

// The index reader of one row group, for some leaves; null where the file has no page index.
std::shared_ptr<parquet::RowGroupPageIndexReader> IndexOf(parquet::PageIndexReader* index, int row_group,
                                                          const std::vector<int>& leaves,
                                                          parquet::PageIndexSelection selection) {
  if (index == nullptr) return nullptr;
  index->WillNotNeed({row_group});  // or the wish before this one would stand
  index->WillNeed({row_group}, leaves, selection);
  return index->RowGroup(row_group);
}

}  // namespace

size_t ChunkPages::PageOf(int64_t row) const {
  const auto after = std::upper_bound(pages.begin(), pages.end(), row,
                                      [](int64_t r, const PagePlace& page) { return r < page.first_row; });
  return static_cast<size_t>(after - pages.begin()) - 1;
}

Result<PagePlaces> ReadPagePlaces(parquet::ParquetFileReader* reader, const std::vector<int>& leaves,
                                  int64_t file_bytes) {
  const std::shared_ptr<parquet::FileMetaData> footer = reader->metadata();
  const std::shared_ptr<parquet::PageIndexReader> index = reader->GetPageIndexReader();
  PagePlaces places(static_cast<size_t>(footer->num_row_groups()));
  for (int group = 0; group < footer->num_row_groups(); ++group) {
    const std::unique_ptr<parquet::RowGroupMetaData> meta = footer->RowGroup(group);
    if (meta->num_rows() == 0) continue;
    const auto group_index =
        IndexOf(index.get(), group, leaves, {.column_index = false, .offset_index = true});
    for (const int leaf : leaves) {
      HEADRACE_ASSIGN_OR_RETURN(const ChunkBytes bytes, BytesOf(*meta->ColumnChunk(leaf), leaf, file_bytes));
      const auto offsets = group_index == nullptr ? nullptr : group_index->GetOffsetIndex(leaf);
      HEADRACE_ASSIGN_OR_RETURN(places[static_cast<size_t>(group)][leaf],
                                PlacesOf(offsets.get(), bytes, leaf, meta->num_rows()));
    }
  }
  return places;
}

Result<std::vector<Value>> ReadLargestValues(parquet::ParquetFileReader* reader, int row_group, int leaf,
                                             const DataType& type) {
  const auto index = IndexOf(reader->GetPageIndexReader().get(), row_group, {leaf},
                             {.column_index = true, .offset_index = false});
  const auto column = index == nullptr ? nullptr : index->GetColumnIndex(leaf);
  if (column == nullptr) return std::vector<Value>();
  return LargestFromIndex(*column, *reader->metadata()->schema()->Column(leaf), type);
}

}  // namespace headrace
