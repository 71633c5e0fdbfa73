#include "lsm/roaring_art.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include <roaring/roaring.h>

namespace headrace {
namespace {

constexpr uint32_t kPlainCookie = 12346;
constexpr uint32_t kRunCookie = 12347;
constexpr uint32_t kMostArrayValues = 4096;
constexpr size_t kBitmapBytes = 8192;
constexpr uint32_t kOffsetsFrom = 4;  // containers: fewer have no offsets beside runs

constexpr uint8_t kEmpty = 0;
constexpr uint8_t kNotEmpty = 1;
constexpr uint8_t kNotTrimmed = 0xFE;
enum NodeType : uint8_t { kNode4, kNode16, kNode48, kNode256, kLeaf };
enum ContainerType : uint8_t { kRuns, kBits, kValues };
constexpr int kKeyBytes = 6;

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string_view> Take(size_t size) {
    if (size > bytes_.size())
      return Corruption("a roaring bitmap ends too early: ", size, " bytes wanted, ", bytes_.size(), " left");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  template <typename T>
  Result<T> Little() {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view taken, Take(sizeof(T)));
    T value;
    std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

template <typename T>
void AppendLittle(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

uint16_t ShortAt(std::string_view bytes, size_t index) {
  uint16_t value;
  std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
  return value;
}

Status AddValues(ByteReader* reader, uint32_t count, uint32_t base, roaring_bitmap_t* into) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string_view values, reader->Take(size_t{count} * 2));
  int32_t before = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint16_t value = ShortAt(values, i);
    if (value <= before) return Corruption("a roaring bitmap's values do not ascend");
    before = value;
    roaring_bitmap_add(into, base + value);
  }
  return Status::OK();
}

Status AddBits(ByteReader* reader, uint32_t base, roaring_bitmap_t* into) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string_view bits, reader->Take(kBitmapBytes));
  for (size_t at = 0; at < kBitmapBytes; ++at) {
    for (auto byte = static_cast<uint8_t>(bits[at]); byte != 0; byte &= static_cast<uint8_t>(byte - 1)) {
      roaring_bitmap_add(into,
                         base + static_cast<uint32_t>(at * 8) + static_cast<uint32_t>(__builtin_ctz(byte)));
    }
  }
  return Status::OK();
}

Status AddRuns(ByteReader* reader, uint32_t base, roaring_bitmap_t* into) {
  HEADRACE_ASSIGN_OR_RETURN(const uint16_t runs, reader->Little<uint16_t>());
  HEADRACE_ASSIGN_OR_RETURN(const std::string_view pairs, reader->Take(size_t{runs} * 4));
  uint32_t after = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    const uint32_t first = ShortAt(pairs, i * 2);
    const uint32_t last = first + ShortAt(pairs, i * 2 + 1);
    if (first < after || last > 0xFFFF) return Corruption("a roaring bitmap's runs overlap or pass 2^16");
    after = last + 1;
    roaring_bitmap_add_range_closed(into, base + first, base + last);
  }
  return Status::OK();
}

Status AddContainer(ByteReader* reader, ContainerType type, uint32_t cardinality, uint32_t base,
                    roaring_bitmap_t* into) {
  if (type == kRuns) return AddRuns(reader, base, into);
  if (type == kBits) return AddBits(reader, base, into);
  if (cardinality > 0x10000) return Corruption("a roaring bitmap's container has ", cardinality, " values");
  return AddValues(reader, cardinality, base, into);
}

// One container of values below 2^16 without the header of the portable form.
std::string_view PayloadOf(std::string_view portable, ContainerType* type, uint32_t* cardinality) {
  uint32_t cookie;
  std::memcpy(&cookie, portable.data(), sizeof(cookie));
  const bool runs = (cookie & 0xFFFF) == kRunCookie;
  const std::string_view description = portable.substr(runs ? 5 : 8);
  *cardinality = uint32_t{ShortAt(description, 1)} + 1;
  *type = runs ? kRuns : (*cardinality > kMostArrayValues ? kBits : kValues);
  return portable.substr(runs ? 9 : 16);
}

int ByteOf(uint64_t key, int depth) { return static_cast<int>(key >> (8 * (kKeyBytes - 1 - depth)) & 0xFF); }

using Leaf = std::pair<uint64_t, uint32_t>;  // key and place

