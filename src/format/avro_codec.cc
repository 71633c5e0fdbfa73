// zlib, snappy and zstd behind one pair of functions.
#include "format/avro_codec.h"

#include <array>
#include <memory>

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

namespace headrace {
namespace {

constexpr std::array<std::string_view, 4> kHeaderNames = {"null", "deflate", "snappy", "zstandard"};

Status TooLarge() { return Corruption("a block expands beyond ", kMaxAvroBlockBytes, " bytes"); }

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

Result<std::string> Deflate(std::string_view plain) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return OverBudget("no memory for deflate");
  }
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return Invalid("deflate of ", plain.size(), " bytes failed");
  return packed;
}

// Makes room for more output: doubles, up to one byte beyond the limit, so that a block of just the limit can end.
bool Grow(std::string* plain, size_t used) {
  constexpr size_t kMost = kMaxAvroBlockBytes + 1;
  if (used >= kMost) return false;
  if (plain->size() == used) plain->resize(std::min(kMost, std::max<size_t>(plain->size() * 2, 1U << 16)));
  return true;
}

Status Inflate(std::string_view packed, std::string* plain) {
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) return OverBudget("no memory for inflate");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closer(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  plain->clear();
  int outcome = Z_OK;
  while (outcome == Z_OK) {
    if (!Grow(plain, stream.total_out)) return TooLarge();
    stream.next_out = reinterpret_cast<Bytef*>(plain->data()) + stream.total_out;
    stream.avail_out = static_cast<uInt>(plain->size() - stream.total_out);
    outcome = inflate(&stream, Z_NO_FLUSH);
  }
  if (outcome != Z_STREAM_END)
    return Corruption("a deflate block of ", packed.size(), " bytes is damaged or cut off");
  if (stream.total_out > kMaxAvroBlockBytes) return TooLarge();
  plain->resize(stream.total_out);
  return Status::OK();
}

Result<std::string> PackSnappy(std::string_view plain) {
  std::string packed;
  snappy::Compress(plain.data(), plain.size(), &packed);
  const uint32_t crc = Crc32(plain);
  for (int shift = 24; shift >= 0; shift -= 8) packed.push_back(static_cast<char>(crc >> shift));
  return packed;
}

Status UnpackSnappy(std::string_view packed, std::string* plain) {
  if (packed.size() < 4) return Corruption("a snappy block of ", packed.size(), " bytes, at least 4");
  uint32_t wanted = 0;
  for (const char c : packed.substr(packed.size() - 4))
    wanted = (wanted << 8) | static_cast<unsigned char>(c);
  packed.remove_suffix(4);
  size_t size = 0;
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size))
    return Corruption("a damaged snappy block");
  if (size > kMaxAvroBlockBytes) return TooLarge();
  // A byte of snappy gives at most 64 (a two-byte copy of 64): a larger claim is a lie that must not be allocated.
  if (size > packed.size() * 64)
    return Corruption("a snappy block of ", packed.size(), " bytes claims ", size);
  plain->resize(size);
  if (!snappy::RawUncompress(packed.data(), packed.size(), plain->data()))
    return Corruption("a damaged snappy block");
  const uint32_t found = Crc32(*plain);
  if (found != wanted) return Corruption("checksum of a snappy block is ", found, ", expected ", wanted);
  return Status::OK();
}

Result<std::string> PackZstd(int level, std::string_view plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), level);
  if (ZSTD_isError(size)) return Invalid("zstd level ", level, ": ", ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

// Frames may or may not say their size, and there may be several: Java writes them as a stream.
Status UnpackZstd(ZSTD_DCtx* context, std::string_view packed, std::string* plain) {
  if (context == nullptr) return OverBudget("no memory for zstd");
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 27);
  plain->clear();
  size_t used = 0;
  size_t hint = 1;  // 0 when a frame has ended
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (true) {
    if (!Grow(plain, used)) return TooLarge();
    ZSTD_outBuffer out{plain->data() + used, plain->size() - used, 0};
    hint = ZSTD_decompressStream(context, &out, &in);
    used += out.pos;
    if (ZSTD_isError(hint)) return Corruption("a zstd block: ", ZSTD_getErrorName(hint));
    // Nothing is held back once a frame has ended (hint 0) or there was room left.
    if (in.pos == in.size && (hint == 0 || used < plain->size())) break;
  }
  if (hint != 0 && !packed.empty()) return Corruption("a zstd block of ", packed.size(), " bytes is cut off");
  if (used > kMaxAvroBlockBytes) return TooLarge();
  plain->resize(used);
  return Status::OK();
}

}  // namespace

std::string_view HeaderNameOf(AvroCodec codec) { return kHeaderNames[static_cast<size_t>(codec)]; }

Result<AvroCodec> AvroCodecFromHeader(std::string_view name) {
  for (size_t i = 0; i < kHeaderNames.size(); ++i) {
    if (kHeaderNames[i] == name) return static_cast<AvroCodec>(i);
  }
  return Unsupported("Avro codec '", name, "'; supported are null, deflate, snappy, zstandard");
}

Result<std::string> CompressAvroBlock(AvroCodec codec, int zstd_level, std::string_view plain) {
  if (plain.size() > kMaxAvroBlockBytes)
    return Invalid("an Avro block of ", plain.size(), " bytes, at most ", kMaxAvroBlockBytes);
  switch (codec) {
    case AvroCodec::kNull: return std::string(plain);
    case AvroCodec::kDeflate: return Deflate(plain);
    case AvroCodec::kSnappy: return PackSnappy(plain);
    case AvroCodec::kZstd: return PackZstd(zstd_level, plain);
  }
  return Invalid("no such codec");
}

Status DecompressAvroBlock(AvroCodec codec, std::string_view packed, std::string* plain) {
  return AvroDecompressor().Decompress(codec, packed, plain);
}

Status AvroDecompressor::Decompress(AvroCodec codec, std::string_view packed, std::string* plain) {
  if (packed.size() > kMaxAvroBlockBytes) return TooLarge();
  switch (codec) {
    case AvroCodec::kNull: plain->assign(packed); return Status::OK();
    case AvroCodec::kDeflate: return Inflate(packed, plain);
    case AvroCodec::kSnappy: return UnpackSnappy(packed, plain);
    case AvroCodec::kZstd:
      if (zstd_ == nullptr)
        zstd_ = {ZSTD_createDCtx(), [](void* context) { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context)); }};
      return UnpackZstd(static_cast<ZSTD_DCtx*>(zstd_.get()), packed, plain);
  }
  return Invalid("no such codec");
}

}  // namespace headrace
