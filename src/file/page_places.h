// Where the pages of a Parquet file lie: for each leaf column of a row group, the bytes and the first row of each page.
//
// From the file's offset index; where a column has none its whole chunk counts as one page. Places that contradict the footer or each other
// are kCorruption: nothing read by them may leave the column's chunk. Immutable once read; any thread. May throw what Parquet throws.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <arrow/io/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"

namespace parquet {
class ParquetFileReader;
}

namespace headrace {

struct PagePlace {
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;   // header included
  int64_t first_row = 0;
};

// One column of one row group.
struct ChunkPages {
  int64_t dictionary_offset = 0;  // of the bytes before the first page
  int64_t dictionary_bytes = 0;   // 0: there are none
  std::vector<PagePlace> pages;   // at least one
  int64_t rows = 0;

  // The page that holds the row. Precondition: 0 <= row < rows.
  size_t PageOf(int64_t row) const;
  int64_t EndOf(size_t page) const { return page + 1 < pages.size() ? pages[page + 1].first_row : rows; }
};

// By row group, then by leaf. Row groups without rows have no chunks.
using PagePlaces = std::vector<std::map<int, ChunkPages>>;

// `file_bytes`: how long the file is.
Result<PagePlaces> ReadPagePlaces(parquet::ParquetFileReader* reader, const std::vector<int>& leaves,
                                  int64_t file_bytes);

// The largest value of a leaf in each of its pages, as the column index gives it: an upper bound that nobody has checked. Empty where
// the index has none, or none that can be trusted to be in the order of keys (floats, bytes).
Result<std::vector<Value>> ReadLargestValues(parquet::ParquetFileReader* reader, int row_group, int leaf,
                                             const DataType& type);

}  // namespace headrace