void AppendLeaf(const Leaf& leaf, std::string* out) {
  out->append({static_cast<char>(kLeaf), 0, 0, 0});
  for (int depth = 0; depth < kKeyBytes; ++depth)
    out->push_back(static_cast<char>(ByteOf(leaf.first, depth)));
  AppendLittle<uint64_t>(leaf.second, out);
}

struct Child {
  int byte = 0;
  uint32_t first_place = 0;  // the smallest below it: when it came
};

// The places of the children of a node that grew beyond 16: the first 16 in the order of their bytes, the others as they came.
std::vector<uint8_t> PlacesAsTheyCame(const std::vector<Child>& children) {
  std::vector<size_t> order(children.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return children[a].first_place < children[b].first_place; });
  std::sort(order.begin(), order.begin() + 16);
  std::vector<uint8_t> places(children.size());
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<uint8_t>(i);
  return places;
}

// Which bytes have children, in the form of each kind of node. Words lie with their last byte first.
void AppendBody(const std::vector<Child>& children, std::string* out) {
  std::vector<int> bytes;
  for (const Child& child : children) bytes.push_back(child.byte);
  if (bytes.size() <= 16) {
    const size_t word = bytes.size() <= 4 ? 4 : 8;
    std::string keys(bytes.size() <= 4 ? 4 : 16, '\0');
    for (size_t i = 0; i < bytes.size(); ++i)
      keys[i / word * word + word - 1 - i % word] = static_cast<char>(bytes[i]);
    out->append(keys);
  } else if (bytes.size() <= 48) {
    std::string index(256, '\xFF');
    const std::vector<uint8_t> places = PlacesAsTheyCame(children);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto at = static_cast<size_t>(bytes[i]);
      index[at / 8 * 8 + 7 - at % 8] = static_cast<char>(places[i]);
    }
    out->append(index);
  } else {
    uint64_t mask[4] = {};
    for (const int byte : bytes) mask[byte / 64] |= uint64_t{1} << (byte % 64);
    for (const uint64_t word : mask) AppendLittle(word, out);
  }
}

void AppendNode(std::span<const Leaf> leaves, int depth, std::string* out) {
  if (leaves.size() == 1) return AppendLeaf(leaves[0], out);
  int branch = depth;  // the first byte in which the smallest and the largest differ
  while (ByteOf(leaves.front().first, branch) == ByteOf(leaves.back().first, branch)) ++branch;
  std::vector<Child> children;
  for (const Leaf& leaf : leaves) {
    const int byte = ByteOf(leaf.first, branch);
    if (children.empty() || children.back().byte != byte) children.push_back({byte, leaf.second});
    children.back().first_place = std::min(children.back().first_place, leaf.second);
  }
  const NodeType type = children.size() <= 4    ? kNode4
                        : children.size() <= 16 ? kNode16
                        : children.size() <= 48 ? kNode48
                                                : kNode256;
  out->push_back(static_cast<char>(type));
  AppendLittle(static_cast<uint16_t>(children.size()), out);
  out->push_back(static_cast<char>(branch - depth));
  for (int at = depth; at < branch; ++at) out->push_back(static_cast<char>(ByteOf(leaves[0].first, at)));
  AppendBody(children, out);
  while (!leaves.empty()) {
    const int byte = ByteOf(leaves[0].first, branch);
    const auto end = std::find_if(leaves.begin(), leaves.end(),
                                  [&](const Leaf& leaf) { return ByteOf(leaf.first, branch) != byte; });
    const auto count = static_cast<size_t>(end - leaves.begin());
    AppendNode(leaves.first(count), branch + 1, out);
    leaves = leaves.subspan(count);
  }
}

size_t BodyBytes(uint8_t type) {
  switch (type) {
    case kNode4: return 4;
    case kNode16: return 16;
    case kNode48: return 256;
    default: return 32;
  }
}

}  // namespace

void FreeRoaring::operator()(roaring_bitmap_s* bitmap) const { roaring_bitmap_free(bitmap); }

