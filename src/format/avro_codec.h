// The codecs of Avro blocks: null, deflate (raw), snappy (with a CRC-32 of the plain bytes behind it), zstandard.
//
// Pure; every length is checked, and a block never expands beyond kMaxAvroBlockBytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace {

enum class AvroCodec { kNull, kDeflate, kSnappy, kZstd };

inline constexpr size_t kMaxAvroBlockBytes = 32U << 20;  // writers close blocks at 64 kB or below

// The name in a file's header: "null", "deflate", "snappy", "zstandard".
std::string_view HeaderNameOf(AvroCodec codec);
Result<AvroCodec> AvroCodecFromHeader(std::string_view name);

Result<std::string> CompressAvroBlock(AvroCodec codec, int zstd_level, std::string_view plain);

// Decompresses blocks one after another, keeping the codec's state from block to block. *plain is replaced, its room reused.
class AvroDecompressor {
 public:
  Status Decompress(AvroCodec codec, std::string_view packed, std::string* plain);

 private:
  std::shared_ptr<void> zstd_;
};

Status DecompressAvroBlock(AvroCodec codec, std::string_view packed, std::string* plain);

}  // namespace headrace
