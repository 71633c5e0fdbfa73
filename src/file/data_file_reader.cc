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

#include "file/evolve.h"
#include "file/int96_column.h"
#include "file/key_range.h"
#include "file/physical_columns.h"

namespace headrace {
namespace {

constexpr int64_t kStreamBufferBytes = 64 << 10;  // a column, while it is read
constexpr std::string_view kExtension = ".parquet";

// Where one column that is handed out comes from.
struct Source {
  DataField wanted;
  DataType written;       // as the file's schema declares it
  int root = -1;          // top-level column of the Parquet file, -1: all null
  int batch_column = -1;  // its place among the columns that are read
};

// The store's own errors name the file already.
Status NamedOnce(const std::string& path, const Status& status) {
  return status.message().find(path) == std::string::npos ? WithContext("reading " + path, status) : status;
}

// Errors of the store keep their kind; anything else that goes wrong with the bytes is a corrupt file.
Status Named(const std::string& path, const Status& status) {
  if (status.ok()) return status;
  if (status.detail() != nullptr || status.IsOutOfMemory()) return NamedOnce(path, status);
  return Corruption("reading ", path, ": ", status.message());
}

template <typename Act>
Status Guarded(const std::string& path, Act&& act) {
  try {
    return Named(path, act());
  } catch (const parquet::ParquetStatusException& error) {
    return Named(path, error.status());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("reading ", path);
  } catch (const std::exception& error) {
    return Corruption("reading ", path, ": ", error.what());
  }
}

const DataField* FindById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

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

// Finds the columns of one file: by the names of the schema it was written with, mapped to the table by field id.
class ColumnFinder {
 public:
  // `partial`: the manifest says that the file holds only some columns of its schema.
  ColumnFinder(const std::string& path, const TableSchema& table, const TableSchema& written,
               const parquet::SchemaDescriptor& file, bool partial)
      : path_(path), table_(table), written_(written), file_(file), partial_(partial) {}

  Result<std::vector<Source>> Find(const ReadColumns& columns) const {
    std::vector<Source> sources;
    if (columns.keys) {
      for (const DataField& key : KeyFields(table_)) {
        HEADRACE_ASSIGN_OR_RETURN(Source source, Key(key, columns.values));
        sources.push_back(std::move(source));
      }
    }
    const std::vector<DataField> own = SequenceAndKindFields();
    for (const auto& [asked, field] :
         {std::pair(columns.sequence, &own[0]), std::pair(columns.kind, &own[1])}) {
      if (!asked) continue;
      HEADRACE_ASSIGN_OR_RETURN(Source source, Own(*field));
      sources.push_back(std::move(source));
    }
    for (const std::string& name : columns.values) {
      HEADRACE_ASSIGN_OR_RETURN(Source source, ValueColumn(name));
      sources.push_back(std::move(source));
    }
    return sources;
  }

 private:
  int RootOf(const std::string& name) const { return file_.group_node()->FieldIndex(name); }

  Result<Source> ValueColumn(const std::string& name) const {
    const int index = table_.FieldIndex(name);
    if (index < 0) return NotFound("reading ", path_, ": the table has no column \"", name, "\"");
    Source source;
    source.wanted = table_.fields[index];
    const DataField* written = FindById(written_.fields, source.wanted.id);
    if (written == nullptr) return source;
    source.written = written->type;
    source.root = RootOf(written->name);
    if (source.root < 0 && !partial_) {
      return Corruption("reading ", path_, ": no column \"", written->name, "\", which schema ", written_.id,
                        " declares");
    }
    HEADRACE_RETURN_NOT_OK(Checked(source));
    return source;
  }

  // A key is stored twice. When its value column is read anyway, the copy is not decoded.
  Result<Source> Key(const DataField& key, const std::vector<std::string>& values) const {
    const std::string value_name = key.name.substr(kKeyPrefix.size());
    const DataField* written = FindById(written_.fields, key.id - kKeyFieldIdBase);
    if (written == nullptr) {
      return Corruption("reading ", path_, ": schema ", written_.id, " has no key column \"", value_name,
                        "\"");
    }
    Source source;
    source.wanted = key;
    source.written = written->type;
    const int copy = RootOf(std::string(kKeyPrefix) + written->name);
    const int value = RootOf(written->name);
    const bool value_is_read = std::find(values.begin(), values.end(), value_name) != values.end();
    source.root = copy < 0 || (value >= 0 && value_is_read) ? value : copy;
    if (source.root < 0) {
      return Corruption("reading ", path_, ": neither \"", kKeyPrefix, written->name, "\" nor \"",
                        written->name, "\" is in the file");
    }
    HEADRACE_RETURN_NOT_OK(Checked(source));
    return source;
  }

  Result<Source> Own(const DataField& field) const {
    Source source;
    source.wanted = field;
    source.written = field.type;
    source.root = RootOf(field.name);
    if (source.root < 0)
      return Corruption("reading ", path_, ": the key-value file has no column \"", field.name, "\"");
    return source;
  }

  Status Checked(const Source& source) const {
    if (source.root < 0) return Status::OK();
    const Status status = CheckWidening(source.wanted.name, source.written, source.wanted.type);
    return status.ok() ? status : WithContext("reading " + path_, status);
  }

