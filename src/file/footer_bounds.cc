#include "file/footer_bounds.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <arrow/util/decimal.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include "format/civil_time.h"

namespace headrace {
namespace {

template <typename Statistics>
auto PairOf(const parquet::Statistics& statistics) {
  const auto& typed = static_cast<const Statistics&>(statistics);
  return std::pair(typed.min(), typed.max());
}

Value FromInt64(int64_t number, const DataType& type) {
  switch (type.root) {
    case TypeRoot::kTinyInt: return static_cast<int8_t>(number);
    case TypeRoot::kSmallInt: return static_cast<int16_t>(number);
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return static_cast<int32_t>(number);
    case TypeRoot::kBigInt: return number;
    case TypeRoot::kDecimal: return arrow::Decimal128(number);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      if (type.precision <= 3) return Timestamp{number, 0};
      return Timestamp{FloorDiv(number, 1000), static_cast<int32_t>(FloorMod(number, 1000) * 1000)};
    default: return {};
  }
}

Result<Value> FromFixedBytes(const parquet::FixedLenByteArray& bytes, int length) {
  HEADRACE_ASSIGN_OR_RETURN(const arrow::Decimal128 value,
                            arrow::Decimal128::FromBigEndian(bytes.ptr, length));
  return Value(value);
}

Value FromBytes(const parquet::ByteArray& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.ptr), bytes.len);
}

Result<Bounds> FromStatistics(const parquet::Statistics& statistics, const DataType& type) {
  switch (statistics.physical_type()) {
    case parquet::Type::BOOLEAN: {
      const auto [min, max] = PairOf<parquet::BoolStatistics>(statistics);
      return Bounds{min, max};
    }
    case parquet::Type::INT32: {
      const auto [min, max] = PairOf<parquet::Int32Statistics>(statistics);
      return Bounds{FromInt64(min, type), FromInt64(max, type)};
    }
    case parquet::Type::INT64: {
      const auto [min, max] = PairOf<parquet::Int64Statistics>(statistics);
      return Bounds{FromInt64(min, type), FromInt64(max, type)};
    }
    case parquet::Type::FLOAT: {
      const auto [min, max] = PairOf<parquet::FloatStatistics>(statistics);
      return Bounds{min, max};
    }
    case parquet::Type::DOUBLE: {
      const auto [min, max] = PairOf<parquet::DoubleStatistics>(statistics);
      return Bounds{min, max};
    }
    case parquet::Type::BYTE_ARRAY: {
      const auto [min, max] = PairOf<parquet::ByteArrayStatistics>(statistics);
      return Bounds{FromBytes(min), FromBytes(max)};
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      const int length = statistics.descr()->type_length();
      const auto [min, max] = PairOf<parquet::FLBAStatistics>(statistics);
      HEADRACE_ASSIGN_OR_RETURN(Value low, FromFixedBytes(min, length));
      HEADRACE_ASSIGN_OR_RETURN(Value high, FromFixedBytes(max, length));
      return Bounds{std::move(low), std::move(high)};
    }
    case parquet::Type::INT96:
    case parquet::Type::UNDEFINED: break;
  }
  return Bounds{};
}

// The bytes of one value; 0: they vary.
size_t WidthOf(const parquet::ColumnDescriptor& column) {
  if (column.physical_type() == parquet::Type::BYTE_ARRAY) return 0;
  return static_cast<size_t>(column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY
                                 ? column.type_length()
                                 : parquet::GetTypeByteSize(column.physical_type()));
}

// One row group into the bounds so far; false when its values are not bounded.
Result<bool> Widen(const parquet::RowGroupMetaData& group, int leaf, const DataType& type, Bounds* bounds) {
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group.ColumnChunk(leaf);
  const std::shared_ptr<parquet::Statistics> statistics = chunk->statistics();
  if (statistics == nullptr) return false;
  if (!statistics->HasMinMax())
    return statistics->HasNullCount() && statistics->null_count() == group.num_rows();
  HEADRACE_ASSIGN_OR_RETURN(Bounds more, FromStatistics(*statistics, type));
  if (IsNull(more.min) || IsNull(more.max)) return false;
  if (IsNull(bounds->min) || CompareValues(more.min, bounds->min) < 0) bounds->min = std::move(more.min);
  if (IsNull(bounds->max) || CompareValues(more.max, bounds->max) > 0) bounds->max = std::move(more.max);
  return true;
}

}  // namespace

Result<Bounds> BoundsFromFooter(const parquet::FileMetaData& footer, int leaf, const DataType& type) {
  // Java 1.3.1 stores no bounds of bytes, and its readers have never met any.
  if (type.root == TypeRoot::kBinary || type.root == TypeRoot::kVarBinary) return Bounds{};
  try {
    Bounds bounds;
    for (int i = 0; i < footer.num_row_groups(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(const bool bounded, Widen(*footer.RowGroup(i), leaf, type, &bounds));
      if (!bounded) return Bounds{};
    }
    return bounds;
  } catch (const std::exception& error) {
    return Corruption("reading column statistics: ", error.what());
  }
}

Result<std::vector<Value>> LargestFromIndex(const parquet::ColumnIndex& index,
                                            const parquet::ColumnDescriptor& column, const DataType& type) {
  if (type.root == TypeRoot::kFloat || type.root == TypeRoot::kDouble || type.root == TypeRoot::kBinary ||
      type.root == TypeRoot::kVarBinary || column.physical_type() == parquet::Type::INT96) {
    return std::vector<Value>();
  }
  const size_t width = WidthOf(column);
  std::vector<Value> values;
  for (size_t page = 0; page < index.encoded_max_values().size(); ++page) {
    const std::string& largest = index.encoded_max_values()[page];
    if (index.null_pages()[page] || (width != 0 && largest.size() != width)) return std::vector<Value>();
    const auto statistics = parquet::Statistics::Make(
        &column, largest, largest, /*num_values=*/1, /*null_count=*/0, /*distinct_count=*/0,
        /*has_min_max=*/true, /*has_null_count=*/true, /*has_distinct_count=*/false);
    HEADRACE_ASSIGN_OR_RETURN(Bounds bounds, FromStatistics(*statistics, type));
    values.push_back(std::move(bounds.max));
  }
  return values;
}

}  // namespace headrace
