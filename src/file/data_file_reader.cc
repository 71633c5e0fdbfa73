#include "file/data_file_reader.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "file/avro_data_file.h"
#include "file/column_sources.h"
#include "file/int96_column.h"
#include "file/key_range.h"
#include "file/listed_file.h"
#include "file/reading_guard.h"
#include "file/zstd_file.h"

namespace headrace {
namespace {

constexpr int64_t kStreamBufferBytes = 64 << 10;  // a column, while it is read

// Whether every value of a plain string column is stored through a dictionary. Such a column is read as codes, and the
// strings are put in afterwards: half the cost of reading them one by one.
bool IsAllDictionary(const parquet::FileMetaData& footer, int leaf) {
  const parquet::ColumnDescriptor& column = *footer.schema()->Column(leaf);
  if (column.physical_type() != parquet::Type::BYTE_ARRAY || column.max_repetition_level() > 0) return false;
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = footer.RowGroup(i)->ColumnChunk(leaf);
    if (chunk->encoding_stats().empty()) return false;
    for (const parquet::PageEncodingStats& pages : chunk->encoding_stats()) {
      if (pages.page_type == parquet::PageType::DICTIONARY_PAGE) continue;
      if (pages.encoding != parquet::Encoding::RLE_DICTIONARY &&
          pages.encoding != parquet::Encoding::PLAIN_DICTIONARY) {
        return false;
      }
    }
  }
  return footer.num_row_groups() > 0;
}

class ParquetDataFileReader final : public DataFileReader {
 public:
  ParquetDataFileReader(std::string path, int64_t rows, const FileReadOptions& options)
      : path_(std::move(path)),
        rows_(rows),
        batch_rows_(std::max<int64_t>(1, options.batch_rows)),
        check_key_range_(options.check_key_range),
        pool_(options.pool == nullptr ? arrow::default_memory_pool() : options.pool) {}

  Status Open(std::shared_ptr<arrow::io::RandomAccessFile> file, const TableSchema& table,
              const TableSchema& written, const ReadColumns& columns, const DataFileMeta& entry) {
    HEADRACE_RETURN_NOT_OK(Guarded(path_, [&] { return OpenParquet(std::move(file)); }));
    const parquet::FileMetaData& footer = *file_->parquet_reader()->metadata();
    if (footer.num_rows() != rows_) {
      return Corruption("reading ", path_, ": the file has ", footer.num_rows(),
                        " rows, its manifest entry says ", rows_);
    }
    if (check_key_range_) {
      HEADRACE_RETURN_NOT_OK(Guarded(path_, [&] { return CheckKeyRange(footer, written, entry); }));
    }
    const bool partial = entry.write_columns.has_value();
    HEADRACE_ASSIGN_OR_RETURN(sources_,
                              FindColumns(path_, table, written, *footer.schema(), partial, columns));
    roots_ = RootsOf(sources_);
    std::vector<DataField> fields;
    for (const ColumnSource& source : sources_) fields.push_back(source.wanted);
    schema_ = ToArrowSchema(fields);
    return Guarded(path_, [&] { return StartReading(footer); });
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> result;
    HEADRACE_RETURN_NOT_OK(Guarded(path_, [&]() -> Status {
      if (batches_ == nullptr) return NextOfNulls(&result);
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> raw, batches_->Next());
      if (raw == nullptr) return CheckEnd();
      rows_read_ += raw->num_rows();
      return Shape(*raw, &result);
    }));
    return result;
  }

