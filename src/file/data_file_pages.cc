#include "file/data_file_pages.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "file/column_sources.h"
#include "file/int96_column.h"
#include "file/key_range.h"
#include "file/listed_file.h"
#include "file/page_places.h"
#include "file/reading_guard.h"
#include "file/selected_pages.h"

namespace headrace {
namespace {

// Memory for rows is reserved before they are seen: a footer may claim any number of them.
constexpr int64_t kMostBatchRows = 1 << 16;

struct Part {
  std::vector<ColumnSource> sources;
  std::vector<int> roots;
  std::shared_ptr<arrow::Schema> schema;
};

// Where a block lies.
struct BlockPlace {
  int row_group = 0;
  int64_t first_row = 0;  // in the row group
};

// Rows of a row group, by whole pages of one top-level column.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool exact = false;  // all leaves of the column break at both ends

  bool operator==(const RowRange&) const = default;
};

class ParquetPages final : public DataFilePages {
 public:
  ParquetPages(std::string path, const DataFileMeta& file, arrow::MemoryPool* pool)
      : path_(std::move(path)), file_(file), pool_(pool == nullptr ? arrow::default_memory_pool() : pool) {}

  Status Open(std::shared_ptr<arrow::io::RandomAccessFile> file, const TableSchema& written,
              const FileReadOptions& options, const std::vector<ReadColumns>& parts) {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t file_bytes, file->GetSize());
    return Guarded(path_, [&]() -> Status {
      const std::unique_ptr<parquet::ParquetFileReader> reader =
          parquet::ParquetFileReader::Open(std::move(file), Properties());
      footer_ = reader->metadata();
      HEADRACE_RETURN_NOT_OK(CheckFooter(written, options));
      HEADRACE_RETURN_NOT_OK(FindParts(written, *options.table_schema, parts));
      std::vector<int> leaves;
      for (const Part& part : parts_) {
        for (const int root : part.roots) {
          for (const int leaf : leaves_of_root_[static_cast<size_t>(root)]) leaves.push_back(leaf);
        }
      }
      std::sort(leaves.begin(), leaves.end());
      leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
      HEADRACE_ASSIGN_OR_RETURN(places_, ReadPagePlaces(reader.get(), leaves, file_bytes));
      return CutIntoBlocks(reader.get());
    });
  }

  std::span<const Block> blocks() const override { return blocks_; }
  std::span<const Value> largest_keys() const override { return largest_keys_; }

  const std::shared_ptr<arrow::Schema>& schema(size_t part) const override { return parts_[part].schema; }

  int64_t memory_bytes() const override {
    int64_t bytes = static_cast<int64_t>(footer_->size()) * 4 +
                    static_cast<int64_t>(blocks_.size() * (sizeof(Block) + sizeof(BlockPlace))) +
                    static_cast<int64_t>(largest_keys_.size() * (sizeof(Value) + 16));
    for (const auto& group : places_) {
      for (const auto& [leaf, chunk] : group)
        bytes += static_cast<int64_t>(chunk.pages.capacity() * sizeof(PagePlace)) + 64;
    }
    return bytes;
  }

  Result<std::unique_ptr<PageCursor>> OpenCursor(Store* store) const override;

 private:
  friend class ParquetPageCursor;

  parquet::ReaderProperties Properties() const {
    parquet::ReaderProperties properties(pool_);
    // A flipped bit in a page is an error, not a wrong value. Java writes the checksums as well.
    properties.set_page_checksum_verification(true);
    return properties;
  }

  Status CheckFooter(const TableSchema& written, const FileReadOptions& options) const {
    if (footer_->num_rows() != file_.row_count) {
      return Corruption("the file has ", footer_->num_rows(), " rows, its manifest entry says ",
                        file_.row_count);
    }
    return options.check_key_range ? CheckKeyRange(*footer_, written, file_) : Status::OK();
  }

  Status FindParts(const TableSchema& written, const TableSchema& table,
                   const std::vector<ReadColumns>& parts) {
    leaves_of_root_ = LeavesByRoot(*footer_->schema());
    for (const ReadColumns& columns : parts) {
      Part part;
      HEADRACE_ASSIGN_OR_RETURN(part.sources, FindColumns(path_, table, written, *footer_->schema(),
                                                          file_.write_columns.has_value(), columns));
      part.roots = RootsOf(part.sources);
      std::vector<DataField> fields;
      for (const ColumnSource& source : part.sources) fields.push_back(source.wanted);
      part.schema = ToArrowSchema(fields);
      parts_.push_back(std::move(part));
    }
    return Status::OK();
  }

