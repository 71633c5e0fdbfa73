#include "format/data_type.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using testing::HasSubstr;

DataType Parsed(std::string_view text) {
  auto type = ParseDataType(text);
  EXPECT_TRUE(type.ok()) << text << ": " << type.status().ToString();
  return type.ok() ? *type : DataType{};
}

TEST(ParseDataType, PrintsEveryAtomicTypeAsJavaDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"boolean", "BOOLEAN"},
      {"TinyInt", "TINYINT"},
      {"SMALLINT", "SMALLINT"},
      {"integer", "INT"},
      {"BIGINT not  null", "BIGINT NOT NULL"},
      {"float null", "FLOAT"},
      {"double precision", "DOUBLE"},
      {"DECIMAL", "DECIMAL(10, 0)"},
      {"dec(5)", "DECIMAL(5, 0)"},
      {"NUMERIC( 38 , 38 )", "DECIMAL(38, 38)"},
      {"char", "CHAR(1)"},
      {"varchar(20)", "VARCHAR(20)"},
      {"VARCHAR(2147483647)", "STRING"},
      {"string", "STRING"},
      {"binary(4)", "BINARY(4)"},
      {"VARBINARY", "VARBINARY(1)"},
      {"bytes", "BYTES"},
      {"DATE", "DATE"},
      {"TIME", "TIME(0)"},
      {"TIME(3) WITHOUT TIME ZONE", "TIME(3)"},
      {"TIMESTAMP", "TIMESTAMP(6)"},
      {"timestamp(9) without time zone", "TIMESTAMP(9)"},
      {"TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"},
      {"timestamp_ltz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
      {"TIMESTAMP_LTZ(0)", "TIMESTAMP(0) WITH LOCAL TIME ZONE"},
      {"INT ARRAY NOT NULL", "ARRAY<INT> NOT NULL"},
      {"INT NOT NULL MULTISET", "MULTISET<INT NOT NULL>"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(ToSql(Parsed(text)), wanted) << text;
}

TEST(ParseDataType, ReadsNestedTypesInEitherNotation) {
  EXPECT_EQ(
      ToSql(Parsed("map<string not null, array<row<a int, `b ``c` decimal(5,2) not null comment 'it''s'>>>")),
      "MAP<STRING NOT NULL, ARRAY<ROW<`a` INT, `b ``c` DECIMAL(5, 2) NOT NULL COMMENT 'it''s'>>>");
  EXPECT_EQ(ToSql(Parsed("ROW(a INT, \"b\" MULTISET<STRING>) NOT NULL")),
            "ROW<`a` INT, `b` MULTISET<STRING>> NOT NULL");
  EXPECT_EQ(ToSql(Parsed("ROW<date DATE, time TIME, `row` ROW<x INT>>")),
            "ROW<`date` DATE, `time` TIME(0), `row` ROW<`x` INT>>");
}

TEST(ParseDataType, PrintedTextReadsBackToTheSameType) {
  for (const char* text : {"MAP<INT NOT NULL, ROW<`ä b` ARRAY<BYTES>, c CHAR(3) COMMENT 'x'>> NOT NULL",
                           "DECIMAL(38, 0)", "TIMESTAMP(0) WITH LOCAL TIME ZONE", "MULTISET<VARBINARY(7)>"}) {
    const DataType type = Parsed(text);
    EXPECT_EQ(Parsed(ToSql(type)), type) << text;
  }
}

TEST(ParseDataType, SaysWhereTheTextIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "position 1: expected a type, found the end"},
      {"INTT", "position 1: 'INTT' is not a type"},
      {"TEXT", "'TEXT' is not a type; here it is called STRING"},
      {"ARRAY<float8>", "position 7: 'float8' is not a type; here it is called DOUBLE"},
      {"ROW<a int8>", "'int8' is not a type; here it is called BIGINT"},
      {"DATETIME(3)", "'DATETIME' is not a type; here it is called TIMESTAMP(p)"},
      {"INT NOT", "expected NULL, found the end"},
      {"INT INT", "position 5: expected the end of the type, found 'INT'"},
      {"DECIMAL(39)", "position 9: precision 39 is not between 1 and 38"},
      {"DECIMAL(5, 6)", "position 12: scale 6 is not between 0 and 5"},
      {"CHAR(0)", "length 0 is not between 1 and 2147483647"},
      {"VARCHAR(2147483648)", "length 2147483648 is not between"},
      {"TIMESTAMP(10)", "precision 10 is not between 0 and 9"},
      {"ARRAY<INT", "expected '>', found the end"},
      {"MAP<INT>", "expected ',', found '>'"},
      {"ROW<>", "position 5: expected a column name, found '>'"},
      {"ROW<a INT, a STRING>", "position 12: column 'a' is named twice"},
      {"ROW<`a INT>", "the quote ` is not closed"},
      {"INT;", "position 4: unexpected character ';'"},
  };
  for (const auto& [text, wanted] : cases) {
    const Status status = ParseDataType(text).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid)) << text;
    EXPECT_THAT(status.message(), HasSubstr(wanted)) << text;
  }
}

