#include "format/binary_row.h"

#include <random>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::HasSubstr;

DataType Type(std::string_view text) { return ParseDataType(text).ValueOrDie(); }

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    hex += digits;
  }
  return hex;
}

struct Vector {
  std::vector<const char*> types;
  std::vector<std::optional<std::string>> values;
  const char* hex;
  int32_t hash;
};

// Written by Java 1.3.1.
const std::vector<Vector>& JavaVectors() {
  static const std::vector<Vector> vectors = {
      {{"INT"}, {"1"}, "0000000100000000000000000100000000000000", 1465514398},
      {{"INT"}, {"-3"}, "000000010000000000000000fdffffff00000000", -528982515},
      {{"BIGINT"}, {"1"}, "0000000100000000000000000100000000000000", 1465514398},
      {{"BIGINT"}, {"-9223372036854775808"}, "0000000100000000000000000000000000000080", 302122119},
      {{"STRING"}, {""}, "0000000100000000000000000000000000000080", 302122119},
      {{"STRING"}, {"abc"}, "0000000100000000000000006162630000000083", -101922419},
      {{"STRING"}, {"abcdefg"}, "0000000100000000000000006162636465666787", -1431907323},
      {{"STRING"}, {"abcdefgh"}, "00000001000000000000000008000000100000006162636465666768", -843760178},
      {{"STRING"},
       {"h\xC3\xA9llo w\xC3\xB6rld"},
       "0000000100000000000000000d0000001000000068c3a96c6c6f2077c3b6726c64000000",
       769328861},
      {{"STRING"}, {std::nullopt}, "0000000100010000000000000000000000000000", -1748325344},
      {{"BOOLEAN"}, {"true"}, "0000000100000000000000000100000000000000", 1465514398},
      {{"TINYINT"}, {"-1"}, "000000010000000000000000ff00000000000000", 2004758659},
      {{"SMALLINT"}, {"300"}, "0000000100000000000000002c01000000000000", 690796707},
      {{"DATE"}, {"2022-01-08"}, "000000010000000000000000384a000000000000", -1241043695},
      {{"DOUBLE"}, {"1.5"}, "000000010000000000000000000000000000f83f", 1860889473},
      {{"FLOAT"}, {"-0.0"}, "0000000100000000000000000000008000000000", 916225219},
      {{"DECIMAL(10, 2)"}, {"123.45"}, "0000000100000000000000003930000000000000", 767607022},
      {{"DECIMAL(20, 2)"},
       {"123.45"},
       "000000010000000000000000020000001000000030390000000000000000000000000000",
       -118192725},
      {{"DECIMAL(20, 2)"},
       {"-1.00"},
       "00000001000000000000000001000000100000009c000000000000000000000000000000",
       -2092338868},
      {{"DECIMAL(20, 2)"},
       {std::nullopt},
       "000000010001000000000000000000001000000000000000000000000000000000000000",
       -1380280760},
      {{"TIMESTAMP(3)"},
       {"2023-11-14T22:13:20.123"},
       "0000000100000000000000007b68e5cf8b010000",
       -1285420957},
      {{"TIMESTAMP(6)"},
       {"2023-11-14T22:13:20.123456"},
       "00000001000000000000000040f50600100000007b68e5cf8b010000",
       1196670069},
      {{"TIMESTAMP(6)"},
       {std::nullopt},
       "00000001000100000000000000000000100000000000000000000000",
       -340882661},
      {{"BYTES"}, {"010203"}, "0000000100000000000000000102030000000083", 1066645297},
      {{"INT", "STRING"},
       {"1", "abc"},
       "00000002000000000000000001000000000000006162630000000083",
       261371745},
      {{"STRING", "STRING"},
       {"long string 1", "long string two!!"},
       "0000000200000000000000000d0000001800000011000000280000006c6f6e6720737472696e6720310000006c6f6e6720737"
       "472696e672074776f212100000000000000",
       647793876},
  };
  return vectors;
}

TEST(BinaryRow, EncodesHashesAndDecodesEveryVectorOfJava) {  // B184 among them
  for (const Vector& vector : JavaVectors()) {
    std::vector<DataType> types;
    std::vector<Value> values;
    for (size_t i = 0; i < vector.types.size(); ++i) {
      types.push_back(Type(vector.types[i]));
      values.push_back(vector.values[i] ? ValueFromText(*vector.values[i], types[i]).ValueOrDie() : Value());
    }
    auto row = EncodeBinaryRow(values, types);
    ASSERT_TRUE(row.ok()) << row.status().ToString();
    EXPECT_EQ(ToHex(SerializeBinaryRow(*row)), vector.hex) << vector.types[0];
    EXPECT_EQ(HashBinaryRow(row->bytes), vector.hash) << vector.hex;
    auto parsed = ParseBinaryRow(FromHex(vector.hex));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, *row);
    auto decoded = DecodeBinaryRow(*parsed, types);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, values) << vector.hex;

    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (size_t i = 0; i < types.size(); ++i) {
      columns.push_back(ArrayOf(values[i], types[i], 3, arrow::default_memory_pool()).ValueOrDie());
    }
    auto encoder = BinaryRowEncoder::Make(types, columns);
    ASSERT_TRUE(encoder.ok()) << encoder.status().ToString();
    EXPECT_EQ(*(*encoder)->EncodeRow(2).ValueOrDie().data(), row->bytes[0]);
    EXPECT_EQ((*encoder)->EncodeRow(1).ValueOrDie(), row->bytes) << vector.hex;
  }
}

