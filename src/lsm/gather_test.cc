#include "lsm/gather.h"

#include <arrow/array/concatenate.h>
#include <gtest/gtest.h>

#include "lsm/test_table.h"

namespace headrace {
namespace {

constexpr char kEveryType[] =
    "b BOOLEAN, t TINYINT, s SMALLINT, i INT NOT NULL, l BIGINT, f FLOAT, d DOUBLE, d9 DECIMAL(9, 2), d38 "
    "DECIMAL(38, 18), c CHAR(5), "
    "str STRING, bin BINARY(4), by BYTES NOT NULL, dt DATE, tm TIME(3), ts3 TIMESTAMP(3), ts9 TIMESTAMP(9), "
    "z6 TIMESTAMP_LTZ(6), "
    "a ARRAY<INT>, m MAP<STRING, INT>, ms MULTISET<STRING>, r ROW<x INT, y STRING>";

// Slices, so that every offset is met.
std::vector<std::shared_ptr<arrow::RecordBatch>> Batches(const std::vector<DataField>& fields,
                                                         uint64_t seed) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int64_t i = 0; i < 4; ++i) {
    batches.push_back(
        RandomRows(seed + static_cast<uint64_t>(i)).Batch(fields, 60).ValueOrDie()->Slice(i * 3, 40));
  }
  return batches;
}

TEST(Gather, TakesRowsOfEveryTypeFromSeveralBatches) {
  const std::vector<DataField> fields = ParseColumns(kEveryType).ValueOrDie();
  const auto batches = Batches(fields, 1);
  Random random(9);
  std::vector<RowRef> rows;
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const RowRef ref{static_cast<uint32_t>(random.Below(4)), static_cast<uint32_t>(random.Below(40))};
    rows.push_back(ref);
    expected.push_back(LinesOf(fields, *batches[ref.batch]->Slice(ref.row, 1))[0]);
  }
  const auto gathered = GatherRows(batches, rows, nullptr).ValueOrDie();
  HEADRACE_EXPECT_OK(gathered->ValidateFull());
  EXPECT_EQ(LinesOf(fields, *gathered), expected);
}

TEST(Gather, LendsASliceWhenRowsFollowEachOther) {
  const std::vector<DataField> fields = ParseColumns("i INT").ValueOrDie();
  const auto batches = Batches(fields, 2);
  const std::vector<RowRef> rows = {{1, 5}, {1, 6}, {1, 7}};
  const auto gathered = GatherRows(batches, rows, nullptr).ValueOrDie();
  EXPECT_EQ(gathered->column(0)->data()->buffers[1], batches[1]->column(0)->data()->buffers[1]);
  EXPECT_EQ(LinesOf(fields, *gathered), LinesOf(fields, *batches[1]->Slice(5, 3)));
}

TEST(Gather, OfNoRowsIsEmptyInEveryType) {
  const std::vector<DataField> fields = ParseColumns(kEveryType).ValueOrDie();
  const auto gathered = GatherRows(Batches(fields, 3), {}, nullptr).ValueOrDie();
  EXPECT_EQ(gathered->num_rows(), 0);
  HEADRACE_EXPECT_OK(gathered->ValidateFull());
}

}  // namespace
}  // namespace headrace
