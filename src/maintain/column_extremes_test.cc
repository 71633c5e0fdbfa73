#include "maintain/column_extremes.h"

#include <cmath>
#include <limits>
#include <optional>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> ArrayOf(const std::vector<std::optional<T>>& values) {
  Builder builder;
  for (const auto& value : values) {
    if (!(value ? builder.Append(*value) : builder.AppendNull()).ok()) std::abort();
  }
  return *builder.Finish();
}

DataType TypeOf(const std::string& sql) { return *ParseDataType(sql); }

TEST(ColumnExtremes, GrowWithEveryBatchAndCountNulls) {
  ColumnExtremes extremes(TypeOf("INT"));
  ASSERT_TRUE(extremes.Add(*ArrayOf<arrow::Int32Builder, int32_t>({5, std::nullopt, 3})).ok());
  ASSERT_TRUE(extremes.Add(*ArrayOf<arrow::Int32Builder, int32_t>({std::nullopt, std::nullopt})).ok());
  ASSERT_TRUE(extremes.Add(*ArrayOf<arrow::Int32Builder, int32_t>({-7})).ok());
  EXPECT_EQ(extremes.min(), Value(int32_t{-7}));
  EXPECT_EQ(extremes.max(), Value(int32_t{5}));
  EXPECT_EQ(extremes.null_count(), 3);
}

TEST(ColumnExtremes, AreUnknownWithoutAValue) {
  ColumnExtremes extremes(TypeOf("STRING"));
  ASSERT_TRUE(extremes.Add(*ArrayOf<arrow::StringBuilder, std::string>({std::nullopt})).ok());
  EXPECT_TRUE(IsNull(extremes.min()));
  EXPECT_TRUE(IsNull(extremes.max()));
}

TEST(ColumnExtremes, TakeNanForTheLargestAndTellTheZerosApart) {
  ColumnExtremes extremes(TypeOf("DOUBLE"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(extremes.Add(*ArrayOf<arrow::DoubleBuilder, double>({0.0, nan, -0.0, 1e300})).ok());
  EXPECT_TRUE(std::signbit(std::get<double>(extremes.min())));
  EXPECT_TRUE(std::isnan(std::get<double>(extremes.max())));
}

TEST(ColumnExtremes, CompareTextByItsBytes) {
  ColumnExtremes extremes(TypeOf("STRING"));
  ASSERT_TRUE(
      extremes.Add(*ArrayOf<arrow::StringBuilder, std::string>({"\xEF\xBF\xBD", "\xF0\x9F\x98\x80", "z"}))
          .ok());
  EXPECT_EQ(extremes.min(), Value(std::string("z")));
  EXPECT_EQ(extremes.max(), Value(std::string("\xF0\x9F\x98\x80")));
}

}  // namespace
}  // namespace headrace