TEST(ParseDataType, RefusesTypesThatAreNotBuiltByName) {
  for (const char* text : {"VARIANT", "BLOB", "ROW<v VECTOR<FLOAT, 3>>", "GEOMETRY",
                           "TIMESTAMP(3) WITH TIME ZONE", "ARRAY<RAW>"}) {
    EXPECT_TRUE(IsKind(ParseDataType(text).status(), ErrorKind::kUnsupported)) << text;
  }
}

TEST(ParseDataType, StopsAtDeepNesting) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "ARRAY<";
  EXPECT_THAT(ParseDataType(deep).status().message(), HasSubstr("nested deeper"));
  std::string suffixes = "INT";
  for (int i = 0; i < 100000; ++i) suffixes += " ARRAY";
  EXPECT_THAT(ParseDataType(suffixes).status().message(), HasSubstr("nested deeper"));
}

TEST(ParseColumns, NumbersColumnsFirstButFieldsOfRowsFromTheInside) {
  // The order that Java gave c_row of the types fixture: 34, then 35, 36, and the field c as 40 after its own 37, 38, 39.
  const auto fields = ParseColumns(
      "k INT NOT NULL, r ROW<a INT, b STRING, c ROW<d DOUBLE, e DATE, f ARRAY<INT>>>, z ARRAY<ROW<x INT>>");
  ASSERT_TRUE(fields.ok()) << fields.status().ToString();
  EXPECT_EQ((*fields)[0].id, 0);
  EXPECT_EQ((*fields)[1].id, 1);
  const DataType& row = (*fields)[1].type;
  EXPECT_EQ(row.fields[0].id, 2);
  EXPECT_EQ(row.fields[1].id, 3);
  EXPECT_EQ(row.fields[2].type.fields[0].id, 4);
  EXPECT_EQ(row.fields[2].type.fields[2].id, 6);
  EXPECT_EQ(row.fields[2].id, 7);
  EXPECT_EQ((*fields)[2].id, 8);
  EXPECT_EQ((*fields)[2].type.element->fields[0].id, 9);
}

TEST(ParseColumns, TakesCommentsAndRefusesNamesTwice) {
  const auto fields = ParseColumns("a BIGINT NOT NULL COMMENT 'the key', `odd name` STRING");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ((*fields)[0].description, "the key");
  EXPECT_EQ((*fields)[1].name, "odd name");
  EXPECT_THAT(ParseColumns("a INT, a INT").status().message(), HasSubstr("named twice"));
  EXPECT_THAT(ParseColumns("a INT b INT").status().message(), HasSubstr("expected ','"));
  EXPECT_FALSE(ParseColumns("").ok());
}

