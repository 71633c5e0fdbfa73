// Rows of a data file by ranges of the key's first column: the pages that can hold some are read, and few others.
//
// The page index says where to look; what ends a range are keys that lie beyond it, so that an index that is wrong costs reading and hides
// no row. A reader hands out whole pages: rows outside of the ranges come along. Ranges are immutable, any thread; readers one
// thread each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "lsm/key_order.h"

namespace headrace {

struct KeyRange {
  EncodedKey first;  // of the first column, as KeyRanges::order encodes it; empty: from the smallest on
  std::optional<EncodedKey> last;  // nothing: to the largest
};

struct KeyRanges {
  KeyOrder order;                // of the first column alone
  std::vector<KeyRange> ranges;  // ascending, none overlapping another
};

// `options.columns` of the rows in file order; null where reading the whole file costs no more: no page index, or more than a quarter of the pages is wanted.
// Precondition: a Parquet file whose rows are in key order.
Result<std::unique_ptr<DataFileReader>> OpenKeyRanges(Store* store, const std::string& path,
                                                      const DataFileMeta& file,
                                                      const FileReadOptions& options,
                                                      std::shared_ptr<const KeyRanges> ranges);

}  // namespace headrace
