#include "file/parquet_file.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>

#include "file/encoding_choice.h"
#include "file/parquet_schema.h"

namespace headrace {
namespace {

constexpr int64_t kRowGroupRows = 1 << 20;
constexpr int64_t kLeastRowGroupBytes = 1 << 20;
constexpr int64_t kMostRowGroupBytes = 64 << 20;
constexpr int64_t kWriteBatchRows = 8192;

struct CodecName {
  std::string_view name;
  arrow::Compression::type codec;
};
// Names as Java's file.compression takes them, in any case. Its "lz4" is Hadoop's framing, not the raw blocks.
constexpr CodecName kCodecs[] = {
    {"zstd", arrow::Compression::ZSTD},         {"snappy", arrow::Compression::SNAPPY},
    {"gzip", arrow::Compression::GZIP},         {"lz4", arrow::Compression::LZ4_HADOOP},
    {"lz4_raw", arrow::Compression::LZ4},       {"brotli", arrow::Compression::BROTLI},
    {"none", arrow::Compression::UNCOMPRESSED}, {"uncompressed", arrow::Compression::UNCOMPRESSED},
};

Result<arrow::Compression::type> CodecFromOption(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const CodecName& known : kCodecs) {
    if (known.name != lower) continue;
    if (known.codec == arrow::Compression::UNCOMPRESSED || arrow::util::Codec::IsAvailable(known.codec)) {
      return known.codec;
    }
  }
  return Unsupported("option file.compression: no codec \"", text,
                     "\" for Parquet files; allowed are zstd, snappy, gzip, lz4, lz4_raw, brotli, none");
}

// Passes bytes on, counts them, keeps the store's first error, and can be cut off: a Parquet writer that is dropped half-way
// still writes its footer.
class Sink final : public arrow::io::OutputStream {
 public:
  explicit Sink(std::shared_ptr<arrow::io::OutputStream> out) : out_(std::move(out)) {}

  Status Write(const void* data, int64_t bytes) override {
    if (!error_.ok()) return error_;
    error_ = out_->Write(data, bytes);
    if (error_.ok()) position_ += bytes;
    return error_;
  }
  using arrow::io::OutputStream::Write;
  Status Flush() override { return error_.ok() ? out_->Flush() : error_; }
  Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }
  Status Close() override {
    if (closed_) return error_;
    closed_ = true;
    HEADRACE_RETURN_NOT_OK(error_);
    return error_ = out_->Close();
  }
  Status Abort() override {
    if (closed_) return Status::OK();
    closed_ = true;
    if (error_.ok()) error_ = Cancelled("writing was given up");
    return out_->Abort();
  }
  int64_t position() const { return position_; }

 private:
  std::shared_ptr<arrow::io::OutputStream> out_;
  Status error_;
  int64_t position_ = 0;
  bool closed_ = false;
};

// A Parquet file writer that lets us see the open row group's size: Arrow's writer for record batches does not.
class WatchedContents final : public parquet::ParquetFileWriter::Contents {
 public:
  WatchedContents(std::unique_ptr<parquet::ParquetFileWriter> inner,
                  std::shared_ptr<parquet::schema::GroupNode> schema, parquet::RowGroupWriter** open_group)
      : Contents(std::move(schema), nullptr), inner_(std::move(inner)), open_group_(open_group) {}

  void Close() override {
    *open_group_ = nullptr;
    inner_->Close();
    file_metadata_ = inner_->metadata();
  }
  parquet::RowGroupWriter* AppendRowGroup() override { return *open_group_ = inner_->AppendRowGroup(); }
  parquet::RowGroupWriter* AppendBufferedRowGroup() override {
    return *open_group_ = inner_->AppendBufferedRowGroup();
  }
  int64_t num_rows() const override { return inner_->num_rows(); }
  int num_columns() const override { return inner_->num_columns(); }
  int num_row_groups() const override { return inner_->num_row_groups(); }
  const std::shared_ptr<parquet::WriterProperties>& properties() const override {
    return inner_->properties();
  }
  void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) override {
    inner_->AddKeyValueMetadata(metadata);
  }

 private:
  std::unique_ptr<parquet::ParquetFileWriter> inner_;
  parquet::RowGroupWriter** open_group_;
};