  Status CutIntoBlocks(parquet::ParquetFileReader* reader) {
    const ColumnSource& key = parts_[0].sources[0];
    const int leaf = leaves_of_root_[static_cast<size_t>(key.root)][0];
    int64_t first_row = 0;
    bool all_told = true;
    for (size_t group = 0; group < places_.size(); ++group) {
      const auto found = places_[group].find(leaf);
      if (found == places_[group].end()) continue;
      const ChunkPages& chunk = found->second;
      for (size_t page = 0; page < chunk.pages.size(); ++page) {
        const int64_t begin = chunk.pages[page].first_row;
        places_of_blocks_.push_back({static_cast<int>(group), begin});
        blocks_.push_back({first_row + begin, chunk.EndOf(page) - begin});
      }
      first_row += chunk.rows;
      HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> largest,
                                ReadLargestValues(reader, static_cast<int>(group), leaf, key.written));
      all_told = all_told && largest.size() == chunk.pages.size();
      std::move(largest.begin(), largest.end(), std::back_inserter(largest_keys_));
    }
    if (!all_told) largest_keys_.clear();
    if (first_row == file_.row_count) return Status::OK();
    return Corruption("its row groups have ", first_row, " rows, its footer says ", file_.row_count);
  }

  std::string path_;
  DataFileMeta file_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<parquet::FileMetaData> footer_;
  std::vector<std::vector<int>> leaves_of_root_;
  std::vector<Part> parts_;
  PagePlaces places_;
  std::vector<Block> blocks_;
  std::vector<BlockPlace> places_of_blocks_;
  std::vector<Value> largest_keys_;
};

class ParquetPageCursor final : public PageCursor {
 public:
  explicit ParquetPageCursor(const ParquetPages* file) : file_(*file) {}

  Status Open(std::shared_ptr<arrow::io::RandomAccessFile> bytes) {
    return Guarded(file_.path_, [&]() -> Status {
      auto pages = std::make_unique<SelectedPages>(std::move(bytes), file_.footer_, file_.Properties());
      pages_ = pages.get();
      auto reader = std::make_unique<parquet::ParquetFileReader>();
      reader->Open(std::move(pages));
      parquet::ArrowReaderProperties properties(/*use_threads=*/false);
      properties.set_pre_buffer(false);
      HEADRACE_ASSIGN_OR_RETURN(reader_,
                                parquet::arrow::FileReader::Make(file_.pool_, std::move(reader), properties));
      return Status::OK();
    });
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Read(size_t block, size_t part) override {
    std::shared_ptr<arrow::RecordBatch> rows;
    HEADRACE_RETURN_NOT_OK(
        Guarded(file_.path_, [&] { return ReadRows(block, file_.parts_[part]).Value(&rows); }));
    return rows;
  }

 private:
  using Columns = std::vector<std::shared_ptr<arrow::Array>>;

  Result<std::shared_ptr<arrow::RecordBatch>> ReadRows(size_t block, const Part& part) {
    const BlockPlace& place = file_.places_of_blocks_[block];
    const int64_t rows = file_.blocks_[block].rows;
    std::vector<RowRange> ranges;
    for (const int root : part.roots) ranges.push_back(RangeOf(place, rows, root));
    Columns columns;
    for (size_t i = 0; i < part.roots.size();) {
      // Columns that break at the same rows are read together.
      size_t end = i + 1;
      while (end < part.roots.size() && ranges[end] == ranges[i]) ++end;
      HEADRACE_RETURN_NOT_OK(ReadRoots({part.roots.data() + i, end - i}, place, ranges[i], part, &columns));
      for (size_t c = i; c < end; ++c)
        columns[c] = columns[c]->Slice(place.first_row - ranges[i].begin, rows);
      i = end;
    }
    return ShapeColumns(part.sources, part.roots, columns, rows, part.schema, file_.pool_);
  }

  const ChunkPages& Chunk(const BlockPlace& place, int leaf) const {
    return file_.places_[static_cast<size_t>(place.row_group)].at(leaf);
  }

  // The rows of the pages around the block. Leaves of one column must begin at one row: the reader puts them side by side.
  RowRange RangeOf(const BlockPlace& place, int64_t rows, int root) const {
    const std::vector<int>& leaves = file_.leaves_of_root_[static_cast<size_t>(root)];
    RowRange range{place.first_row, 0, true};
    for (bool moved = true; moved;) {
      moved = false;
      for (const int leaf : leaves) {
        const ChunkPages& chunk = Chunk(place, leaf);
        const int64_t begin = chunk.pages[chunk.PageOf(range.begin)].first_row;
        moved = moved || begin != range.begin;
        range.begin = begin;
      }
    }
    const int64_t last = place.first_row + rows - 1;
    for (const int leaf : leaves) {
      const ChunkPages& chunk = Chunk(place, leaf);
      const int64_t end = chunk.EndOf(chunk.PageOf(last));
      range.exact = range.exact && (range.end == 0 || end == range.end);
      range.end = range.end == 0 ? end : std::min(range.end, end);
    }
    return range;
  }

  // Appends the whole range of each column.
  Status ReadRoots(std::span<const int> roots, const BlockPlace& place, const RowRange& range,
                   const Part& part, Columns* columns) {
    pages_->Clear(place.row_group);
    std::vector<int> leaves;
    for (const int root : roots) {
      for (const int leaf : file_.leaves_of_root_[static_cast<size_t>(root)]) {
        const ChunkPages& chunk = Chunk(place, leaf);
        HEADRACE_RETURN_NOT_OK(
            pages_->Select(leaf, chunk, chunk.PageOf(range.begin), chunk.PageOf(range.end - 1)));
        leaves.push_back(leaf);
      }
    }
    HEADRACE_ASSIGN_OR_RETURN(const Columns raw, Decode(place, range, leaves));
    for (size_t i = 0; i < roots.size(); ++i) {
      const std::vector<int>& own = file_.leaves_of_root_[static_cast<size_t>(roots[i])];
      std::unique_ptr<Int96Values> int96;
      if (HasInt96(*reader_->parquet_reader(), own))
        int96 = Int96Values::Make(reader_->parquet_reader(), own);
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> exact,
                                ExactColumn(part.sources, roots[i], raw[i], int96.get(), file_.pool_));
      columns->push_back(std::move(exact));
    }
    return Status::OK();
  }

