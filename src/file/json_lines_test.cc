// The text of single values, one fact each; whole tables are compared with Java's text in fixtures_test.cc.
#include "file/json_lines.h"

#include <limits>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

// The cell of a one-row, one-column batch.
template <typename Builder, typename V>
std::string CellOf(const std::string& type, const V& value) {
  DataField field;
  field.name = "c";
  field.type = ParseDataType(type).ValueOrDie();
  std::unique_ptr<arrow::ArrayBuilder> builder;
  EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), ToArrowType(field.type), &builder).ok());
  EXPECT_TRUE(static_cast<Builder*>(builder.get())->Append(value).ok());
  const auto column = builder->Finish().ValueOrDie();
  std::string line;
  const Status status =
      JsonLines({field}).Append(*arrow::RecordBatch::Make(ToArrowSchema({field}), 1, {column}), &line);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(line.starts_with("{\"c\":") && line.ends_with("}\n")) << line;
  return line.substr(5, line.size() - 7);
}

TEST(JsonLinesOf, FloatsHaveTheShortestDigitsOfTheirWidth) {
  EXPECT_EQ(CellOf<arrow::FloatBuilder>("FLOAT", 0.1f), "0.1");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", 0.1), "0.1");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", -0.0), "-0.0");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", 1e15), "1000000000000000.0");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", 1e16), "1e+16");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", 0.0001), "0.0001");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", 0.00001), "1e-05");
  EXPECT_EQ(CellOf<arrow::DoubleBuilder>("DOUBLE", std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(CellOf<arrow::FloatBuilder>("FLOAT", -std::numeric_limits<float>::infinity()), "\"-Infinity\"");
}

TEST(JsonLinesOf, TextIsEscapedAndAlwaysUtf8) {
  EXPECT_EQ(CellOf<arrow::StringBuilder>("STRING", "\"\\/\b\f\n\r\t\x01\x1f\x7f é🦀"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f é🦀\"");
  EXPECT_EQ(CellOf<arrow::StringBuilder>("STRING", "a\xFF\xC3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(CellOf<arrow::StringBuilder>("STRING", "\xED\xA0\x80"),
            "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(CellOf<arrow::BinaryBuilder>("BYTES", std::string("\x00\xFFz", 3)), "\"00ff7a\"");
}

TEST(JsonLinesOf, TimesHaveTheDigitsOfTheirPrecision) {
  const auto at = [](const std::string& type, int64_t value) {
    return CellOf<arrow::TimestampBuilder>(type, value);
  };
  EXPECT_EQ(at("TIMESTAMP(0)", -1000), "\"1969-12-31T23:59:59\"");
  EXPECT_EQ(at("TIMESTAMP(1)", 100), "\"1970-01-01T00:00:00.1\"");
  EXPECT_EQ(at("TIMESTAMP(3)", -1), "\"1969-12-31T23:59:59.999\"");
  EXPECT_EQ(at("TIMESTAMP(6)", -62135596800000000), "\"0001-01-01T00:00:00.000000\"");
  EXPECT_EQ(at("TIMESTAMP(7)", 1200), "\"1970-01-01T00:00:00.0000012\"");
  EXPECT_EQ(at("TIMESTAMP(9)", 1), "\"1970-01-01T00:00:00.000000001\"");
  EXPECT_EQ(at("TIMESTAMP_LTZ(3)", 0), "\"1970-01-01T00:00:00.000Z\"");
  EXPECT_EQ(CellOf<arrow::Time32Builder>("TIME(3)", 86399999), "\"23:59:59.999\"");
  EXPECT_EQ(CellOf<arrow::Date32Builder>("DATE", 19782), "\"2024-02-29\"");
}

TEST(JsonLinesOf, DecimalsKeepTheirScale) {
  EXPECT_EQ(CellOf<arrow::Decimal128Builder>("DECIMAL(9, 2)", arrow::Decimal128(-5)), "\"-0.05\"");
  EXPECT_EQ(CellOf<arrow::Decimal128Builder>("DECIMAL(5, 0)", arrow::Decimal128(120)), "\"120\"");
  EXPECT_EQ(CellOf<arrow::Decimal128Builder>("DECIMAL(38, 18)", arrow::Decimal128(1)),
            "\"0.000000000000000001\"");
}

TEST(JsonLinesOf, MapsAreSortedByTheTextOfTheirKeys) {
  DataField field;
  field.name = "m";
  field.type = ParseDataType("MAP<INT, STRING>").ValueOrDie();
  std::unique_ptr<arrow::ArrayBuilder> builder;
  ASSERT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), ToArrowType(field.type), &builder).ok());
  auto* map = static_cast<arrow::MapBuilder*>(builder.get());
  ASSERT_TRUE(map->Append().ok());
  for (const int key : {9, 10, -1}) {
    ASSERT_TRUE(static_cast<arrow::Int32Builder*>(map->key_builder())->Append(key).ok());
    ASSERT_TRUE(map->item_builder()->AppendNull().ok());
  }
  const auto column = builder->Finish().ValueOrDie();
  std::string line;
  ASSERT_TRUE(
      JsonLines({field}).Append(*arrow::RecordBatch::Make(ToArrowSchema({field}), 1, {column}), &line).ok());
  EXPECT_EQ(line, "{\"m\":[[-1,null],[10,null],[9,null]]}\n");
}

TEST(JsonLinesOf, ABatchOfOtherTypesAreRefusedByColumn) {
  DataField field;
  field.name = "c";
  field.type = ParseDataType("INT").ValueOrDie();
  const auto texts = arrow::MakeArrayOfNull(arrow::utf8(), 1).ValueOrDie();
  std::string line;
  const Status status = JsonLines({field}).Append(
      *arrow::RecordBatch::Make(arrow::schema({arrow::field("c", arrow::utf8())}), 1, {texts}), &line);
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalid);
  EXPECT_THAT(status.ToString(), testing::HasSubstr("column c"));
}

}  // namespace
}  // namespace headrace
