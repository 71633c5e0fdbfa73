// Random record batches of any Paimon types, for tests and benchmarks alone.
//
// Extreme values, nulls where the type allows them, empty and long strings and lists. The same seed gives the same batch.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/random.h"
#include "format/data_type.h"

namespace headrace {

class RandomRows {
 public:
  explicit RandomRows(uint64_t seed) : random_(seed) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Batch(const std::vector<DataField>& fields, int64_t rows) {
    arrow::ArrayVector columns;
    for (const DataField& field : fields) {
      std::unique_ptr<arrow::ArrayBuilder> builder;
      HEADRACE_RETURN_NOT_OK(
          arrow::MakeBuilder(arrow::default_memory_pool(), ToArrowType(field.type), &builder));
      for (int64_t row = 0; row < rows; ++row) HEADRACE_RETURN_NOT_OK(Append(field.type, builder.get()));
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column, builder->Finish());
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(ToArrowSchema(fields), rows, std::move(columns));
  }

  std::string Text() {
    static const char* const kParts[] = {"a",  "Z",  "0",  " ",   "é", "日", "\xF0\x9F\xA6\x80",
                                         "\n", "\"", "\\", "\x01"};
    std::string text;
    for (uint64_t i = random_.OneIn(20) ? random_.Below(300) : random_.Below(12); i > 0; --i) {
      text += kParts[random_.Below(std::size(kParts))];
    }
    return text;
  }

 private:
  template <typename Number>
  Number Integer() {
    if (random_.OneIn(20)) return std::numeric_limits<Number>::min();
    if (random_.OneIn(20)) return std::numeric_limits<Number>::max();
    return static_cast<Number>(random_.Next());
  }

  template <typename Float>
  Float Real() {
    switch (random_.Below(12)) {
      case 0: return std::numeric_limits<Float>::infinity();
      case 1: return -std::numeric_limits<Float>::infinity();
      case 2: return Float(-0.0);
      case 3: return std::numeric_limits<Float>::denorm_min();
      default: return static_cast<Float>(random_.Unit() * 2000 - 1000);
    }
  }

  arrow::Decimal128 Decimal(int32_t precision) {
    arrow::Decimal128 value(0);
    const int32_t digits = 1 + static_cast<int32_t>(random_.Below(precision));
    for (int32_t i = 0; i < digits; ++i) {
      value = value * arrow::Decimal128(10) + arrow::Decimal128(static_cast<int64_t>(random_.Below(10)));
    }
    return random_.OneIn(2) ? -value : value;
  }

  // In the unit of the type; sub-unit digits that the precision lacks are zero.
  int64_t Instant(int32_t precision) {
    int64_t per_second = precision <= 3 ? 1000 : (precision <= 6 ? 1000000 : 1000000000);
    const int64_t seconds = precision > 6 ? random_.Between(-9000000000, 9000000000)
                                          : random_.Between(-62135596800, 253402300799);
    int64_t step = 1;
    for (int32_t p = precision; p < (precision <= 3 ? 3 : (precision <= 6 ? 6 : 9)); ++p) step *= 10;
    const int64_t fraction = static_cast<int64_t>(random_.Below(per_second)) / step * step;
    return seconds * per_second + fraction;
  }

  Status AppendMap(const DataType& key, const DataType& value, arrow::MapBuilder* builder) {
    HEADRACE_RETURN_NOT_OK(builder->Append());
    for (uint64_t i = random_.Below(4); i > 0; --i) {
      DataType present = key;
      present.nullable = false;
      HEADRACE_RETURN_NOT_OK(Append(present, builder->key_builder()));
      HEADRACE_RETURN_NOT_OK(Append(value, builder->item_builder()));
    }
    return Status::OK();
  }

  Status AppendNested(const DataType& type, arrow::ArrayBuilder* builder) {
    if (type.root == TypeRoot::kArray) {
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      HEADRACE_RETURN_NOT_OK(list->Append());
      for (uint64_t i = random_.Below(5); i > 0; --i)
        HEADRACE_RETURN_NOT_OK(Append(*type.element, list->value_builder()));
      return Status::OK();
    }
    if (type.root == TypeRoot::kMap)
      return AppendMap(*type.key, *type.value, static_cast<arrow::MapBuilder*>(builder));
    if (type.root == TypeRoot::kMultiset) {
      DataType count;
      count.nullable = false;
      return AppendMap(*type.element, count, static_cast<arrow::MapBuilder*>(builder));
    }
    auto* row = static_cast<arrow::StructBuilder*>(builder);
    HEADRACE_RETURN_NOT_OK(row->Append());
    for (size_t i = 0; i < type.fields.size(); ++i) {
      HEADRACE_RETURN_NOT_OK(Append(type.fields[i].type, row->field_builder(static_cast<int>(i))));
    }
    return Status::OK();
  }

  Status Append(const DataType& type, arrow::ArrayBuilder* builder) {
    if (type.nullable && random_.OneIn(5)) return builder->AppendNull();
    switch (type.root) {
      case TypeRoot::kBoolean: return static_cast<arrow::BooleanBuilder*>(builder)->Append(random_.OneIn(2));
      case TypeRoot::kTinyInt: return static_cast<arrow::Int8Builder*>(builder)->Append(Integer<int8_t>());
      case TypeRoot::kSmallInt: return static_cast<arrow::Int16Builder*>(builder)->Append(Integer<int16_t>());
      case TypeRoot::kInt: return static_cast<arrow::Int32Builder*>(builder)->Append(Integer<int32_t>());
      case TypeRoot::kBigInt: return static_cast<arrow::Int64Builder*>(builder)->Append(Integer<int64_t>());
      case TypeRoot::kFloat: return static_cast<arrow::FloatBuilder*>(builder)->Append(Real<float>());
      case TypeRoot::kDouble: return static_cast<arrow::DoubleBuilder*>(builder)->Append(Real<double>());
      case TypeRoot::kDecimal:
        return static_cast<arrow::Decimal128Builder*>(builder)->Append(Decimal(type.precision));
      case TypeRoot::kChar:
      case TypeRoot::kVarChar: return static_cast<arrow::StringBuilder*>(builder)->Append(Text());
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary: {
        std::string bytes(random_.Below(20), '\0');
        for (char& byte : bytes) byte = static_cast<char>(random_.Next());
        return static_cast<arrow::BinaryBuilder*>(builder)->Append(bytes);
      }
      case TypeRoot::kDate:
        return static_cast<arrow::Date32Builder*>(builder)->Append(
            static_cast<int32_t>(random_.Between(-719162, 2932896)));
      case TypeRoot::kTime:
        return static_cast<arrow::Time32Builder*>(builder)->Append(
            static_cast<int32_t>(random_.Below(86400000)));
      case TypeRoot::kTimestamp:
      case TypeRoot::kTimestampLtz:
        return static_cast<arrow::TimestampBuilder*>(builder)->Append(Instant(type.precision));
      case TypeRoot::kArray:
      case TypeRoot::kMap:
      case TypeRoot::kMultiset:
      case TypeRoot::kRow: return AppendNested(type, builder);
    }
    return Status::OK();
  }

  Random random_;
};

}  // namespace headrace
