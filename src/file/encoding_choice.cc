#include "file/encoding_choice.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "file/integer_choice.h"

namespace headrace {
namespace {

constexpr int64_t kSampleRows = 2048;
// At most one distinct value in this many rows.
constexpr int64_t kRowsPerValue = 10;

template <typename ArrayType>
bool Repeats(const ArrayType& array) {
  const int64_t rows = array.length();
  const int64_t step = rows > kSampleRows ? rows / kSampleRows : 1;
  std::unordered_set<std::string_view> distinct;
  int64_t looked_at = 0;
  for (int64_t row = 0; row < rows && looked_at < kSampleRows; row += step) {
    if (array.IsNull(row)) continue;
    distinct.insert(array.GetView(row));
    ++looked_at;
  }
  return looked_at > 0 && static_cast<int64_t>(distinct.size()) * kRowsPerValue <= looked_at;
}

bool LeafRepeats(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return Repeats(static_cast<const arrow::BinaryArray&>(array));
    case arrow::Type::DECIMAL128: return Repeats(static_cast<const arrow::FixedSizeBinaryArray&>(array));
    default: return false;
  }
}

LeafEncoding Choose(const arrow::Array& leaf, const IntegerRules& integers) {
  if (IsWholeNumber(*leaf.type())) return ChooseIntegerEncoding(leaf, integers);
  return LeafRepeats(leaf) ? LeafEncoding::kDictionary : LeafEncoding::kPlain;
}

void Visit(const arrow::Array& array, const IntegerRules& integers, std::vector<LeafEncoding>* answers) {
  switch (array.type_id()) {
    case arrow::Type::LIST:
      return Visit(*static_cast<const arrow::ListArray&>(array).values(), integers, answers);
    case arrow::Type::MAP:
      Visit(*static_cast<const arrow::MapArray&>(array).keys(), integers, answers);
      return Visit(*static_cast<const arrow::MapArray&>(array).items(), integers, answers);
    case arrow::Type::STRUCT:
      for (const std::shared_ptr<arrow::Array>& child :
           static_cast<const arrow::StructArray&>(array).fields()) {
        Visit(*child, integers, answers);
      }
      return;
    default: answers->push_back(Choose(array, integers));
  }
}

}  // namespace

std::vector<LeafEncoding> ChooseEncodings(const arrow::RecordBatch& first, const IntegerRules& integers) {
  std::vector<LeafEncoding> answers;
  for (const std::shared_ptr<arrow::Array>& column : first.columns()) Visit(*column, integers, &answers);
  return answers;
}

}  // namespace headrace