void Apply(LeafEncoding encoding, const std::shared_ptr<parquet::schema::ColumnPath>& path,
           parquet::WriterProperties::Builder* builder) {
  switch (encoding) {
    case LeafEncoding::kPlain: builder->disable_dictionary(path); return;
    case LeafEncoding::kDictionary: builder->enable_dictionary(path); return;
    case LeafEncoding::kDelta:
      builder->disable_dictionary(path);
      builder->encoding(path, parquet::Encoding::DELTA_BINARY_PACKED);
      // Packed differences leave a codec nothing to find.
      builder->compression(path, arrow::Compression::UNCOMPRESSED);
      builder->compression_level(path, arrow::util::kUseDefaultCompressionLevel);
  }
}

// The codec that the estimates compress with; none when there is none.
std::unique_ptr<arrow::util::Codec> MakeCodec(arrow::Compression::type codec, int32_t zstd_level) {
  if (codec == arrow::Compression::UNCOMPRESSED) return nullptr;
  auto made = codec == arrow::Compression::ZSTD ? arrow::util::Codec::Create(codec, zstd_level)
                                                : arrow::util::Codec::Create(codec);
  return made.ok() ? std::move(made).ValueUnsafe() : nullptr;
}

Result<std::shared_ptr<parquet::WriterProperties>> MakeProperties(
    const ParquetSettings& settings, const std::shared_ptr<parquet::schema::GroupNode>& schema,
    const arrow::RecordBatch& first) {
  HEADRACE_ASSIGN_OR_RETURN(const arrow::Compression::type codec, CodecFromOption(settings.compression));
  parquet::WriterProperties::Builder builder;
  builder.memory_pool(WriterPool(settings.pool));
  builder.compression(codec);
  if (codec == arrow::Compression::ZSTD) builder.compression_level(settings.zstd_level);
  builder.enable_page_checksum();
  builder.write_batch_size(kWriteBatchRows);
  builder.max_row_group_length(kRowGroupRows);
  builder.max_rows_per_page(settings.page_rows);
  builder.enable_write_page_index();
  if (settings.dictionary == true) return builder.build();  // for every column, as Java has it
  builder.disable_dictionary();
  parquet::SchemaDescriptor leaves;
  leaves.Init(schema);
  const bool may = !settings.dictionary.has_value();
  const std::unique_ptr<arrow::util::Codec> shrinking = MakeCodec(codec, settings.zstd_level);
  const std::vector<LeafEncoding> choices =
      ChooseEncodings(first, {.pack = settings.pack_integers, .dictionary = may, .codec = shrinking.get()});
  for (int i = 0; i < leaves.num_columns() && i < static_cast<int>(choices.size()); ++i) {
    const parquet::Type::type type = leaves.Column(i)->physical_type();
    const bool whole = type == parquet::Type::INT32 || type == parquet::Type::INT64;
    if (choices[i] == LeafEncoding::kDelta && !whole)
      continue;  // a foreign batch, refused when it is written
    if (choices[i] == LeafEncoding::kDictionary && !may) continue;
    Apply(choices[i], leaves.Column(i)->path(), &builder);
  }
  return builder.build();
}

class ParquetFileWriting final : public ParquetFile {
 public:
  ParquetFileWriting(Store* store, std::string path, std::shared_ptr<arrow::Schema> schema,
                     std::shared_ptr<Sink> sink, int64_t row_group_bytes)
      : store_(store),
        path_(std::move(path)),
        schema_(std::move(schema)),
        sink_(std::move(sink)),
        row_group_bytes_(std::clamp(row_group_bytes, kLeastRowGroupBytes, kMostRowGroupBytes)) {}
  ~ParquetFileWriting() override { Abort(); }

  Status Open(const std::shared_ptr<parquet::schema::GroupNode>& schema,
              const std::shared_ptr<parquet::WriterProperties>& properties, arrow::MemoryPool* pool) {
    return Guarded("creating", [&]() -> Status {
      auto inner = parquet::ParquetFileWriter::Open(sink_, schema, properties);
      auto watched = std::make_unique<parquet::ParquetFileWriter>();
      watched->Open(std::make_unique<WatchedContents>(std::move(inner), schema, &open_group_));
      HEADRACE_RETURN_NOT_OK(parquet::arrow::FileWriter::Make(
          pool, std::move(watched), schema_, parquet::default_arrow_writer_properties(), &writer_));
      return writer_->NewBufferedRowGroup();
    });
  }

  Status Write(const arrow::RecordBatch& batch) override {
    HEADRACE_RETURN_NOT_OK(Check(batch));
    return Guarded("writing", [&]() -> Status {
      if (open_group_ != nullptr && OpenGroupBytes() >= row_group_bytes_) {
        HEADRACE_RETURN_NOT_OK(writer_->NewBufferedRowGroup());
      }
      return writer_->WriteRecordBatch(*arrow::RecordBatch::Make(schema_, batch.num_rows(), batch.columns()));
    });
  }

