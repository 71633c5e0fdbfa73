#include "format/roaring_bytes.h"

#include <bit>

namespace headrace {
namespace {

constexpr uint32_t kCookie = 12346;  // no container is stored as runs
constexpr uint32_t kCookieWithRuns =
    12347;  // in its lower half; the upper half is the number of containers - 1
constexpr size_t kMostContainers = 1 << 16;
constexpr size_t kOffsetsFrom = 4;     // fewer containers have no offsets when some are runs
constexpr size_t kMostInArray = 4096;  // values; more are a bitmap
constexpr size_t kBitmapBytes = 1 << 13;

uint32_t Get16(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]) |
         static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + 1])) << 8;
}
uint32_t Get32(std::string_view bytes, size_t at) { return Get16(bytes, at) | Get16(bytes, at + 2) << 16; }

void Put16(uint32_t value, std::string* out) {
  out->push_back(static_cast<char>(value));
  out->push_back(static_cast<char>(value >> 8));
}
void Put32(uint32_t value, std::string* out) {
  Put16(value, out);
  Put16(value >> 16, out);
}

// Walks over one bitmap; every step says what it needs before it looks.
class Checker {
 public:
  explicit Checker(std::string_view bytes) : bytes_(bytes) {}

  Result<size_t> Check() {
    HEADRACE_RETURN_NOT_OK(Header());
    int64_t last_key = -1;
    for (size_t i = 0; i < containers_; ++i) {
      const auto key = static_cast<int64_t>(Get16(bytes_, heads_ + 4 * i));
      const uint32_t count = Get16(bytes_, heads_ + 4 * i + 2) + 1;
      if (key <= last_key) return Corruption("container ", i, " does not come after the one before it");
      last_key = key;
      const Status valid = IsRun(i) ? Runs(count) : count > kMostInArray ? Bits(count) : Array(count);
      if (!valid.ok()) return WithContext("container " + std::to_string(i), valid);
    }
    return at_;
  }

 private:
  Status Need(size_t count) const {
    if (bytes_.size() - at_ >= count) return Status::OK();
    return Corruption("it ends after ", bytes_.size(), " bytes, ", count, " are needed at ", at_);
  }

  Status Header() {
    HEADRACE_RETURN_NOT_OK(Need(4));
    const uint32_t cookie = Get32(bytes_, at_);
    at_ += 4;
    if (cookie == kCookie) {
      HEADRACE_RETURN_NOT_OK(Need(4));
      containers_ = Get32(bytes_, at_);
      at_ += 4;
      if (containers_ > kMostContainers)
        return Corruption("it has ", containers_, " containers, at most ", kMostContainers);
    } else if ((cookie & 0xFFFF) == kCookieWithRuns) {
      containers_ = (cookie >> 16) + 1;
      HEADRACE_RETURN_NOT_OK(Need((containers_ + 7) / 8));
      runs_ = at_;
      at_ += (containers_ + 7) / 8;
    } else {
      return Corruption("it begins with ", cookie, ", not with ", kCookie, " or ", kCookieWithRuns);
    }
    const bool has_offsets = runs_ == 0 || containers_ >= kOffsetsFrom;
    const size_t heads_bytes = containers_ * (has_offsets ? 8 : 4);
    HEADRACE_RETURN_NOT_OK(Need(heads_bytes));
    heads_ = at_;
    at_ += heads_bytes;
    return Status::OK();
  }

  bool IsRun(size_t i) const {
    return runs_ != 0 && (static_cast<unsigned char>(bytes_[runs_ + i / 8]) >> (i % 8) & 1) != 0;
  }

  Status Array(uint32_t count) {
    HEADRACE_RETURN_NOT_OK(Need(size_t{2} * count));
    int64_t last = -1;
    for (uint32_t i = 0; i < count; ++i, at_ += 2) {
      const auto value = static_cast<int64_t>(Get16(bytes_, at_));
      if (value <= last) return Corruption("its values do not ascend");
      last = value;
    }
    return Status::OK();
  }