  // Where the range ends with the pages, one row more is asked for: pages that hold other rows than the index says are found out.
  Result<Columns> Decode(const BlockPlace& place, const RowRange& range, const std::vector<int>& leaves) {
    const int64_t wanted = range.end - range.begin;
    const int64_t asked = wanted + (range.exact ? 1 : 0);
    HEADRACE_ASSIGN_OR_RETURN(const auto batches, reader_->GetRecordBatchReader({place.row_group}, leaves));
    std::vector<Columns> pieces;
    int64_t rows = 0;
    while (rows < asked) {
      reader_->set_batch_size(std::min(asked - rows, kMostBatchRows));
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, batches->Next());
      if (batch == nullptr) break;
      rows += batch->num_rows();
      pieces.push_back(batch->columns());
    }
    if (rows != wanted) {
      return Corruption("the pages of rows ", range.begin, " to ", range.end, " of row group ",
                        place.row_group, " hold ", rows, " rows");
    }
    if (pieces.size() == 1) return std::move(pieces[0]);
    Columns joined;
    for (size_t column = 0; column < pieces[0].size(); ++column) {
      arrow::ArrayVector parts;
      for (const Columns& piece : pieces) parts.push_back(piece[column]);
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> whole, arrow::Concatenate(parts, file_.pool_));
      joined.push_back(std::move(whole));
    }
    return joined;
  }

  const ParquetPages& file_;
  SelectedPages* pages_ = nullptr;  // owned by the reader
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

Result<std::unique_ptr<PageCursor>> ParquetPages::OpenCursor(Store* store) const {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::io::RandomAccessFile> bytes,
                            OpenListedFile(store, path_, file_));
  auto cursor = std::make_unique<ParquetPageCursor>(this);
  HEADRACE_RETURN_NOT_OK(cursor->Open(std::move(bytes)));
  return cursor;
}

}  // namespace

Result<std::shared_ptr<const DataFilePages>> DataFilePages::Open(Store* store, const std::string& path,
                                                                 const DataFileMeta& file,
                                                                 const FileReadOptions& options,
                                                                 std::vector<ReadColumns> parts) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::io::RandomAccessFile> opened,
                            OpenListedFile(store, path, file));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> written,
                            SchemaOfFile(path, file, options));
  auto pages = std::make_shared<ParquetPages>(path, file, options.pool);
  HEADRACE_RETURN_NOT_OK(pages->Open(std::move(opened), *written, options, parts));
  return pages;
}

}  // namespace headrace
