#include "file/integer_choice.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/decimal.h>

namespace headrace {
namespace {

constexpr int64_t kSampleValues = 2048;
constexpr int64_t kMostRows = 1 << 16;  // looked at, nulls among them
// A dictionary for at most one distinct value in this many: its codes are then at most nine bits.
constexpr int64_t kValuesPerDistinct = 10;
constexpr int kBlockValues = 128;
constexpr int kMiniblockValues = 32;
// The other encodings cost more time: they must be smaller than this share of the differences.
constexpr double kClearly = 0.9;
// Differences of so few bits are not worth a comparison.
constexpr int64_t kFewBits = 1;
// So many are looked at for values that come again; without any, a codec is better only where differences are wide.
constexpr size_t kRepeatSample = 512;

template <typename ArrayType>
int64_t NumberAt(const ArrayType& values, int64_t row) {
  if constexpr (std::is_same_v<ArrayType, arrow::Decimal128Array>) {
    return static_cast<int64_t>(arrow::Decimal128(values.Value(row)).low_bits());
  } else {
    return static_cast<int64_t>(values.Value(row));
  }
}

template <typename ArrayType>
void Append(const arrow::Array& array, int64_t step, std::vector<int64_t>* out) {
  const auto& values = static_cast<const ArrayType&>(array);
  const int64_t end = std::min(array.length(), kMostRows * step);
  for (int64_t row = 0; row < end && std::ssize(*out) < kSampleValues; row += step) {
    if (!array.IsNull(row)) out->push_back(NumberAt(values, row));
  }
}

// Values that are not null, a row of each `step`.
std::vector<int64_t> Sample(const arrow::Array& array, int64_t step) {
  std::vector<int64_t> out;
  switch (array.type_id()) {
    case arrow::Type::INT8: Append<arrow::Int8Array>(array, step, &out); break;
    case arrow::Type::INT16: Append<arrow::Int16Array>(array, step, &out); break;
    case arrow::Type::INT32: Append<arrow::Int32Array>(array, step, &out); break;
    case arrow::Type::INT64: Append<arrow::Int64Array>(array, step, &out); break;
    case arrow::Type::DATE32: Append<arrow::Date32Array>(array, step, &out); break;
    case arrow::Type::TIME32: Append<arrow::Time32Array>(array, step, &out); break;
    case arrow::Type::TIMESTAMP: Append<arrow::TimestampArray>(array, step, &out); break;
    case arrow::Type::DECIMAL128: Append<arrow::Decimal128Array>(array, step, &out); break;
    default: break;
  }
  return out;
}

int WidthOf(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DECIMAL128)
    return static_cast<const arrow::DecimalType&>(type).precision() > 9 ? 64 : 32;
  return type.id() == arrow::Type::INT64 || type.id() == arrow::Type::TIMESTAMP ? 64 : 32;
}

// The difference as the encoding has it: it wraps at the column's width.
int64_t Difference(int64_t from, int64_t to, int width) {
  const uint64_t difference = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  return width == 32 ? static_cast<int32_t>(static_cast<uint32_t>(difference))
                     : static_cast<int64_t>(difference);
}

int Bits(uint64_t value) { return static_cast<int>(std::bit_width(value)); }

int64_t VarintBits(int64_t value) {
  const uint64_t zigzag = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  return 8 * std::max(1, (Bits(zigzag) + 6) / 7);
}

int64_t BlockBits(std::span<const int64_t> differences, int width) {
  const int64_t least = *std::min_element(differences.begin(), differences.end());
  int64_t bits = VarintBits(least) + 8 * (kBlockValues / kMiniblockValues);
  for (size_t at = 0; at < differences.size(); at += kMiniblockValues) {
    const auto miniblock =
        differences.subspan(at, std::min<size_t>(kMiniblockValues, differences.size() - at));
    int widest = 0;
    for (const int64_t difference : miniblock) {
      widest = std::max(widest, Bits(static_cast<uint64_t>(difference) - static_cast<uint64_t>(least)));
    }
    bits += std::ssize(miniblock) * std::min(widest, width);
  }
  return bits;
}

// Bits under the codec; as they are when there is none.
double PlainBits(std::span<const int64_t> values, int width, arrow::util::Codec* codec) {
  const int64_t bytes = std::ssize(values) * width / 8;
  const auto raw = static_cast<double>(8 * bytes);
  if (codec == nullptr) return raw;
  std::vector<uint8_t> plain(bytes);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&plain[i * width / 8], &values[i], width / 8);
  std::vector<uint8_t> packed(codec->MaxCompressedLen(bytes, plain.data()));
  const auto size = codec->Compress(bytes, plain.data(), std::ssize(packed), packed.data());
  return size.ok() ? 8.0 * static_cast<double>(*size) : raw;
}

// Whether at least one value in 32 was there before.
bool HasRepeats(std::span<const int64_t> values) {
  const auto some = values.first(std::min(values.size(), kRepeatSample));
  const std::unordered_set<int64_t> distinct(some.begin(), some.end());
  return distinct.size() * 32 <= some.size() * 31;
}

// Bits of the codes, without those of the dictionary; 0 when there are too many values for one. Repeats are looked for all over
// the column: the first values of a sorted one repeat, the others may not.
double DictionaryBits(const arrow::Array& array) {
  const std::vector<int64_t> spread = Sample(array, std::max<int64_t>(1, array.length() / kSampleValues));
  std::unordered_set<int64_t> distinct;
  for (const int64_t value : spread) {
    distinct.insert(value);
    if (std::ssize(distinct) * kValuesPerDistinct > std::ssize(spread)) return 0;
  }
  return std::max(1, Bits(distinct.size() - 1));
}

}  // namespace

bool IsWholeNumber(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32: return true;
    // Nanoseconds are INT96.
    case arrow::Type::TIMESTAMP:
      return static_cast<const arrow::TimestampType&>(type).unit() != arrow::TimeUnit::NANO;
    case arrow::Type::DECIMAL128: return static_cast<const arrow::DecimalType&>(type).precision() <= 18;
    default: return false;
  }
}

int64_t PackedBits(std::span<const int64_t> values, int width) {
  int64_t bits = 0;
  std::vector<int64_t> differences;
  for (size_t i = 1; i < values.size(); ++i) {
    differences.push_back(Difference(values[i - 1], values[i], width));
    if (differences.size() < kBlockValues && i + 1 < values.size()) continue;
    bits += BlockBits(differences, width);
    differences.clear();
  }
  return bits;
}

LeafEncoding ChooseIntegerEncoding(const arrow::Array& array, const IntegerRules& rules) {
  if (!rules.pack) return LeafEncoding::kPlain;
  const std::vector<int64_t> run = Sample(array, 1);
  if (run.size() < 2) return LeafEncoding::kDelta;
  const int width = WidthOf(*array.type());
  const auto count = static_cast<double>(run.size());
  const double packed = kClearly * static_cast<double>(PackedBits(run, width)) / count;
  if (packed <= kFewBits) return LeafEncoding::kDelta;
  if (rules.dictionary) {
    const double codes = DictionaryBits(array);
    if (codes > 0 && codes < packed) return LeafEncoding::kDictionary;
  }
  // Compressing costs more than all else here.
  if (packed <= width / 2.0 && !HasRepeats(run)) return LeafEncoding::kDelta;
  return PlainBits(run, width, rules.codec) / count < packed ? LeafEncoding::kPlain : LeafEncoding::kDelta;
}

}  // namespace headrace
