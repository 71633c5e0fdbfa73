#include "ingest/postgres_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/postgres_types.h"

namespace headrace::ingest {
namespace {

using ::testing::HasSubstr;

struct Taken {
  const char* type;
  const char* text;
  const char* stored;
};

TEST(PostgresText, IsStoredExactly) {
  for (const Taken& one :
       std::vector<Taken>{{"BOOLEAN", "t", "true"},
                          {"BOOLEAN", "f", "false"},
                          {"SMALLINT", "-32768", "-32768"},
                          {"BIGINT", "9223372036854775807", "9223372036854775807"},
                          {"BIGINT", "4294967295", "4294967295"},
                          {"DECIMAL(10, 2)", "12.5", "12.50"},
                          {"DOUBLE", "Infinity", "Infinity"},
                          {"DOUBLE", "-Infinity", "-Infinity"},
                          {"DOUBLE", "NaN", "NaN"},
                          {"BYTES", "\\x00ff", "00ff"},
                          {"BYTES", "\\x", ""},
                          {"CHAR(5)", "ab   ", "ab   "},
                          {"DATE", "2024-05-17", "2024-05-17"},
                          {"DATE", "5874897-12-31", "+5874897-12-31"},
                          {"TIME(3)", "13:14:15.5", "13:14:15.5"},
                          {"TIMESTAMP(6)", "2024-05-17 13:14:15.123456", "2024-05-17T13:14:15.123456"},
                          {"TIMESTAMP(6)", "294246-12-31 23:59:59.999999", "+294246-12-31T23:59:59.999999"},
                          {"TIMESTAMP_LTZ(6)", "2024-05-17 11:14:15+00", "2024-05-17T11:14:15+00:00"},
                          {"TIMESTAMP_LTZ(6)", "2024-05-17 11:14:15+05:30", "2024-05-17T05:44:15+00:00"},
                          {"ARRAY<INT>", "{}", "[]"},
                          {"ARRAY<INT>", "{1,NULL,3}", "[1,null,3]"},
                          {"ARRAY<INT>", "[2:3]={1,2}", "[1,2]"},
                          {"ARRAY<STRING>", "{a,\"b,c\",NULL,\"NULL\",\"\",\"q\\\"\\\\\"}",
                           "[\"a\",\"b,c\",null,\"NULL\",\"\",\"q\\\"\\\\\"]"},
                          {"STRING", "{{a,b},{c,d}}", "{{a,b},{c,d}}"},
                          {"STRING", "infinity", "infinity"}}) {
    ColumnBuffer column(*ParseDataType(one.type));
    std::string why;
    ASSERT_TRUE(AppendPostgresText(one.text, &column, &why)) << one.type << " " << one.text << " " << why;
    EXPECT_EQ(CellText(column, 0), one.stored) << one.type;
  }
}

TEST(PostgresText, IsRefusedWhereTheTypeDoesNotHoldIt) {
  for (const Taken& one :
       std::vector<Taken>{{"BOOLEAN", "true", "neither t nor f"},
                          {"INT", "2147483648", "out of its range"},
                          {"DECIMAL(10, 2)", "NaN", "a STRING column would hold it"},
                          {"DECIMAL(10, 2)", "0.001", "more digits"},
                          {"BYTES", "\\000", "hexadecimal"},
                          {"VARBINARY(1)", "\\x0000", "2 bytes"},
                          {"VARCHAR(2)", "abc", "3 characters"},
                          {"STRING", "caf\xe9", "not UTF-8"},
                          {"DATE", "infinity", "no point in time"},
                          {"DATE", "4713-01-01 BC", "before the year 1"},
                          {"TIMESTAMP(6)", "-infinity", "no point in time"},
                          {"TIMESTAMP(6)", "294276-12-31 23:59:59.999999", "outside the range"},
                          {"TIMESTAMP_LTZ(6)", "0001-01-01 00:00:00+00 BC", "before the year 1"},
                          {"TIME(3)", "24:00:00", "a STRING column would hold it"},
                          {"ARRAY<INT>", "{{1}}", "more dimensions"},
                          {"ARRAY<INT>", "{1", "not an array"},
                          {"ARRAY<INT>", "{1}x", "not an array"},
                          {"ARRAY<INT>", "{1,}", "not an array"},
                          {"ARRAY<STRING>", "{\"a}", "not an array"},
                          {"ARRAY<INT>", "{x}", "has an element that is x"},
                          {"ROW<a INT>", "(1)", "does not go into it"}}) {
    ColumnBuffer column(*ParseDataType(one.type));
    std::string why;
    ASSERT_FALSE(AppendPostgresText(one.text, &column, &why)) << one.type << " " << one.text;
    EXPECT_THAT(why, HasSubstr(one.stored)) << one.type;
    column.TruncateTo(0);
  }
}

int32_t NumericModifier(int precision, int scale) { return (precision << 16 | (scale & 0x7ff)) + 4; }

TEST(PostgresTypes, BecomeTheTypesThatHoldThemExactly) {
  PostgresTypes types;
  types.Add({20000, "mood", 'e'});
  types.Add({20001, "_mood", 'b', 0, -1, 20000});
  types.Add({20002, "price", 'd', 1700, NumericModifier(12, 2)});
  types.Add({20003, "circle", 'd', 20003});  // of itself: no server says so
  const std::vector<std::tuple<uint32_t, int32_t, const char*>> cases = {
      {16, -1, "BOOLEAN"},
      {21, -1, "SMALLINT"},
      {1043, 44, "VARCHAR(40)"},
      {1043, -1, "STRING"},
      {1042, 9, "CHAR(5)"},
      {25, -1, "STRING"},
      {1700, -1, "STRING"},
      {1700, NumericModifier(10, 2), "DECIMAL(10, 2)"},
      {1700, NumericModifier(5, -2), "DECIMAL(7, 0)"},
      {1700, NumericModifier(3, 5), "DECIMAL(5, 5)"},
      {1700, NumericModifier(39, 2), "STRING"},
      {1083, -1, "STRING"},
      {1083, 3, "TIME(3)"},
      {1083, 6, "STRING"},
      {1114, -1, "TIMESTAMP(6)"},
      {1114, 0, "TIMESTAMP(0)"},
      {1184, -1, "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
      {1186, -1, "STRING"},
      {2950, -1, "STRING"},
      {3802, -1, "STRING"},
      {26, -1, "BIGINT"},
      {1007, -1, "ARRAY<INT>"},
      {1231, NumericModifier(10, 2), "ARRAY<DECIMAL(10, 2)>"},
      {20000, -1, "STRING"},
      {20001, -1, "ARRAY<STRING>"},
      {20002, -1, "DECIMAL(12, 2)"},
      {20003, -1, "STRING"}};
  for (const auto& [oid, modifier, sql] : cases) EXPECT_EQ(ToSql(types.Map(oid, modifier)), sql) << oid;
  EXPECT_FALSE(types.Knows(20004));
}

}  // namespace
}  // namespace headrace::ingest