Result<Roaring> DecodeRoaring(std::string_view bytes) {
  ByteReader reader(bytes);
  HEADRACE_ASSIGN_OR_RETURN(const uint32_t cookie, reader.Little<uint32_t>());
  const bool may_run = (cookie & 0xFFFF) == kRunCookie;
  if (!may_run && cookie != kPlainCookie)
    return Corruption("the value is no roaring bitmap: it begins with ", cookie);
  uint32_t count = (cookie >> 16) + 1;
  std::string_view runs;
  if (may_run) {
    HEADRACE_ASSIGN_OR_RETURN(runs, reader.Take((count + 7) / 8));
  } else {
    HEADRACE_ASSIGN_OR_RETURN(count, reader.Little<uint32_t>());
    if (count > 0x10000) return Corruption("a roaring bitmap claims ", count, " containers");
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::string_view descriptions, reader.Take(size_t{count} * 4));
  if (!may_run || count >= kOffsetsFrom) HEADRACE_RETURN_NOT_OK(reader.Take(size_t{count} * 4));
  Roaring bitmap(roaring_bitmap_create());
  int32_t before = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint16_t key = ShortAt(descriptions, i * 2);
    const uint32_t cardinality = uint32_t{ShortAt(descriptions, i * 2 + 1)} + 1;
    if (key <= before) return Corruption("a roaring bitmap's containers do not ascend");
    before = key;
    const bool is_run = may_run && (static_cast<uint8_t>(runs[i / 8]) >> (i % 8) & 1) != 0;
    const ContainerType type = is_run ? kRuns : (cardinality > kMostArrayValues ? kBits : kValues);
    HEADRACE_RETURN_NOT_OK(
        AddContainer(&reader, type, cardinality, static_cast<uint32_t>(key) << 16, bitmap.get()));
  }
  return bitmap;
}

std::string EncodeRoaring(roaring_bitmap_s* bitmap) {
  roaring_bitmap_run_optimize(bitmap);
  std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap), '\0');
  roaring_bitmap_portable_serialize(bitmap, bytes.data());
  return bytes;
}

void UniteRoaring(roaring_bitmap_s* into, const roaring_bitmap_s& other) {
  roaring_bitmap_or_inplace(into, &other);
}

// Reads the tree, then the containers that its leaves name.
class ArtReader {
 public:
  explicit ArtReader(std::string_view bytes) : reader_(bytes) {}

  Result<RoaringArt> Read() {
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t tag, reader_.Little<uint8_t>());
    if (tag == kEmpty) return std::move(art_);
    if (tag != kNotEmpty)
      return Corruption("the value is no 64-bit roaring bitmap: it begins with ", int{tag});
    HEADRACE_ASSIGN_OR_RETURN(const uint64_t keys, reader_.Little<uint64_t>());
    HEADRACE_RETURN_NOT_OK(ReadNode(0));
    if (art_.places_.size() != keys)
      return Corruption("a 64-bit roaring bitmap claims ", keys, " keys and has ", art_.places_.size());
    HEADRACE_RETURN_NOT_OK(ReadContainers());
    for (const auto& [key, place] : art_.places_) {
      if (place >= art_.containers_.size() || art_.containers_[place] == nullptr)
        return Corruption("a 64-bit roaring bitmap names container ", place, ", which it does not have");
    }
    return std::move(art_);
  }

 private:
  Status ReadNode(int depth) {
    if (depth > kKeyBytes) return Corruption("a 64-bit roaring bitmap's tree is too deep");
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t type, reader_.Little<uint8_t>());
    HEADRACE_ASSIGN_OR_RETURN(const uint16_t children, reader_.Little<uint16_t>());
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t prefix, reader_.Little<uint8_t>());
    HEADRACE_RETURN_NOT_OK(reader_.Take(prefix));
    if (type == kLeaf) return ReadLeaf();
    if (type > kLeaf || children > 256)
      return Corruption("a 64-bit roaring bitmap has a node of type ", int{type}, " with ", children,
                        " children");
    HEADRACE_RETURN_NOT_OK(reader_.Take(BodyBytes(type)));
    for (uint16_t child = 0; child < children; ++child) HEADRACE_RETURN_NOT_OK(ReadNode(depth + 1));
    return Status::OK();
  }

  Status ReadLeaf() {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view bytes, reader_.Take(kKeyBytes));
    uint64_t key = 0;
    for (const char byte : bytes) key = key << 8 | static_cast<uint8_t>(byte);
    HEADRACE_ASSIGN_OR_RETURN(const uint64_t place, reader_.Little<uint64_t>());
    if (place > 0x7FFFFFFF)
      return Unsupported("a 64-bit roaring bitmap with more than 2^31 containers (place ", place, ")");
    if (!art_.places_.emplace(key, static_cast<uint32_t>(place)).second)
      return Corruption("a 64-bit roaring bitmap has key ", key, " twice");
    return Status::OK();
  }

  Status ReadContainers() {
    HEADRACE_ASSIGN_OR_RETURN(const uint32_t arrays, reader_.Little<uint32_t>());
    if (arrays != 1) return Unsupported("a 64-bit roaring bitmap with ", arrays, " arrays of containers");
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t mark, reader_.Little<uint8_t>());
    HEADRACE_ASSIGN_OR_RETURN(const uint32_t size, reader_.Little<uint32_t>());
    if (size > reader_.left())
      return Corruption("a 64-bit roaring bitmap claims ", size, " containers (mark ", int{mark}, ")");
    for (uint32_t i = 0; i < size; ++i) {
      HEADRACE_ASSIGN_OR_RETURN(Roaring container, ReadContainer());
      art_.containers_.push_back(std::move(container));
    }
    HEADRACE_RETURN_NOT_OK(reader_.Take(8 + 4));  // how many there are, and which array is the last
    HEADRACE_ASSIGN_OR_RETURN(art_.last_place_, reader_.Little<int32_t>());
    if (art_.last_place_ < 0 || static_cast<uint32_t>(art_.last_place_) >= size)
      return Corruption("a 64-bit roaring bitmap ends at container ", art_.last_place_, " of ", size);
    return Status::OK();
  }

  Result<Roaring> ReadContainer() {
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t present, reader_.Little<uint8_t>());
    if (present == 0) return Roaring();
    HEADRACE_ASSIGN_OR_RETURN(const uint8_t type, reader_.Little<uint8_t>());
    HEADRACE_ASSIGN_OR_RETURN(const uint32_t cardinality, reader_.Little<uint32_t>());
    if (type > kValues) return Corruption("a 64-bit roaring bitmap has a container of type ", int{type});
    Roaring container(roaring_bitmap_create());
    HEADRACE_RETURN_NOT_OK(
        AddContainer(&reader_, static_cast<ContainerType>(type), cardinality, 0, container.get()));
    return container;
  }

  ByteReader reader_;
  RoaringArt art_;
};

