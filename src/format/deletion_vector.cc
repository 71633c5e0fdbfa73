#include "format/deletion_vector.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <roaring/roaring.h>
#include <zlib.h>

#include "format/roaring_bytes.h"

namespace headrace {
namespace {

constexpr uint32_t kMagic32 = 1581511376;    // stored big-endian
constexpr uint32_t kMagic64 = 1681511377;    // stored little-endian
constexpr size_t kNumberBytes = 4;           // of length, magic and checksum each
constexpr size_t kCountBytes = 8;            // of the bitmaps of the 64-bit form
constexpr uint64_t kSmallestBitmap = 4 + 8;  // its key and an empty roaring bitmap
constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();
constexpr int kHighShift = 32;

struct FreeRoaring {
  void operator()(roaring_bitmap_t* bitmap) const { roaring_bitmap_free(bitmap); }
};
using Roaring = std::unique_ptr<roaring_bitmap_t, FreeRoaring>;

uint32_t HighOf(int64_t position) { return static_cast<uint32_t>(position >> kHighShift); }
uint32_t LowOf(int64_t position) { return static_cast<uint32_t>(position); }
int64_t PositionOf(uint32_t high, uint32_t low) { return int64_t{high} << kHighShift | low; }

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

uint64_t LittleEndian(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

void PutBigEndian(uint32_t number, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

void PutLittleEndian(uint64_t number, size_t size, std::string* out) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

uint32_t ChecksumOf(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Null: an empty one. A few bytes of runs may stand for very many positions: they are never held all at once.
void AppendRoaring(const roaring_bitmap_t* bitmap, std::string* out) {
  RoaringWriter writer;
  if (bitmap != nullptr) {
    roaring_uint32_iterator_t at;
    roaring_init_iterator(bitmap, &at);
    std::vector<uint32_t> values;
    while (at.has_value) {
      values.clear();
      const uint32_t key = at.current_value >> 16;
      for (; at.has_value && at.current_value >> 16 == key; roaring_advance_uint32_iterator(&at))
        values.push_back(at.current_value);
      writer.Add(values);
    }
  }
  writer.AppendTo(out);
}

Status Wrong(std::string_view origin, const Status& status) {
  return WithContext("reading deletion vectors of " + std::string(origin), status);
}

// The first bitmap of `bytes` and how many of them it takes; null for an empty one.
Result<std::pair<Roaring, size_t>> ReadRoaring(std::string_view bytes) {
  HEADRACE_ASSIGN_OR_RETURN(const size_t size, CheckRoaring(bytes));
  Roaring bitmap(roaring_bitmap_portable_deserialize_safe(bytes.data(), size));
  if (bitmap == nullptr) return Corruption("a bitmap of ", size, " bytes cannot be read");
  if (roaring_bitmap_is_empty(bitmap.get())) bitmap.reset();
  return std::pair(std::move(bitmap), size);
}

}  // namespace

// By the upper half of a position; no bitmap is empty. Nearly always there is one.
struct DeletionVector::Bits {
  std::map<uint32_t, Roaring> bitmaps;

  Status Read32(std::string_view bytes) {
    HEADRACE_ASSIGN_OR_RETURN(auto read, ReadRoaring(bytes));
    auto& [bitmap, size] = read;
    if (size != bytes.size())
      return Corruption("its bitmap has ", size, " bytes, its length says ", bytes.size());
    if (bitmap == nullptr) return Status::OK();
    const uint32_t largest = roaring_bitmap_maximum(bitmap.get());
    if (largest > static_cast<uint32_t>(std::numeric_limits<int32_t>::max()))
      return Corruption("position ", largest, " is too large for the 32-bit form");
    bitmaps.emplace(0, std::move(bitmap));
    return Status::OK();
  }

  Status Read64(std::string_view bytes) {
    if (bytes.size() < kCountBytes) return Corruption("it ends before its number of bitmaps");
    const uint64_t count = LittleEndian(bytes, 0, kCountBytes);
    bytes.remove_prefix(kCountBytes);
    if (count > bytes.size() / kSmallestBitmap)
      return Corruption("it has ", count, " bitmaps in ", bytes.size(), " bytes");
    int64_t last = -1;
    for (uint64_t i = 0; i < count; ++i) {
      if (bytes.size() < kNumberBytes) return Corruption("it ends before bitmap ", i, " of ", count);
      const auto key = static_cast<int64_t>(LittleEndian(bytes, 0, kNumberBytes));
      if (key <= last || key >= std::numeric_limits<int32_t>::max())
        return Corruption("bitmap ", i, " has the key ", key, ", after ", last);
      last = key;
      bytes.remove_prefix(kNumberBytes);
      HEADRACE_ASSIGN_OR_RETURN(auto read, ReadRoaring(bytes));
      bytes.remove_prefix(read.second);
      if (read.first != nullptr) bitmaps.emplace(static_cast<uint32_t>(key), std::move(read.first));
    }
    if (!bytes.empty()) return Corruption(bytes.size(), " bytes follow its last bitmap");
    return Status::OK();
  }

  Status Write32(std::string* out) const {
    if (bitmaps.empty()) {
      AppendRoaring(nullptr, out);
      return Status::OK();
    }
    const auto& [high, bitmap] = *bitmaps.rbegin();
    const int64_t largest = PositionOf(high, roaring_bitmap_maximum(bitmap.get()));
    if (largest > std::numeric_limits<int32_t>::max())
      return Invalid("deleting the row at position ", largest,
                     ": too far for the 32-bit form; set deletion-vectors.bitmap64 to true");
    AppendRoaring(bitmap.get(), out);
    return Status::OK();
  }

  // The bitmaps are numbered from 0 without a gap, as Java's array of them.
  Status Write64(std::string* out) const {
    const uint64_t count = bitmaps.empty() ? 0 : uint64_t{bitmaps.rbegin()->first} + 1;
    if (count > kMostBytes / kSmallestBitmap)
      return Invalid("deleting the row at position ", PositionOf(bitmaps.rbegin()->first, 0),
                     " or after: too far, a vector would have more than ", kMostBytes, " bytes");
    PutLittleEndian(count, kCountBytes, out);
    for (uint32_t key = 0; key < count; ++key) {
      PutLittleEndian(key, kNumberBytes, out);
      const auto found = bitmaps.find(key);
      AppendRoaring(found == bitmaps.end() ? nullptr : found->second.get(), out);
    }
    return Status::OK();
  }
};

DeletionVector::DeletionVector() : bits_(std::make_unique<Bits>()) {}
DeletionVector::~DeletionVector() = default;
DeletionVector::DeletionVector(const DeletionVector& other) : DeletionVector() { MergeFrom(other); }
DeletionVector::DeletionVector(DeletionVector&& other) noexcept = default;
DeletionVector& DeletionVector::operator=(DeletionVector other) noexcept {
  std::swap(bits_, other.bits_);
  return *this;
}

bool DeletionVector::Delete(int64_t position) {
  Roaring& bitmap = bits_->bitmaps[HighOf(position)];
  if (bitmap == nullptr) bitmap.reset(roaring_bitmap_create());
  return roaring_bitmap_add_checked(bitmap.get(), LowOf(position));
}

bool DeletionVector::IsDeleted(int64_t position) const {
  const auto found = bits_->bitmaps.find(HighOf(position));
  return found != bits_->bitmaps.end() && roaring_bitmap_contains(found->second.get(), LowOf(position));
}

int64_t DeletionVector::cardinality() const {
  uint64_t count = 0;
  for (const auto& [high, bitmap] : bits_->bitmaps) count += roaring_bitmap_get_cardinality(bitmap.get());
  return static_cast<int64_t>(count);
}

int64_t DeletionVector::NextDeleted(int64_t position) const {
  const uint32_t first = HighOf(position);
  for (auto it = bits_->bitmaps.lower_bound(first); it != bits_->bitmaps.end(); ++it) {
    roaring_uint32_iterator_t at;
    roaring_init_iterator(it->second.get(), &at);
    if (it->first == first && !roaring_move_uint32_iterator_equalorlarger(&at, LowOf(position))) continue;
    return PositionOf(it->first, at.current_value);
  }
  return -1;
}

int64_t DeletionVector::CountDeleted(int64_t begin, int64_t end) const {
  int64_t count = 0;
  for (auto it = bits_->bitmaps.lower_bound(HighOf(begin)); it != bits_->bitmaps.end(); ++it) {
    const int64_t base = PositionOf(it->first, 0);
    if (base >= end) break;
    const int64_t low = std::max<int64_t>(0, begin - base);
    const int64_t high = std::min(int64_t{1} << kHighShift, end - base);
    count += static_cast<int64_t>(roaring_bitmap_range_cardinality(
        it->second.get(), static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
  }
  return count;
}

void DeletionVector::ClearDeleted(int64_t begin, int64_t end, uint8_t* bits) const {
  for (auto it = bits_->bitmaps.lower_bound(HighOf(begin)); it != bits_->bitmaps.end(); ++it) {
    const int64_t base = PositionOf(it->first, 0);
    if (base >= end) return;
    roaring_uint32_iterator_t at;
    roaring_init_iterator(it->second.get(), &at);
    if (begin > base && !roaring_move_uint32_iterator_equalorlarger(&at, LowOf(begin))) continue;
    for (; at.has_value && base + at.current_value < end; roaring_advance_uint32_iterator(&at)) {
      const int64_t bit = base + at.current_value - begin;
      bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] & ~(1u << (bit % 8)));
    }
  }
}

int64_t DeletionVector::PositionOfLive(int64_t live) const {
  int64_t position = live;
  while (true) {
    const int64_t next = live + CountDeleted(0, position + 1);
    if (next == position) return position;
    position = next;
  }
}

void DeletionVector::MergeFrom(const DeletionVector& other) {
  for (const auto& [high, bitmap] : other.bits_->bitmaps) {
    Roaring& own = bits_->bitmaps[high];
    if (own == nullptr)
      own.reset(roaring_bitmap_copy(bitmap.get()));
    else
      roaring_bitmap_or_inplace(own.get(), bitmap.get());
  }
}

Result<std::string> DeletionVector::Encode(bool bitmap64) const {
  std::string content;
  if (bitmap64) {
    PutLittleEndian(kMagic64, kNumberBytes, &content);
    HEADRACE_RETURN_NOT_OK(bits_->Write64(&content));
  } else {
    PutBigEndian(kMagic32, &content);
    HEADRACE_RETURN_NOT_OK(bits_->Write32(&content));
  }
  if (static_cast<int64_t>(content.size() + 2 * kNumberBytes) > kMostBytes)
    return Invalid("a deletion vector of ", content.size(), " bytes is too large, at most ", kMostBytes);
  std::string bytes;
  PutBigEndian(static_cast<uint32_t>(content.size()), &bytes);
  bytes += content;
  PutBigEndian(ChecksumOf(content), &bytes);
  return bytes;
}

Result<DeletionVector> DeletionVector::Decode(std::string_view bytes, std::string_view origin) {
  if (bytes.size() < kDeletionVectorHeadBytes)
    return Wrong(origin, Corruption("a vector of ", bytes.size(), " bytes ends before its magic"));
  HEADRACE_ASSIGN_OR_RETURN(const DeletionVectorLength length, ReadDeletionVectorLength(bytes, origin));
  if (length.bytes != static_cast<int64_t>(bytes.size()))
    return Wrong(origin, Corruption("a vector has ", bytes.size(), " bytes, its length says ", length.bytes));
  const std::string_view content = bytes.substr(kNumberBytes, bytes.size() - 2 * kNumberBytes);
  const uint32_t checksum = BigEndian(bytes, bytes.size() - kNumberBytes);
  if (checksum != ChecksumOf(content))
    return Wrong(origin,
                 Corruption("the checksum of a vector is ", ChecksumOf(content), ", it says ", checksum));
  const bool bitmap64 = length.in_manifest == length.bytes;
  const std::string_view bitmap = content.substr(kNumberBytes);
  DeletionVector vector;
  const Status read = bitmap64 ? vector.bits_->Read64(bitmap) : vector.bits_->Read32(bitmap);
  if (!read.ok()) return Wrong(origin, WithContext("the bitmap of a vector", read));
  return vector;
}

Result<DeletionVectorLength> ReadDeletionVectorLength(std::string_view head, std::string_view origin) {
  const uint32_t length = BigEndian(head, 0);
  const uint32_t magic = BigEndian(head, kNumberBytes);
  const bool is64 = LittleEndian(head, kNumberBytes, kNumberBytes) == kMagic64;
  if (magic != kMagic32 && !is64)
    return Wrong(origin, Corruption("the magic of a vector is ", magic, "; the 32-bit form has ", kMagic32,
                                    ", the 64-bit form ", kMagic64, " in the other byte order"));
  if (length < kNumberBytes || length > kMostBytes - 2 * kNumberBytes)
    return Wrong(origin, Corruption("the length of a vector is ", length));
  const int64_t whole = int64_t{length} + 2 * int64_t{kNumberBytes};
  return DeletionVectorLength{whole, is64 ? whole : int64_t{length}};
}

}  // namespace headrace