 private:
  Status OpenParquet(std::shared_ptr<arrow::io::RandomAccessFile> file) {
    parquet::ReaderProperties properties(pool_);
    properties.enable_buffered_stream();
    properties.set_buffer_size(kStreamBufferBytes);
    // A flipped bit in a page is an error, not a wrong value. Java writes the checksums as well.
    properties.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
    arrow_properties.set_batch_size(batch_rows_);
    arrow_properties.set_pre_buffer(false);
    std::unique_ptr<parquet::ParquetFileReader> reader = OpenParquetFile(std::move(file), properties);
    const std::shared_ptr<parquet::FileMetaData> footer = reader->metadata();
    for (int leaf = 0; leaf < footer->num_columns(); ++leaf) {
      if (IsAllDictionary(*footer, leaf)) arrow_properties.set_read_dictionary(leaf, true);
    }
    return parquet::arrow::FileReader::Make(pool_, std::move(reader), arrow_properties).Value(&file_);
  }

  Status StartReading(const parquet::FileMetaData& footer) {
    const std::vector<std::vector<int>> leaves_of_root = LeavesByRoot(*footer.schema());
    std::vector<int> leaves;
    for (const int root : roots_) {
      const std::vector<int>& own = leaves_of_root[static_cast<size_t>(root)];
      leaves.insert(leaves.end(), own.begin(), own.end());
      int96_.push_back(HasInt96(*file_->parquet_reader(), own)
                           ? Int96Values::Make(file_->parquet_reader(), own)
                           : nullptr);
    }
    if (leaves.empty()) return Status::OK();
    std::vector<int> row_groups(footer.num_row_groups());
    std::iota(row_groups.begin(), row_groups.end(), 0);
    HEADRACE_ASSIGN_OR_RETURN(batches_, file_->GetRecordBatchReader(row_groups, leaves));
    return Status::OK();
  }

  // No column of the file is needed: as many nulls as the file has rows.
  Status NextOfNulls(std::shared_ptr<arrow::RecordBatch>* result) {
    const int64_t count = std::min(batch_rows_, rows_ - rows_read_);
    if (count <= 0) return Status::OK();
    rows_read_ += count;
    arrow::ArrayVector columns;
    for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> nulls,
                                arrow::MakeArrayOfNull(field->type(), count, pool_));
      columns.push_back(std::move(nulls));
    }
    *result = arrow::RecordBatch::Make(schema_, count, std::move(columns));
    return Status::OK();
  }

  Status CheckEnd() const {
    if (rows_read_ == rows_) return Status::OK();
    return Corruption("the columns end after ", rows_read_, " of ", rows_, " rows");
  }

  Status Shape(const arrow::RecordBatch& raw, std::shared_ptr<arrow::RecordBatch>* result) {
    arrow::ArrayVector exact;
    for (size_t i = 0; i < roots_.size(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(
          std::shared_ptr<arrow::Array> column,
          ExactColumn(sources_, roots_[i], raw.column(static_cast<int>(i)), int96_[i].get(), pool_));
      exact.push_back(std::move(column));
    }
    return ShapeColumns(sources_, roots_, exact, raw.num_rows(), schema_, pool_).Value(result);
  }

  std::string path_;
  int64_t rows_;
  int64_t batch_rows_;
  bool check_key_range_;
  arrow::MemoryPool* pool_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::vector<ColumnSource> sources_;
  std::vector<int> roots_;  // the columns that are read
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<Int96Values>> int96_;  // by column that is read; null where there is none
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  int64_t rows_read_ = 0;
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> OpenDataFile(Store* store, const std::string& path,
                                                     const DataFileMeta& file,
                                                     const FileReadOptions& options) {
  if (path.ends_with(kAvroExtension)) {
    HEADRACE_ASSIGN_OR_RETURN(const auto of_rows, SchemaOfFile(path, file, options));
    auto rows = OpenAvroDataFile(store, path, file, *of_rows, options);
    if (!rows.ok()) return NamedOnce(path, rows.status());
    return rows;
  }
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::io::RandomAccessFile> opened,
                            OpenListedFile(store, path, file));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> written,
                            SchemaOfFile(path, file, options));
  auto reader = std::make_unique<ParquetDataFileReader>(path, file.row_count, options);
  HEADRACE_RETURN_NOT_OK(
      reader->Open(std::move(opened), *options.table_schema, *written, options.columns, file));
  return reader;
}

}  // namespace headrace
