// Headers, blocks and sync markers.
#include "format/avro_container.h"

#include <algorithm>
#include <cstring>

#include <xxhash.h>

#include "format/avro_bytes.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic("Obj\x01", 4);
constexpr size_t kBlockBytes = 64000;
constexpr int kMaxValueDepth = 64;

bool SkipItems(const AvroSchema& schema, const AvroNode& node, AvroCursor* cursor, int depth) {
  const int32_t item = node.children[0];
  const bool keyed = node.kind == AvroNode::kMap;
  while (true) {
    int64_t count = 0;
    int64_t block_bytes = 0;
    std::string_view skipped;
    if (!cursor->TakeCount(&count, &block_bytes)) return false;
    if (count == 0) return true;
    if (block_bytes >= 0) {
      if (!cursor->TakeRaw(static_cast<size_t>(block_bytes), &skipped)) return false;
      continue;
    }
    if (!keyed && !schema.at(item).takes_bytes) continue;
    if (static_cast<uint64_t>(count) > cursor->remaining()) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (keyed && !cursor->TakeBytes(&skipped)) return false;
      if (!SkipAvroValue(schema, item, cursor, depth + 1)) return false;
    }
  }
}

}  // namespace

bool SkipAvroValue(const AvroSchema& schema, int32_t index, AvroCursor* cursor, int depth) {
  if (depth > kMaxValueDepth) return false;
  const AvroNode& node = schema.at(index);
  if (!node.takes_bytes) return true;  // also ends records of nothing but such records, however many
  int64_t number = 0;
  std::string_view bytes;
  switch (node.kind) {
    case AvroNode::kNull: return true;
    case AvroNode::kBoolean: return cursor->TakeRaw(1, &bytes);
    case AvroNode::kInt:
    case AvroNode::kLong:
    case AvroNode::kEnum: return cursor->TakeLong(&number);
    case AvroNode::kFloat: return cursor->TakeRaw(4, &bytes);
    case AvroNode::kDouble: return cursor->TakeRaw(8, &bytes);
    case AvroNode::kBytes:
    case AvroNode::kString: return cursor->TakeBytes(&bytes);
    case AvroNode::kFixed: return cursor->TakeRaw(static_cast<size_t>(node.fixed_bytes), &bytes);
    case AvroNode::kArray:
    case AvroNode::kMap: return SkipItems(schema, node, cursor, depth);
    case AvroNode::kUnion:
      return cursor->TakeLong(&number) && number >= 0 && static_cast<size_t>(number) < node.children.size() &&
             SkipAvroValue(schema, node.children[static_cast<size_t>(number)], cursor, depth + 1);
    case AvroNode::kRecord:
      for (const int32_t child : node.children) {
        if (!SkipAvroValue(schema, child, cursor, depth + 1)) return false;
      }
      return true;
  }
  return false;
}

Result<AvroFileReader> AvroFileReader::Open(std::string_view file, std::string_view origin) {
  if (!file.starts_with(kMagic)) {
    return Corruption(origin, ": not an Avro file: ", file.size(), " bytes that do not begin with Obj and 1");
  }
  AvroFileReader reader;
  reader.origin_ = origin;
  AvroCursor cursor(file.substr(kMagic.size()));
  std::string_view codec = "null";
  while (true) {
    int64_t count = 0;
    int64_t block_bytes = 0;
    if (!cursor.TakeCount(&count, &block_bytes))
      return Corruption(origin, ": Avro header is damaged or cut off");
    if (count == 0) break;
    if (static_cast<uint64_t>(count) > cursor.remaining())
      return Corruption(origin, ": Avro header of ", count, " entries");
    for (int64_t i = 0; i < count; ++i) {
      std::string_view key, value;
      if (!cursor.TakeBytes(&key) || !cursor.TakeBytes(&value)) {
        return Corruption(origin, ": Avro header is damaged or cut off");
      }
      if (key == "avro.schema") reader.schema_json_ = value;
      if (key == "avro.codec") codec = value;
    }
  }
  if (reader.schema_json_.empty()) return Corruption(origin, ": Avro header without avro.schema");
  auto known = AvroCodecFromHeader(codec);
  if (!known.ok()) return WithContext(origin, known.status());
  reader.codec_ = *known;
  std::string_view sync;
  if (!cursor.TakeRaw(reader.sync_.size(), &sync))
    return Corruption(origin, ": Avro header without its sync marker");
  std::copy(sync.begin(), sync.end(), reader.sync_.begin());
  reader.rest_ = file.substr(file.size() - cursor.remaining());
  return reader;
}

Result<bool> AvroFileReader::Next(AvroBlock* block) {
  if (rest_.empty()) return false;
  AvroCursor cursor(rest_);
  std::string_view packed, sync;
  if (!cursor.TakeLong(&block->records) || block->records < 0 || !cursor.TakeBytes(&packed) ||
      !cursor.TakeRaw(sync_.size(), &sync)) {
    return Corruption(origin_, ": block ", block_, " of the Avro file is damaged or cut off");
  }
  if (!std::equal(sync.begin(), sync.end(), sync_.begin())) {
    return Corruption(origin_, ": block ", block_,
                      " of the Avro file does not end with the file's sync marker");
  }
  rest_ = rest_.substr(rest_.size() - cursor.remaining());
  if (codec_ == AvroCodec::kNull) {
    block->bytes = packed;
  } else {
    const Status status = decompressor_.Decompress(codec_, packed, &plain_);
    if (!status.ok()) return WithContext(origin_ + ": block " + std::to_string(block_), status);
    block->bytes = plain_;
  }
  ++block_;
  return true;
}

Status AvroFileWriter::EndRecord() {
  ++records_;
  return block_.size() >= kBlockBytes ? CloseBlock() : Status::OK();
}

Status AvroFileWriter::CloseBlock() {
  HEADRACE_ASSIGN_OR_RETURN(std::string packed, CompressAvroBlock(codec_, zstd_level_, block_));
  blocks_.push_back({records_, std::move(packed)});
  block_.clear();
  records_ = 0;
  return Status::OK();
}

Result<std::string> AvroFileWriter::Finish() {
  if (records_ > 0) HEADRACE_RETURN_NOT_OK(CloseBlock());
  std::string file(kMagic);
  AppendAvroLong(2, &file);
  AppendAvroBytes("avro.schema", &file);
  AppendAvroBytes(schema_json_, &file);
  AppendAvroBytes("avro.codec", &file);
  AppendAvroBytes(HeaderNameOf(codec_), &file);
  AppendAvroLong(0, &file);

  XXH128_hash_t hash{};
  for (const Packed& packed : blocks_) {
    hash = XXH3_128bits_withSeed(packed.bytes.data(), packed.bytes.size(), hash.low64 ^ hash.high64);
  }
  char sync[16];
  std::memcpy(sync, &hash.low64, 8);
  std::memcpy(sync + 8, &hash.high64, 8);
  file.append(sync, sizeof(sync));
  for (const Packed& packed : blocks_) {
    AppendAvroLong(packed.records, &file);
    AppendAvroBytes(packed.bytes, &file);
    file.append(sync, sizeof(sync));
  }
  return file;
}

}  // namespace headrace