  Status Bits(uint32_t count) {
    HEADRACE_RETURN_NOT_OK(Need(kBitmapBytes));
    uint32_t set = 0;
    for (const size_t end = at_ + kBitmapBytes; at_ < end; at_ += 4)
      set += static_cast<uint32_t>(std::popcount(Get32(bytes_, at_)));
    if (set != count) return Corruption("it has ", set, " values, its head says ", count);
    return Status::OK();
  }

  Status Runs(uint32_t count) {
    HEADRACE_RETURN_NOT_OK(Need(2));
    const uint32_t runs = Get16(bytes_, at_);
    at_ += 2;
    HEADRACE_RETURN_NOT_OK(Need(size_t{4} * runs));
    uint32_t values = 0;
    int64_t last = -1;
    for (uint32_t i = 0; i < runs; ++i, at_ += 4) {
      const auto first = static_cast<int64_t>(Get16(bytes_, at_));
      const auto more = static_cast<int64_t>(Get16(bytes_, at_ + 2));
      if (first <= last || first + more > 0xFFFF) return Corruption("its runs do not ascend or go too far");
      last = first + more;
      values += static_cast<uint32_t>(more) + 1;
    }
    if (values != count) return Corruption("its runs have ", values, " values, its head says ", count);
    return Status::OK();
  }

  std::string_view bytes_;
  size_t at_ = 0;
  size_t containers_ = 0;
  size_t runs_ = 0;   // where the marks of run containers begin; 0: there are none
  size_t heads_ = 0;  // where keys and counts begin
};

size_t CountRuns(std::span<const uint32_t> values) {
  size_t runs = 1;
  for (size_t i = 1; i < values.size(); ++i) runs += values[i] != values[i - 1] + 1 ? 1 : 0;
  return runs;
}

void AppendRuns(std::span<const uint32_t> values, size_t runs, std::string* out) {
  Put16(static_cast<uint32_t>(runs), out);
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin + 1;
    while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
    Put16(values[begin], out);
    Put16(static_cast<uint32_t>(end - begin - 1), out);
    begin = end;
  }
}

void AppendBits(std::span<const uint32_t> values, std::string* out) {
  const size_t begin = out->size();
  out->resize(begin + kBitmapBytes);
  for (const uint32_t value : values) {
    char& byte = (*out)[begin + (value & 0xFFFF) / 8];
    byte = static_cast<char>(byte | 1 << (value % 8));
  }
}

}  // namespace

Result<size_t> CheckRoaring(std::string_view bytes) { return Checker(bytes).Check(); }

void RoaringWriter::Add(std::span<const uint32_t> values) {
  const size_t runs = CountRuns(values);
  const bool dense = values.size() > kMostInArray;
  const size_t plain_bytes = dense ? kBitmapBytes : 2 * values.size();
  Head head{values[0] >> 16, static_cast<uint32_t>(values.size()), plain_bytes > 2 + 4 * runs,
            bodies_.size()};
  if (head.as_runs) {
    AppendRuns(values, runs, &bodies_);
  } else if (dense) {
    AppendBits(values, &bodies_);
  } else {
    for (const uint32_t value : values) Put16(value, &bodies_);
  }
  heads_.push_back(head);
}

void RoaringWriter::AppendTo(std::string* out) const {
  const size_t begin = out->size();
  std::string run_marks((heads_.size() + 7) / 8, '\0');
  bool any_runs = false;
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (!heads_[i].as_runs) continue;
    any_runs = true;
    run_marks[i / 8] = static_cast<char>(run_marks[i / 8] | 1 << (i % 8));
  }
  if (any_runs) {
    Put32(kCookieWithRuns | static_cast<uint32_t>(heads_.size() - 1) << 16, out);
    out->append(run_marks);
  } else {
    Put32(kCookie, out);
    Put32(static_cast<uint32_t>(heads_.size()), out);
  }
  for (const Head& head : heads_) {
    Put16(head.key, out);
    Put16(head.count - 1, out);
  }
  if (!any_runs || heads_.size() >= kOffsetsFrom) {
    const size_t bodies = out->size() - begin + 4 * heads_.size();
    for (const Head& head : heads_) Put32(static_cast<uint32_t>(bodies + head.offset), out);
  }
  out->append(bodies_);
}

}  // namespace headrace