Result<RoaringArt> RoaringArt::Decode(std::string_view bytes) { return ArtReader(bytes).Read(); }

std::string RoaringArt::Encode() {
  std::string bytes;
  if (places_.empty()) return std::string(1, static_cast<char>(kEmpty));
  bytes.push_back(static_cast<char>(kNotEmpty));
  AppendLittle<uint64_t>(places_.size(), &bytes);
  const std::vector<Leaf> leaves(places_.begin(), places_.end());
  AppendNode(leaves, 0, &bytes);
  AppendLittle<uint32_t>(1, &bytes);
  bytes.push_back(static_cast<char>(kNotTrimmed));
  AppendLittle(static_cast<uint32_t>(containers_.size()), &bytes);
  for (const Roaring& container : containers_) {
    bytes.push_back(container == nullptr ? 0 : 1);
    if (container == nullptr) continue;
    const std::string portable = EncodeRoaring(container.get());
    ContainerType type;
    uint32_t cardinality;
    const std::string_view payload = PayloadOf(portable, &type, &cardinality);
    bytes.push_back(static_cast<char>(type));
    AppendLittle(cardinality, &bytes);
    bytes.append(payload);
  }
  AppendLittle<uint64_t>(places_.size(), &bytes);
  AppendLittle<int32_t>(0, &bytes);
  AppendLittle(last_place_, &bytes);
  return bytes;
}

void RoaringArt::Unite(const RoaringArt& other) {
  for (const auto& [key, place] : other.places_) {
    const Roaring& more = other.containers_[place];
    const auto found = places_.find(key);
    if (found != places_.end()) {
      roaring_bitmap_or_inplace(containers_[found->second].get(), more.get());
      continue;
    }
    const auto next = static_cast<size_t>(++last_place_);
    // Java's array grows by half, to at least what is needed.
    if (next >= containers_.size())
      containers_.resize(std::max(next + 1, containers_.size() + containers_.size() / 2));
    containers_[next].reset(roaring_bitmap_copy(more.get()));
    places_.emplace(key, static_cast<uint32_t>(next));
  }
}

}  // namespace headrace