  int64_t EstimatedBytes() const override { return sink_->position() + OpenGroupBytes(); }

  Result<std::shared_ptr<parquet::FileMetaData>> Close() override {
    std::shared_ptr<parquet::FileMetaData> footer;
    HEADRACE_RETURN_NOT_OK(Guarded("closing", [&]() -> Status {
      HEADRACE_RETURN_NOT_OK(writer_->Close());
      footer = writer_->metadata();
      return sink_->Close();
    }));
    writer_.reset();
    done_ = true;
    return footer;
  }

  void Abort() override {
    if (done_) return;
    done_ = true;
    (void)sink_->Abort();
    open_group_ = nullptr;
    writer_.reset();
    (void)store_->Delete(path_);
  }

  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return sink_->position(); }

 private:
  int64_t OpenGroupBytes() const {
    if (open_group_ == nullptr) return 0;
    // A page of a column is one of three: complete in the group's own memory, complete and waiting for its dictionary, or open.
    const auto buffered = open_group_->estimated_buffered_stats();
    return open_group_->total_compressed_bytes_written() + open_group_->total_compressed_bytes() +
           buffered.value_bytes + buffered.dict_bytes + buffered.def_level_bytes + buffered.rep_level_bytes;
  }

  Status Check(const arrow::RecordBatch& batch) const {
    if (done_) return Invalid("writing ", path_, ": the file is closed");
    if (batch.num_columns() != schema_->num_fields()) {
      return Invalid("writing ", path_, ": the batch has ", batch.num_columns(), " columns, the file ",
                     schema_->num_fields());
    }
    for (int i = 0; i < batch.num_columns(); ++i) {
      const arrow::Field& field = *schema_->field(i);
      if (!batch.column(i)->type()->Equals(field.type())) {
        return Invalid("writing ", path_, ", column ", field.name(), ": found ",
                       batch.column(i)->type()->ToString(), ", the table wants ", field.type()->ToString());
      }
      if (!field.nullable() && batch.column(i)->null_count() > 0) {
        return Invalid("writing ", path_, ", column ", field.name(), ": it is NOT NULL and ",
                       batch.column(i)->null_count(), " of ", batch.num_rows(), " rows are null");
      }
    }
    return Status::OK();
  }

  // Runs `act`; on failure deletes the file and names it.
  template <typename Act>
  Status Guarded(std::string_view doing, Act&& act) {
    Status status;
    try {
      status = act();
    } catch (const parquet::ParquetStatusException& error) {
      status = error.status();
    } catch (const std::exception& error) {
      status = IoError(error.what());
    }
    if (status.ok()) return status;
    Abort();
    return WithContext(std::string(doing) + " " + path_, status);
  }

  Store* store_;
  std::string path_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<Sink> sink_;
  const int64_t row_group_bytes_;  // bounds what the open file holds in memory
  parquet::RowGroupWriter* open_group_ = nullptr;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  bool done_ = false;
};

}  // namespace

Status CheckParquetCompression(const std::string& compression) {
  return CodecFromOption(compression).status();
}

arrow::MemoryPool* WriterPool(arrow::MemoryPool* wanted) {
  if (wanted != nullptr) return wanted;
  arrow::MemoryPool* pool = nullptr;
  return arrow::mimalloc_memory_pool(&pool).ok() ? pool : arrow::default_memory_pool();
}

Result<std::unique_ptr<ParquetFile>> ParquetFile::Create(Store* store, const std::string& path,
                                                         const std::vector<DataField>& fields,
                                                         const ParquetSettings& settings,
                                                         const arrow::RecordBatch& first) {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<parquet::schema::GroupNode> schema,
                            ToParquetSchema(fields));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<parquet::WriterProperties> properties,
                            MakeProperties(settings, schema, first));
  auto opened = store->OpenForWrite(path);
  if (!opened.ok()) return WithContext("creating " + path, opened.status());
  auto sink = std::make_shared<Sink>(std::move(opened).ValueUnsafe());
  auto file = std::make_unique<ParquetFileWriting>(store, path, ToArrowSchema(fields), std::move(sink),
                                                   settings.row_group_bytes);
  HEADRACE_RETURN_NOT_OK(file->Open(schema, properties, WriterPool(settings.pool)));
  return file;
}

}  // namespace headrace