TEST(DataTypeJson, GoesThereAndBack) {
  for (const char* text : {"BIGINT NOT NULL", "STRING", "ARRAY<INT NOT NULL> NOT NULL",
                           "MAP<STRING, ROW<a INT, b DATE>>", "MULTISET<TIMESTAMP(9)>"}) {
    const DataType type = Parsed(text);
    auto back = DataTypeFromJson(ToJson(type));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, type);
  }
}

TEST(DataTypeJson, DamageIsCorruptionAndNewTypesAreUnsupported) {
  for (const char* text :
       {"1", "{}", "\"INTT\"", R"({"type":"ARRAY"})", R"({"type":"ROW","fields":[{"id":1,"name":"a"}]})",
        R"({"type":"ROW","fields":[{"id":99999999999,"name":"a","type":"INT"}]})", R"({"type":"TREE"})"}) {
    EXPECT_TRUE(IsKind(DataTypeFromJson(nlohmann::json::parse(text)).status(), ErrorKind::kCorruption))
        << text;
  }
  for (const char* text : {"\"VARIANT\"", R"({"type":"VECTOR","element":"FLOAT","length":3})"}) {
    EXPECT_TRUE(IsKind(DataTypeFromJson(nlohmann::json::parse(text)).status(), ErrorKind::kUnsupported))
        << text;
  }
}

TEST(ArrowTypes, ComeBackAsTheTypeThatHoldsThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"CHAR(3)", "STRING"},
      {"BINARY(3)", "BYTES"},
      {"TIME(0)", "TIME(3)"},
      {"TIMESTAMP(0)", "TIMESTAMP(3)"},
      {"TIMESTAMP(4)", "TIMESTAMP(6)"},
      {"TIMESTAMP(7) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
      {"DECIMAL(20, 5)", "DECIMAL(20, 5)"},
      {"ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>"},
      {"MAP<STRING, INT>", "MAP<STRING NOT NULL, INT>"},
      {"MULTISET<STRING>", "MAP<STRING NOT NULL, INT NOT NULL>"},
      {"ROW<a INT, b DATE NOT NULL>", "ROW<`a` INT, `b` DATE NOT NULL>"}};
  for (const auto& [text, wanted] : cases) {
    auto back = FromArrowType(*ToArrowType(Parsed(text)));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(ToSql(*back), wanted);
  }
}

TEST(ArrowTypes, WidenUnsignedIntegersAndRefuseWhatWouldLose) {
  EXPECT_EQ(ToSql(*FromArrowType(*arrow::uint8())), "SMALLINT");
  EXPECT_EQ(ToSql(*FromArrowType(*arrow::uint32())), "BIGINT");
  EXPECT_EQ(ToSql(*FromArrowType(*arrow::uint64())), "DECIMAL(20, 0)");
  EXPECT_EQ(ToSql(*FromArrowType(*arrow::dictionary(arrow::int32(), arrow::utf8()))), "STRING");
  for (const auto& type :
       {arrow::time64(arrow::TimeUnit::NANO), arrow::duration(arrow::TimeUnit::SECOND), arrow::null(),
        arrow::decimal256(50, 2), arrow::decimal128(10, -2), arrow::list(arrow::null())}) {
    EXPECT_TRUE(IsKind(FromArrowType(*type).status(), ErrorKind::kUnsupported)) << type->ToString();
  }
}

TEST(ArrowTypes, FieldsCarryTheirIds) {
  const auto fields = ParseColumns("a INT NOT NULL, r ROW<x INT>");
  const auto schema = ToArrowSchema(*fields);
  EXPECT_FALSE(schema->field(0)->nullable());
  EXPECT_EQ(*schema->field(1)->metadata()->Get("PARQUET:field_id"), "1");
  EXPECT_EQ(*schema->field(1)->type()->field(0)->metadata()->Get("PARQUET:field_id"), "2");
}

}  // namespace
}  // namespace headrace
