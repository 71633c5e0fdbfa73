#include "lsm/key_order.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/test_table.h"

namespace headrace {
namespace {

int Sign(int x) { return (x > 0) - (x < 0); }

int CompareRows(const std::vector<Value>& a, const std::vector<Value>& b,
                const std::vector<KeyOrder::Column>& columns) {
  for (size_t i = 0; i < a.size(); ++i) {
    const int order = Sign(CompareValues(a[i], b[i]));
    if (order == 0) continue;
    return columns[i].descending && !IsNull(a[i]) && !IsNull(b[i]) ? -order : order;
  }
  return 0;
}

// Rows in every way they can be encoded must compare as their values do.
void CheckOrder(const std::string& text, bool descending, uint64_t seed) {
  const std::vector<DataField> fields = ParseColumns(text).ValueOrDie();
  std::vector<KeyOrder::Column> columns;
  std::vector<DataType> types;
  for (const DataField& field : fields) {
    columns.push_back({field.type, descending, field.type.nullable});
    types.push_back(field.type);
  }
  const KeyOrder order = KeyOrder::Make(columns).ValueOrDie();
  const auto batch = RandomRows(seed).Batch(fields, 60).ValueOrDie();
  const KeyColumn keys = order.Encode(batch->columns()).ValueOrDie();
  std::vector<std::vector<Value>> rows;
  for (int64_t row = 0; row < batch->num_rows(); ++row) {
    std::vector<Value>& values = rows.emplace_back();
    for (size_t c = 0; c < fields.size(); ++c) {
      values.push_back(ValueAt(*batch->column(static_cast<int>(c)), row, fields[c].type).ValueOrDie());
    }
    const EncodedKey encoded = order.Encode(values).ValueOrDie();
    EXPECT_EQ(encoded, keys.Encoded(row)) << text;
    EXPECT_EQ(encoded, order.Encode(EncodeBinaryRow(values, types).ValueOrDie()).ValueOrDie()) << text;
    EXPECT_EQ(order.ColumnOf(encoded).Compare(0, keys, row), 0) << text;
  }
  for (int64_t a = 0; a < batch->num_rows(); ++a) {
    for (int64_t b = 0; b < batch->num_rows(); ++b) {
      const int expected = CompareRows(rows[static_cast<size_t>(a)], rows[static_cast<size_t>(b)], columns);
      EXPECT_EQ(keys.Compare(a, keys, b), expected)
          << text << " rows " << a << " and " << b << ", seed " << seed;
      EXPECT_EQ(Sign(keys.Encoded(a).compare(keys.Encoded(b))), expected)
          << text << " rows " << a << " and " << b;
    }
  }
}

TEST(KeyOrder, ComparesEveryPrimitiveTypeAsItsValuesCompare) {
  for (const char* type : {"BOOLEAN",        "TINYINT",         "SMALLINT",        "INT",
                           "BIGINT",         "FLOAT",           "DOUBLE",          "DECIMAL(9, 2)",
                           "DECIMAL(18, 4)", "DECIMAL(38, 18)", "CHAR(5)",         "VARCHAR(20)",
                           "STRING",         "BINARY(4)",       "VARBINARY(16)",   "BYTES",
                           "DATE",           "TIME(3)",         "TIMESTAMP(0)",    "TIMESTAMP(3)",
                           "TIMESTAMP(6)",   "TIMESTAMP(9)",    "TIMESTAMP_LTZ(3)"}) {
    CheckOrder(std::string("k ") + type + " NOT NULL", false, 1);
    CheckOrder(std::string("k ") + type, false, 2);
    CheckOrder(std::string("k ") + type, true, 3);
    CheckOrder(std::string("j BYTES NOT NULL, k ") + type, true, 4);
  }
}

TEST(KeyOrder, ComparesCompositesColumnByColumn) {
  CheckOrder("a BOOLEAN NOT NULL, b STRING NOT NULL, c BYTES NOT NULL", false, 5);
  CheckOrder("a BYTES NOT NULL, b BYTES NOT NULL", false, 6);
  CheckOrder("a STRING, b STRING, c INT", false, 7);
  CheckOrder("a STRING, b DECIMAL(20, 3), c TIMESTAMP(9)", true, 8);
}

TEST(KeyOrder, PutsMinusZeroBelowZeroAndNanAboveInfinity) {
  const KeyOrder order = KeyOrder::OfKey({ParseDataType("DOUBLE NOT NULL").ValueOrDie()}).ValueOrDie();
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EncodedKey last;
  for (const double value : {-infinity, -1.0, -0.0, 0.0, 1.0, infinity, nan}) {
    const std::vector<Value> row = {value};
    const EncodedKey key = order.Encode(row).ValueOrDie();
    EXPECT_LT(last, key) << value;
    last = key;
  }
}

TEST(KeyOrder, RefusesNullsInAKeyAndNestedTypes) {
  const KeyOrder order = KeyOrder::OfKey({ParseDataType("INT NOT NULL").ValueOrDie()}).ValueOrDie();
  const std::vector<Value> null_row = {Value{}};
  EXPECT_TRUE(IsKind(order.Encode(null_row).status(), ErrorKind::kCorruption));
  arrow::Int32Builder builder;
  ASSERT_TRUE(builder.AppendNull().ok());
  EXPECT_TRUE(IsKind(order.Encode({builder.Finish().ValueOrDie()}).status(), ErrorKind::kCorruption));
  EXPECT_TRUE(
      IsKind(KeyOrder::OfKey({ParseDataType("ARRAY<INT>").ValueOrDie()}).status(), ErrorKind::kUnsupported));
}

TEST(KeyColumn, FindsTheBoundOfAKeyFromAnyStart) {
  const KeyOrder order = KeyOrder::OfKey({ParseDataType("BIGINT NOT NULL").ValueOrDie()}).ValueOrDie();
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 200; ++i) values.push_back(i / 3 * 2);
  const KeyColumn keys = order.Encode({Int64s(values)}).ValueOrDie();
  for (int64_t sought = -1; sought < 140; ++sought) {
    const KeyColumn key = order.Encode({Int64s({sought})}).ValueOrDie();
    for (const int64_t begin : {0, 1, 50, 199, 200}) {
      const auto lower = std::lower_bound(values.begin() + begin, values.end(), sought) - values.begin();
      const auto upper = std::upper_bound(values.begin() + begin, values.end(), sought) - values.begin();
      EXPECT_EQ(keys.Bound(begin, 200, key, 0, false), lower);
      EXPECT_EQ(keys.Bound(begin, 200, key, 0, true), upper);
    }
  }
}

}  // namespace
}  // namespace headrace