TEST(BinaryRow, EncodesNestedColumnsAsJava) {
  struct Nested {
    const char* type;
    const char* json;
    const char* hex;
    int32_t hash;
  };
  const Nested cases[] = {
      {"ARRAY<INT>", "[[9, 9], [1, null, 3]]",
       "0000000100000000000000001800000010000000030000000200000001000000000000000300000000000000",
       1830759751},
      {"MAP<STRING, INT>", "[[[\"z\", 5]], [[\"a\", 1]]]",
       "00000001000000000000000024000000100000001000000001000000000000006100000000000081010000000000000001000"
       "0000000000000000000",
       -1494997244},
      {"ROW<a INT, b STRING>", R"([{"a": 1, "b": null}, {"a": 9, "b": "longer string"}])",
       "0000000100000000000000002800000010000000000000000000000009000000000000000d000000180000006c6f6e6765722"
       "0737472696e67000000",
       -1825463248},
  };
  for (const Nested& nested : cases) {
    const DataType type = Type(nested.type);
    const auto column = arrow::json::ArrayFromJSONString(ToArrowType(type), nested.json).ValueOrDie();
    auto encoder = BinaryRowEncoder::Make({type}, {column->Slice(1)});
    ASSERT_TRUE(encoder.ok()) << encoder.status().ToString();
    const std::string bytes((*encoder)->EncodeRow(0).ValueOrDie());
    EXPECT_EQ(ToHex(SerializeBinaryRow({1, bytes})), nested.hex) << nested.type;
    EXPECT_EQ(HashBinaryRow(bytes), nested.hash) << nested.type;
  }
}

TEST(BinaryRow, NullBitsGrowByEightBytesAtFiftySevenFields) {
  const std::vector<DataType> many(57, Type("INT"));
  const std::vector<Value> nulls(57);
  EXPECT_EQ(EncodeBinaryRow(std::span(nulls).first(56), std::span(many).first(56))->bytes.size(),
            8U + 56 * 8);
  EXPECT_EQ(EncodeBinaryRow(nulls, many)->bytes.size(), 16U + 57 * 8);
}

TEST(BinaryRow, TheEmptyRowIsEightZeroBytes) {
  EXPECT_EQ(ToHex(SerializeBinaryRow(BinaryRow{})), "000000000000000000000000");
  EXPECT_EQ(*EncodeBinaryRow({}, {}), BinaryRow{});
}

TEST(BinaryRow, RefusesBytesThatContradictThemselves) {
  const std::vector<DataType> text = {Type("STRING")};
  for (const char* hex : {"", "000000", "00000001", "000000010000000000000000", "ffffffff0000000000000000",
                          "7fffffff0000000000000000"}) {
    EXPECT_TRUE(IsKind(ParseBinaryRow(FromHex(hex)).status(), ErrorKind::kCorruption)) << hex;
  }
  const std::pair<const char*, const char*> rows[] = {
      {"STRING", "0000000100000000000000000800000010000000"},                  // no variable part at all
      {"STRING", "000000010000000000000000080000000000000061626364656667ff"},  // points into the slots
      {"STRING", "0000000100000000000000000000000000000088"},                  // an inline length of 8
      {"STRING", "000000010000000000000000ffffff7fffffff7f"},
      {"DECIMAL(20, 2)", "000000010000000000000000110000001000000030390000000000000000000000000000"},
      {"DECIMAL(20, 2)", "000000010000000000000000000000001000000030390000000000000000000000000000"},
      {"TIMESTAMP(6)", "00000001000000000000000040420f00100000007b68e5cf8b010000"},  // 1 000 000 nanoseconds
      {"TIMESTAMP(6)", "00000001000000000000000040f50600180000007b68e5cf8b010000"}};
  for (const auto& [type, hex] : rows) {
    auto row = ParseBinaryRow(FromHex(hex));
    ASSERT_TRUE(row.ok()) << hex;
    EXPECT_TRUE(
        IsKind(DecodeBinaryRow(*row, std::vector<DataType>{Type(type)}).status(), ErrorKind::kCorruption))
        << hex;
  }
  EXPECT_THAT(DecodeBinaryRow(BinaryRow{}, text).status().message(), HasSubstr("of 0 fields where 1"));
}

TEST(BinaryRow, RandomBytesNeverReadOutside) {
  std::mt19937 random(7);
  std::vector<DataType> types;
  for (const char* type : {"STRING", "DECIMAL(38, 3)", "TIMESTAMP(9)", "BYTES", "INT", "BOOLEAN"})
    types.push_back(Type(type));
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(8 + 48 + random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : 0);
    (void)DecodeBinaryRow({6, bytes}, types);
  }
}

TEST(BinaryRow, ReportsValuesOfTheWrongTypeAndNestedValues) {
  EXPECT_TRUE(IsKind(
      EncodeBinaryRow(std::vector<Value>{Value(int32_t{1})}, std::vector<DataType>{Type("BIGINT")}).status(),
      ErrorKind::kInvalid));
  const BinaryRow null_list =
      EncodeBinaryRow(std::vector<Value>{Value()}, std::vector<DataType>{Type("ARRAY<INT>")}).ValueOrDie();
  EXPECT_TRUE(IsNull(DecodeBinaryRow(null_list, std::vector<DataType>{Type("ARRAY<INT>")}).ValueOrDie()[0]));
  EXPECT_TRUE(
      IsKind(BinaryRowEncoder::Make({Type("BIGINT")},
                                    {arrow::json::ArrayFromJSONString(arrow::int32(), "[1]").ValueOrDie()})
                 .status(),
             ErrorKind::kInvalid));
}

}  // namespace
}  // namespace headrace