  const std::string& path_;
  const TableSchema& table_;
  const TableSchema& written_;
  const parquet::SchemaDescriptor& file_;
  bool partial_;
};

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
                              ColumnFinder(path_, table, written, *footer.schema(), partial).Find(columns));
    std::vector<DataField> fields;
    for (const Source& source : sources_) fields.push_back(source.wanted);
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
    parquet::arrow::FileReaderBuilder builder;
    HEADRACE_RETURN_NOT_OK(builder.Open(std::move(file), properties));
    const parquet::FileMetaData& footer = *builder.raw_reader()->metadata();
    for (int leaf = 0; leaf < footer.num_columns(); ++leaf) {
      if (IsAllDictionary(footer, leaf)) arrow_properties.set_read_dictionary(leaf, true);
    }
    builder.memory_pool(pool_)->properties(arrow_properties);
    return builder.Build(&file_);
  }

  Status StartReading(const parquet::FileMetaData& footer) {
    const parquet::SchemaDescriptor& schema = *footer.schema();
    std::vector<std::vector<int>> leaves_of_root(schema.group_node()->field_count());
    for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
      leaves_of_root[schema.group_node()->FieldIndex(*schema.GetColumnRoot(leaf))].push_back(leaf);
    }
    std::vector<int> roots;
    for (const Source& source : sources_) {
      if (source.root >= 0) roots.push_back(source.root);
    }
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    std::vector<int> leaves;
    for (const int root : roots) {
      const std::vector<int>& own = leaves_of_root[root];
      leaves.insert(leaves.end(), own.begin(), own.end());
      int96_.push_back(HasInt96(*file_->parquet_reader(), own)
                           ? Int96Values::Make(file_->parquet_reader(), own)
                           : nullptr);
    }
    for (Source& source : sources_) {
      if (source.root < 0) continue;
      source.batch_column =
          static_cast<int>(std::lower_bound(roots.begin(), roots.end(), source.root) - roots.begin());
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
    std::vector<std::shared_ptr<arrow::Array>> exact(int96_.size());
    arrow::ArrayVector columns;
    for (const Source& source : sources_) {
      if (source.batch_column < 0) {
        HEADRACE_ASSIGN_OR_RETURN(
            std::shared_ptr<arrow::Array> nulls,
            arrow::MakeArrayOfNull(ToArrowType(source.wanted.type), raw.num_rows(), pool_));
        columns.push_back(std::move(nulls));
        continue;
      }
      std::shared_ptr<arrow::Array> column = raw.column(source.batch_column);
      if (Int96Values* values = int96_[source.batch_column].get()) {
        // Two columns may come from one: a key and its value.
        std::shared_ptr<arrow::Array>& once = exact[source.batch_column];
        if (once == nullptr) {
          HEADRACE_ASSIGN_OR_RETURN(once,
                                    values->Replace(source.wanted.name, *column, source.written, pool_));
        }
        column = once;
      }
      HEADRACE_ASSIGN_OR_RETURN(
          column, EvolveColumn(source.wanted.name, column, source.written, source.wanted.type, pool_));
      columns.push_back(std::move(column));
    }
    *result = arrow::RecordBatch::Make(schema_, raw.num_rows(), std::move(columns));
    return Status::OK();
  }

  std::string path_;
  int64_t rows_;
  int64_t batch_rows_;
  bool check_key_range_;
  arrow::MemoryPool* pool_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::vector<Source> sources_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<Int96Values>> int96_;  // by column that is read; null where there is none
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  int64_t rows_read_ = 0;
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> OpenDataFile(Store* store, const std::string& path,
                                                     const DataFileMeta& file,
                                                     const FileReadOptions& options) {
  if (!path.ends_with(kExtension)) {
    return Unsupported("reading ", path,
                       ": option file.format: only parquet data files are read (name ending ", kExtension,
                       "); rewrite the table with file.format=parquet");
  }
  std::shared_ptr<const TableSchema> written = options.table_schema;
  if (written->id != file.schema_id) {
    if (!options.schema_by_id)
      return Invalid("reading ", path, ": no way to find schema ", file.schema_id, " was given");
    auto found = options.schema_by_id(file.schema_id);
    if (!found.ok()) return WithContext("reading " + path, found.status());
    written = std::move(found).ValueUnsafe();
  }
  auto opened = store->OpenForRead(path);
  if (!opened.ok()) return NamedOnce(path, opened.status());
  const auto size = (*opened)->GetSize();
  if (!size.ok()) return WithContext("reading " + path, size.status());
  if (file.size_bytes != 0 && *size != file.size_bytes) {
    return Corruption("reading ", path, ": the file has ", *size, " bytes, its manifest entry says ",
                      file.size_bytes);
  }
  auto reader = std::make_unique<ParquetDataFileReader>(path, file.row_count, options);
  HEADRACE_RETURN_NOT_OK(
      reader->Open(std::move(opened).ValueUnsafe(), *options.table_schema, *written, options.columns, file));
  return reader;
}

}  // namespace headrace
