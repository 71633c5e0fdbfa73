#include "ingest/columnar_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/schema.h>

#include <xxhash.h>

#include "ingest/input_file.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kBatchRows = 16384;
constexpr int64_t kEndBytes = 64 << 10;
constexpr std::string_view kArrowFileMagic = "ARROW1";

std::string HexOf(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

// Standard input, every byte that is read from it hashed on the way.
class ColumnarSource::HashedInput final : public arrow::io::InputStream {
 public:
  HashedInput() { XXH3_64bits_reset(state_); }
  ~HashedInput() override { XXH3_freeState(state_); }

  std::string hash() const { return HexOf(XXH3_64bits_digest(state_)); }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return bytes_; }
  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    int64_t done = 0;
    while (done < size) {
      const ssize_t got = ::read(STDIN_FILENO, static_cast<char*>(out) + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return IoError("reading standard input: ", std::strerror(errno));
      if (got == 0) break;
      done += got;
    }
    XXH3_64bits_update(state_, out, done);
    bytes_ += done;
    return done;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<arrow::ResizableBuffer> buffer,
                              arrow::AllocateResizableBuffer(0));
    // A length out of the stream may lie: memory grows with what comes.
    int64_t done = 0;
    while (done < size) {
      const int64_t part = std::min<int64_t>(size - done, 16 << 20);
      HEADRACE_RETURN_NOT_OK(buffer->Resize(done + part, false));
      HEADRACE_ASSIGN_OR_RETURN(const int64_t got, Read(part, buffer->mutable_data() + done));
      done += got;
      if (got < part) break;
    }
    HEADRACE_RETURN_NOT_OK(buffer->Resize(done));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  XXH3_state_t* state_ = XXH3_createState();
  int64_t bytes_ = 0;
  bool closed_ = false;
};

ColumnarSource::~ColumnarSource() = default;

Result<std::unique_ptr<ColumnarSource>> ColumnarSource::Open(const std::string& path, EventFormat format) {
  std::unique_ptr<ColumnarSource> source(new ColumnarSource(path));
  if (path == "-") {
    const Status opened = source->OpenStandardInput();
    if (!opened.ok()) return WithContext("reading standard input as an Arrow stream", opened);
    return source;
  }
  HEADRACE_RETURN_NOT_OK(CheckInputFile(path));
  const Result<std::shared_ptr<arrow::io::ReadableFile>> file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) return WithContext("opening the input " + path, file.status());
  source->file_ = *file;
  HEADRACE_ASSIGN_OR_RETURN(source->size_bytes_, source->file_->GetSize());
  HEADRACE_RETURN_NOT_OK(source->HashEnds());
  const Status opened = format == EventFormat::kParquet ? source->OpenParquet() : source->OpenArrow();
  if (!opened.ok())
    return WithContext("opening the input " + path + " as " + std::string(NameOf(format)), opened);
  return source;
}

Status ColumnarSource::HashEnds() {
  const int64_t head = std::min(size_bytes_, kEndBytes);
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> first, file_->ReadAt(0, head));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> last,
                            file_->ReadAt(size_bytes_ - head, head));
  const uint64_t hash =
      XXH3_64bits_withSeed(first->data(), first->size(), static_cast<uint64_t>(size_bytes_)) ^
      XXH3_64bits_withSeed(last->data(), last->size(), 1);
  hash_ = HexOf(hash);
  return Status::OK();
}

std::string ColumnarSource::hash() const { return input_ == nullptr ? hash_ : input_->hash(); }

