// Filters let every key of a file pass and few others; they are made where blocks were read in vain, and spare such reads from then on.
#include "lsm/key_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "lsm/flush.h"
#include "lsm/key_lookup.h"
#include "lsm/test_table.h"
#include "lsm/write_buffer.h"

namespace headrace {
namespace {

KeyColumn Encoded(const std::vector<DataType>& types, const std::vector<std::vector<int64_t>>& columns) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& column : columns) arrays.push_back(Int64s(column));
  return KeyOrder::OfKey(types).ValueOrDie().Encode(arrays).ValueOrDie();
}

TEST(KeyFilter, LetsEachOfItsKeysPassAndFewOthers) {
  const DataType bigint = ParseColumns("a BIGINT NOT NULL").ValueOrDie()[0].type;
  for (const size_t width : {1, 2}) {
    std::vector<int64_t> is, is_not;
    for (int64_t i = 0; i < 20'000; ++i) {
      is.push_back(3 * i);
      is_not.push_back(3 * i + 1);
    }
    const std::vector<DataType> types(width, bigint);
    const KeyColumn in = Encoded(types, std::vector<std::vector<int64_t>>(width, is));
    const KeyColumn out = Encoded(types, std::vector<std::vector<int64_t>>(width, is_not));
    ASSERT_EQ(in.is_integer(), width == 1);
    KeyFilter filter(in.size());
    filter.Add(in);
    int64_t passed = 0;
    for (int64_t i = 0; i < in.size(); ++i) {
      ASSERT_TRUE(filter.MayHold(in, i)) << i;
      passed += filter.MayHold(out, i) ? 1 : 0;
    }
    EXPECT_LT(passed, in.size() / 50);
    EXPECT_LT(filter.memory_bytes(), in.size() * 4);
  }
}

// One file with the even keys below 2 × kRows.
class FilteredFile : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 12'000;

  FilteredFile() : table_("a BIGINT NOT NULL, b BIGINT NOT NULL, v BIGINT", {"a", "b"}) {
    std::vector<int64_t> even(kRows);
    for (int64_t i = 0; i < kRows; ++i) even[static_cast<size_t>(i)] = 2 * i;
    WriteBuffer buffer = WriteBuffer::Make(*table_.schema, MergePolicy(), nullptr).ValueOrDie();
    const auto rows = arrow::RecordBatch::Make(ToArrowSchema(table_.schema->fields), kRows,
                                               {Int64s(even), Int64s(even), Int64s(even)});
    HEADRACE_EXPECT_OK(buffer.Append(rows, KindsOf(std::vector<int8_t>(kRows, 0)), 0));
    FileNames names("u", table_.options);
    const FileIncrement flushed = FlushToLevelZero(buffer, table_.Files(), &names, false).ValueOrDie();
    for (const DataFileMeta& meta : flushed.added)
      files_.push_back(
          MakeTreeFile(KeyOrder::OfKey(table_.schema->TypesOf({"a", "b"})).ValueOrDie(), meta).ValueOrDie());
  }

  std::unique_ptr<KeyLookup> Open(LookupCache* cache) {
    BucketFiles files = table_.Files();
    files.store = &reads_;
    MergePolicy policy;
    policy.drop_deletes = true;
    return KeyLookup::Open(files, files_, policy, {"v"}, cache).ValueOrDie();
  }
  // The value of the key (n, n), or -1.
  static int64_t Find(const KeyLookup& lookup, int64_t n) {
    const DataType bigint = ParseColumns("a BIGINT NOT NULL").ValueOrDie()[0].type;
    const KeyedRows found = lookup.Find(Encoded({bigint, bigint}, {{n}, {n}})).ValueOrDie();
    if (found.row_of_key[0] < 0) return -1;
    return static_cast<const arrow::Int64Array&>(*found.rows->column(0)).Value(found.row_of_key[0]);
  }
  // Of the store's operations since the last call.
  int64_t Operations() {
    const int64_t count = reads_.counted();
    reads_.SetPlan({});
    return count;
  }

  TestTable table_;
  FaultStore reads_{std::shared_ptr<Store>(&table_.store, [](Store*) {})};
  std::vector<TreeFilePtr> files_;
};

TEST_F(FilteredFile, IsReadForKeysThatItDoesNotHaveUntilThatCostsAsMuchAsAFilter) {
  LookupCache cache(100'000);  // a filter, and no block
  const auto lookup = Open(&cache);
  Operations();
  for (int64_t n = 1; n < 40; n += 2) EXPECT_EQ(Find(*lookup, n * 500 + 1), -1);
  EXPECT_GE(Operations(), 16);
  for (int64_t n = 0; n < 200; ++n) EXPECT_EQ(Find(*lookup, n * 100 + 1), -1);
  EXPECT_LT(Operations(), 100);
  for (int64_t n = 0; n < 20; ++n) EXPECT_EQ(Find(*lookup, n * 1000), n * 1000);
  EXPECT_GE(Operations(), 20);
}

TEST_F(FilteredFile, IsReadEachTimeWhereNothingIsKept) {
  const auto lookup = Open(nullptr);
  Operations();
  for (int64_t n = 0; n < 60; ++n) EXPECT_EQ(Find(*lookup, n * 300 + 1), -1);
  EXPECT_GE(Operations(), 60);
}

// What cannot be read for a filter is read as before.
TEST_F(FilteredFile, AFailureOfMakingAFilterIsNoFailureOfTheLookup) {
  LookupCache cache(100'000);
  const auto lookup = Open(&cache);
  EXPECT_EQ(Find(*lookup, 2), 2);  // opened
  int64_t before = 0;
  for (int64_t n = 1; n <= 15; ++n) EXPECT_EQ(Find(*lookup, n * 1000 + 1), -1);
  Operations();
  EXPECT_EQ(Find(*lookup, 7'777), -1);  // the 16th: its own read, then those of the filter
  before = Operations();
  LookupCache another(100'000);
  const auto failing = Open(&another);
  EXPECT_EQ(Find(*failing, 2), 2);
  for (int64_t n = 1; n <= 15; ++n) EXPECT_EQ(Find(*failing, n * 1000 + 1), -1);
  reads_.SetPlan({FaultKind::kFail, before - 1});
  EXPECT_EQ(Find(*failing, 7'777), -1);
  EXPECT_TRUE(reads_.fired());
  for (int64_t n = 0; n < 20; ++n) EXPECT_EQ(Find(*failing, n * 1000 + 1), -1);
}

}  // namespace
}  // namespace headrace
