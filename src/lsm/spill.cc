#include "lsm/spill.h"

#include <span>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>

namespace headrace {
namespace {

// Null: no compression.
Result<std::unique_ptr<arrow::util::Codec>> CodecOf(const SpillSpec& spec) {
  switch (spec.codec) {
    case SpillCodec::kNone: break;
    case SpillCodec::kLz4: return arrow::util::Codec::Create(arrow::Compression::LZ4);
    case SpillCodec::kZstd: return arrow::util::Codec::Create(arrow::Compression::ZSTD, spec.zstd_level);
  }
  return nullptr;
}

// What does not get smaller by at least an eighth is not worth decompressing.
bool IsWorthIt(int64_t compressed, int64_t plain) { return compressed <= plain - plain / 8; }

class SpilledRunBatches final : public RunBatches {
 public:
  SpilledRunBatches(const SpilledRun* run, std::shared_ptr<arrow::Schema> schema)
      : run_(run), schema_(std::move(schema)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == run_->blocks()) return nullptr;
    return run_->Read(next_++, schema_);
  }

 private:
  const SpilledRun* run_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t next_ = 0;
};

}  // namespace

SpilledRun::~SpilledRun() {
  for (const Block& block : blocks_) spec_.scratch->Free(block.extent);
}

Status SpilledRun::Append(const arrow::RecordBatch& rows) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = spec_.pool;
  options.use_threads = false;
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> plain,
                            arrow::ipc::SerializeRecordBatch(rows, options));
  Block block;
  block.plain_bytes = plain->size();
  std::span<const uint8_t> bytes(plain->data(), static_cast<size_t>(plain->size()));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<arrow::util::Codec> codec, CodecOf(spec_));
  std::unique_ptr<arrow::Buffer> compressed;
  if (codec != nullptr) {
    const int64_t most = codec->MaxCompressedLen(plain->size(), plain->data());
    HEADRACE_ASSIGN_OR_RETURN(compressed, arrow::AllocateBuffer(most, spec_.pool));
    HEADRACE_ASSIGN_OR_RETURN(
        const int64_t size, codec->Compress(plain->size(), plain->data(), most, compressed->mutable_data()));
    block.compressed = IsWorthIt(size, plain->size());
    if (block.compressed) bytes = {compressed->data(), static_cast<size_t>(size)};
  }
  HEADRACE_ASSIGN_OR_RETURN(block.extent, spec_.scratch->Write(bytes));
  blocks_.push_back(block);
  rows_ += rows.num_rows();
  disk_bytes_ += block.extent.bytes;
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> SpilledRun::Read(
    size_t number, const std::shared_ptr<arrow::Schema>& schema) const {
  const Block& block = blocks_[number];
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes,
                            spec_.scratch->Read(block.extent, spec_.pool));
  if (block.compressed) {
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<arrow::util::Codec> codec, CodecOf(spec_));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> plain,
                              arrow::AllocateBuffer(block.plain_bytes, spec_.pool));
    HEADRACE_RETURN_NOT_OK(
        codec->Decompress(bytes->size(), bytes->data(), block.plain_bytes, plain->mutable_data()));
    bytes = std::move(plain);
  }
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = spec_.pool;
  options.use_threads = false;
  arrow::io::BufferReader stream(std::move(bytes));
  return arrow::ipc::ReadRecordBatch(schema, /*dictionary_memo=*/nullptr, options, &stream);
}

std::unique_ptr<RunBatches> ReadSpilledRun(const SpilledRun* run, std::shared_ptr<arrow::Schema> schema) {
  return std::make_unique<SpilledRunBatches>(run, std::move(schema));
}

}  // namespace headrace