// Parquet's own reader throws; all of it is met here.
Status ColumnarSource::OpenParquet() {
  try {
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties properties = parquet::default_reader_properties();
    properties.enable_buffered_stream();
    HEADRACE_RETURN_NOT_OK(builder.Open(file_, properties));
    const parquet::SchemaDescriptor* columns = builder.raw_reader()->metadata()->schema();
    for (int i = 0; i < columns->num_columns(); ++i) {
      if (columns->Column(i)->physical_type() == parquet::Type::INT96) {
        return Unsupported("its column '", columns->Column(i)->path()->ToDotString(),
                           "' is an INT96 timestamp, which cannot be read without losing digits or range; "
                           "write it as INT64");
      }
    }
    parquet::ArrowReaderProperties arrow_properties = parquet::default_arrow_reader_properties();
    arrow_properties.set_batch_size(kBatchRows);
    arrow_properties.set_pre_buffer(false);
    builder.properties(arrow_properties);
    std::unique_ptr<parquet::arrow::FileReader> built;
    HEADRACE_RETURN_NOT_OK(builder.Build(&built));
    const std::shared_ptr<parquet::arrow::FileReader> reader = std::move(built);
    HEADRACE_RETURN_NOT_OK(reader->GetSchema(&schema_));
    HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<arrow::RecordBatchReader> made, reader->GetRecordBatchReader());
    const std::shared_ptr<arrow::RecordBatchReader> batches = std::move(made);
    read_ = [reader, batches]() -> Result<std::shared_ptr<arrow::RecordBatch>> {
      try {
        return batches->Next();
      } catch (const std::exception& error) {
        return Corruption(error.what());
      }
    };
    return Status::OK();
  } catch (const std::exception& error) {
    return Corruption(error.what());
  }
}

Status ColumnarSource::OpenArrow() {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> start,
                            file_->ReadAt(0, static_cast<int64_t>(kArrowFileMagic.size())));
  if (std::string_view(*start) == kArrowFileMagic) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader,
                              arrow::ipc::RecordBatchFileReader::Open(file_));
    schema_ = reader->schema();
    read_ = [reader, next = 0]() mutable -> Result<std::shared_ptr<arrow::RecordBatch>> {
      if (next == reader->num_record_batches()) return nullptr;
      return reader->ReadRecordBatch(next++);
    };
    return Status::OK();
  }
  HEADRACE_RETURN_NOT_OK(file_->Seek(0));
  return OpenStream(file_);
}

Status ColumnarSource::OpenStandardInput() {
  input_ = std::make_shared<HashedInput>();
  return OpenStream(input_);
}

Status ColumnarSource::OpenStream(const std::shared_ptr<arrow::io::InputStream>& stream) {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatchReader> reader,
                            arrow::ipc::RecordBatchStreamReader::Open(stream));
  schema_ = reader->schema();
  read_ = [reader]() { return reader->Next(); };
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> ColumnarSource::Next() {
  while (rest_ == nullptr || rest_->num_rows() == 0) {
    const Result<std::shared_ptr<arrow::RecordBatch>> batch = read_();
    if (!batch.ok()) return WithContext("reading " + path_, batch.status());
    if (*batch == nullptr) return nullptr;
    const Status valid = (*batch)->ValidateFull();  // IPC bytes may lie about their offsets
    if (!valid.ok()) return Corruption("reading ", path_, ": ", valid.message());
    rest_ = *batch;
  }
  const std::shared_ptr<arrow::RecordBatch> batch = rest_->Slice(0, kBatchRows);
  rest_ = rest_->Slice(batch->num_rows());
  return batch;
}

Status ColumnarSource::SkipTo(const InputPosition& position) {
  const auto other = [&] {
    return Invalid("resuming ", path_ == "-" ? "standard input" : path_,
                   ": it is not what was ingested (hash ", hash(), ", was ", position.hash,
                   "). Give another --job to ingest it from its start");
  };
  if (file_ != nullptr && position.hash != hash_) return other();
  for (int64_t left = position.bytes; left > 0;) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, Next());
    if (batch == nullptr)
      return Invalid("resuming ", path_ == "-" ? "standard input" : path_, ": it has fewer rows than the ",
                     position.bytes, " that were ingested");
    if (batch->num_rows() > left) {
      // The rest of this batch, and of the one it was cut from.
      std::vector<std::shared_ptr<arrow::RecordBatch>> parts = {batch->Slice(left), rest_};
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Table> table,
                                arrow::Table::FromRecordBatches(schema_, parts));
      HEADRACE_ASSIGN_OR_RETURN(rest_, table->CombineChunksToBatch());
      break;
    }
    left -= batch->num_rows();
  }
  return position.bytes > 0 && position.hash != hash() ? other() : Status::OK();
}

}  // namespace headrace::ingest
