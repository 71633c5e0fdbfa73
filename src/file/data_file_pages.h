// One data file read a few rows at a time: the pages that hold them and nothing else.
//
// The rows are cut into *blocks*, one a page of the first key column. In a file of ours a block is one page of every column; where columns
// break at other rows the pages around are read and cut, and where a column has no page index its row group is read. Columns are asked for
// in *parts*, fixed at opening: keys alone, then the rest for the blocks that are wanted.
//
// Immutable once opened: it holds the footer and the places of the pages, not the file. Reading goes through a PageCursor, one thread each; any
// number of cursors at once. Nothing that the page index says is believed: a page whose rows do not fit it is kCorruption, and
// `largest_keys` are hints.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "format/value.h"

namespace headrace {

class PageCursor {
 public:
  virtual ~PageCursor() = default;
  // The rows of a block, the columns of a part.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Read(size_t block, size_t part) = 0;
};

class DataFilePages {
 public:
  struct Block {
    int64_t first_row = 0;  // in the file
    int64_t rows = 0;
  };

  // `options.columns` is not looked at. The first part must be of keys.
  static Result<std::shared_ptr<const DataFilePages>> Open(Store* store, const std::string& path,
                                                           const DataFileMeta& file,
                                                           const FileReadOptions& options,
                                                           std::vector<ReadColumns> parts);
  virtual ~DataFilePages() = default;

  // Together all rows of the file, in order; none is empty.
  virtual std::span<const Block> blocks() const = 0;
  // For each block a value that its first key column may not exceed; empty where the file does not tell.
  virtual std::span<const Value> largest_keys() const = 0;
  // Of the batches of a part.
  virtual const std::shared_ptr<arrow::Schema>& schema(size_t part) const = 0;
  // About what this object holds.
  virtual int64_t memory_bytes() const = 0;

  // Opens the file once more, in a store that has it: whoever keeps this object need not keep the store that it was opened in. The cursor must not
  // outlive this object nor the store.
  virtual Result<std::unique_ptr<PageCursor>> OpenCursor(Store* store) const = 0;
};

}  // namespace headrace
