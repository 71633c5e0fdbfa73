#include "write/row_checks.h"

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/test_rows.h"

namespace headrace {
namespace {

using testing::BatchOf;
using ::testing::HasSubstr;
using testing::KindsOf;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;

Result<CheckedRows> Check(const Table& table, const std::vector<Row>& rows) {
  return CheckRows(table, BatchOf(table, rows), KindsOf(rows), arrow::default_memory_pool());
}

TEST(RowChecks, ANullInANotNullColumnNamesRowAndColumn) {
  const Table table = MakeTestTable("id INT, v INT NOT NULL", {"id"}, {{"bucket", "1"}}).table;
  EXPECT_TRUE(Check(table, {{1, 1}, {2, 2}}).ok());
  const Status refused = Check(table, {{1, 1}, {2, std::nullopt}, {3, 3}}).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("row 2"));
  EXPECT_THAT(refused.message(), HasSubstr("column v"));
}

TEST(RowChecks, ColumnsMustBeThoseOfTheTable) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const Table renamed = MakeTestTable("id INT, w INT", {"id"}, {{"bucket", "1"}}).table;
  const Table wider = MakeTestTable("id INT, v BIGINT", {"id"}, {{"bucket", "1"}}).table;
  const auto rows = BatchOf(table, {{1, 1}});
  for (const Table& other : {renamed, wider}) {
    const Status refused = CheckRows(other, rows, nullptr, arrow::default_memory_pool()).status();
    EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << refused;
  }
  EXPECT_THAT(CheckRows(wider, rows, nullptr, arrow::default_memory_pool()).status().message(),
              HasSubstr("int32, expected int64"));
  EXPECT_TRUE(
      IsKind(CheckRows(table, Must(rows->RemoveColumn(1)), nullptr, arrow::default_memory_pool()).status(),
             ErrorKind::kInvalid));
}

TEST(RowChecks, KindsMustExistAndBeAsManyAsRows) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const Status unknown = Check(table, {{1, 1, 3}, {2, 2, 4}}).status();
  EXPECT_TRUE(IsKind(unknown, ErrorKind::kInvalid));
  EXPECT_THAT(unknown.message(), HasSubstr("row 2 has the kind 4"));
  EXPECT_TRUE(IsKind(
      CheckRows(table, BatchOf(table, {{1, 1}, {2, 2}}), KindsOf({{1, 1}}), arrow::default_memory_pool())
          .status(),
      ErrorKind::kInvalid));
}

TEST(RowChecks, ATableWithoutAKeyTakesNoDeletes) {
  const Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}}).table;
  const CheckedRows inserts = Must(Check(table, {{1, 1, 0}, {2, 2, 2}}));
  EXPECT_EQ(inserts.kinds, nullptr);
  EXPECT_EQ(inserts.rows->num_rows(), 2);
  for (const int8_t kind : {1, 3}) {
    const Status refused = Check(table, {{1, 1}, {2, 2, kind}}).status();
    EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
    EXPECT_THAT(refused.message(), HasSubstr("row 2"));
  }
}

TEST(RowChecks, IgnoredDeletesAreLeftOutOfATableWithoutAKey) {
  Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}}).table;
  table.options.ignore_delete = true;
  const CheckedRows kept = Must(Check(table, {{1, 1}, {2, 2, 3}, {3, 3, 2}}));
  EXPECT_TRUE(kept.rows->Equals(*BatchOf(table, {{1, 1}, {3, 3}})));
}

TEST(RowChecks, NullBecomesTheDefaultOfItsColumn) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  TableSchema schema = *made.table.schema;
  schema.fields[1].default_value = "42";
  Table table = made.table;
  table.schema = std::make_shared<const TableSchema>(schema);
  const CheckedRows filled = Must(Check(table, {{1, std::nullopt}, {2, 2}, {3, std::nullopt}}));
  EXPECT_TRUE(filled.rows->column(1)->Equals(*BatchOf(table, {{1, 42}, {2, 2}, {3, 42}})->column(1)));
  schema.fields[1].default_value = "many";
  table.schema = std::make_shared<const TableSchema>(schema);
  EXPECT_FALSE(Check(table, {{1, std::nullopt}}).ok());
}

}  // namespace
}  // namespace headrace
