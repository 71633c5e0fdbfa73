// The Avro object container: magic, header with schema and codec, blocks of records behind a sync marker each.
//
// The reader gives one decompressed block at a time, so memory is bounded by a block; it borrows the file's bytes. The writer
// closes a block once it holds 64 000 bytes, as Java does, and takes its sync marker from the content, so equal records give
// equal files. Every length is checked against the bytes that remain. One reader, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/avro_codec.h"

namespace headrace {

struct AvroBlock {
  int64_t records = 0;
  std::string_view bytes;  // decompressed; valid until the next call
};

class AvroFileReader {
 public:
  static Result<AvroFileReader> Open(std::string_view file, std::string_view origin);

  const std::string& schema_json() const { return schema_json_; }
  AvroCodec codec() const { return codec_; }
  // False at the end of the file.
  Result<bool> Next(AvroBlock* block);

 private:
  std::string_view rest_;
  std::string origin_;
  std::string schema_json_;
  AvroCodec codec_ = AvroCodec::kNull;
  std::array<char, 16> sync_{};
  AvroDecompressor decompressor_;
  std::string plain_;
  int64_t block_ = 0;
};

class AvroFileWriter {
 public:
  AvroFileWriter(std::string_view schema_json, AvroCodec codec, int zstd_level)
      : schema_json_(schema_json), codec_(codec), zstd_level_(zstd_level) {}

  // The encoder of one record appends to buffer(), then calls EndRecord.
  std::string* buffer() { return &block_; }
  Status EndRecord();
  Result<std::string> Finish();

 private:
  struct Packed {
    int64_t records = 0;
    std::string bytes;
  };
  Status CloseBlock();

  std::string schema_json_;
  AvroCodec codec_;
  int zstd_level_;
  std::string block_;
  int64_t records_ = 0;
  std::vector<Packed> blocks_;
};

}  // namespace headrace
