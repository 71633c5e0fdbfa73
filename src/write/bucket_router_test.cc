#include "write/bucket_router.h"

#include <filesystem>

#include <arrow/array.h>
#include <arrow/array/builder_base.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/util/decimal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/data_file_reader.h"
#include "io/local_store.h"
#include "write/test_rows.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using testing::MakeTestTable;
using testing::Must;
namespace fs = std::filesystem;

// One column "k" of the given type holding one value.
int32_t BucketOf(const std::string& type, const Value& value, const std::string& function = "default",
                 int32_t total = 7) {
  const Table table =
      MakeTestTable("k " + type + ", v INT", {},
                    {{"bucket", "7"}, {"bucket-key", "k"}, {"bucket-function.type", function}})
          .table;
  const DataField& field = table.schema->fields[0];
  const auto column = Must(ArrayOf(value, field.type, 3, arrow::default_memory_pool()));
  const auto rest = Must(ArrayOf(Value{}, table.schema->fields[1].type, 3, arrow::default_memory_pool()));
  const auto batch = arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 3, {column, rest});
  const auto buckets = Must(AssignBuckets(table, *batch, total));
  EXPECT_THAT(buckets, ElementsAre(buckets[0], buckets[0], buckets[0]));
  return buckets[0].value;
}

TEST(Buckets, AreThoseThatJavaComputesForEachType) {
  EXPECT_EQ(BucketOf("INT", 1), 5);
  EXPECT_EQ(BucketOf("INT", -3), 5);
  EXPECT_EQ(BucketOf("BIGINT", int64_t{1}), 5);
  EXPECT_EQ(BucketOf("BIGINT", INT64_MIN), 5);
  EXPECT_EQ(BucketOf("STRING", std::string("")), 5);
  EXPECT_EQ(BucketOf("STRING", std::string("abc")), 4);
  EXPECT_EQ(BucketOf("STRING", std::string("abcdefg")), 0);
  EXPECT_EQ(BucketOf("STRING", std::string("abcdefgh")), 2);
  EXPECT_EQ(BucketOf("STRING", std::string("héllo wörld")), 0);
  EXPECT_EQ(BucketOf("STRING", Value{}), 3);
  EXPECT_EQ(BucketOf("BOOLEAN", true), 5);
  EXPECT_EQ(BucketOf("TINYINT", int8_t{-1}), 1);
  EXPECT_EQ(BucketOf("SMALLINT", int16_t{300}), 6);
  EXPECT_EQ(BucketOf("DATE", 19000), 3);
  EXPECT_EQ(BucketOf("DOUBLE", 1.5), 2);
  EXPECT_EQ(BucketOf("FLOAT", -0.0f), 0);
  EXPECT_EQ(BucketOf("DECIMAL(10, 2)", arrow::Decimal128(12345)), 0);
  EXPECT_EQ(BucketOf("DECIMAL(20, 2)", arrow::Decimal128(12345)), 0);
  EXPECT_EQ(BucketOf("DECIMAL(20, 2)", arrow::Decimal128(-100)), 4);
  EXPECT_EQ(BucketOf("DECIMAL(20, 2)", Value{}), 5);
  EXPECT_EQ(BucketOf("TIMESTAMP(3)", Timestamp{1700000000123, 0}), 2);
  EXPECT_EQ(BucketOf("TIMESTAMP(6)", Timestamp{1700000000123, 456000}), 0);
  EXPECT_EQ(BucketOf("TIMESTAMP(6)", Value{}), 0);
  EXPECT_EQ(BucketOf("BYTES", std::string("\x01\x02\x03")), 4);
}

TEST(Buckets, OfTheModFunctionAreFloored) {
  EXPECT_EQ(BucketOf("INT", 1, "mod"), 1);
  EXPECT_EQ(BucketOf("INT", -3, "mod"), 4);
  EXPECT_EQ(BucketOf("BIGINT", int64_t{1}, "mod"), 1);
  EXPECT_EQ(BucketOf("BIGINT", INT64_MIN, "mod"), 6);
  EXPECT_EQ(BucketOf("INT", Value{}, "mod"), 0);
}

// The way for common keys and the way for any key must agree.
TEST(Buckets, AreTheSameByTheShortWayAndByWholeRows) {
  Random random(20'261'129);
  const Table table = MakeTestTable("i INT, l BIGINT, s STRING, d DATE", {}, {{"bucket", "-1"}}).table;
  arrow::Int32Builder ints;
  arrow::Int64Builder longs;
  arrow::StringBuilder strings;
  arrow::Date32Builder dates;
  for (int row = 0; row < 2000; ++row) {
    std::string text;
    for (uint64_t n = random.Below(30); n > 0; --n) text.push_back(static_cast<char>('a' + random.Below(26)));
    const bool null = random.OneIn(10);
    ASSERT_TRUE((null ? ints.AppendNull() : ints.Append(static_cast<int32_t>(random.Next()))).ok());
    ASSERT_TRUE((null ? longs.AppendNull() : longs.Append(static_cast<int64_t>(random.Next()))).ok());
    ASSERT_TRUE((null ? strings.AppendNull() : strings.Append(text)).ok());
    ASSERT_TRUE((null ? dates.AppendNull() : dates.Append(static_cast<int32_t>(random.Below(40'000)))).ok());
  }
  const std::vector<std::shared_ptr<arrow::Array>> columns = {Must(ints.Finish()), Must(longs.Finish()),
                                                              Must(strings.Finish()), Must(dates.Finish())};
  const auto batch = arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 2000, columns);
  for (size_t i = 0; i < columns.size(); ++i) {
    TableSchema schema = *table.schema;
    schema.options["bucket-key"] = schema.fields[i].name;
    Table keyed = table;
    keyed.schema = std::make_shared<const TableSchema>(schema);
    const auto buckets = Must(AssignBuckets(keyed, *batch, 11));
    const auto encoder = Must(BinaryRowEncoder::Make({schema.fields[i].type}, {columns[i]}));
    for (int64_t row = 0; row < 2000; ++row) {
      const int64_t hash = HashBinaryRow(Must(encoder->EncodeRow(row)));
      ASSERT_EQ(buckets[static_cast<size_t>(row)].value, std::abs(hash % 11))
          << schema.fields[i].name << " row " << row;
    }
  }
}

// Rows that Java wrote lie where we would put them.
TEST(Buckets, AndPartitionsOfEveryRowInTheFixturesAreThoseOfItsFile) {
  int64_t rows = 0;
  int tables = 0;
  for (const auto& fixture : fs::directory_iterator(HEADRACE_FIXTURES)) {
    if (!fs::is_directory(fixture.path() / "warehouse" / "peer.db")) continue;
    for (const auto& folder : fs::directory_iterator(fixture.path() / "warehouse" / "peer.db")) {
      const auto opened =
          OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<ManualClock>(), folder.path().string(),
                      folder.path().filename().string(), Access::kRead);
      if (!opened.ok() || opened->options.bucket <= 0) continue;
      const Table& table = *opened;
      SCOPED_TRACE(table.path);
      ++tables;
      const auto latest = Must(ReadLatestSnapshot(table));
      if (!latest.has_value()) continue;
      for (const ManifestEntry& entry : Must(LiveFiles(table, *latest))) {
        FileReadOptions options;
        options.table_schema = table.schema;
        options.schema_by_id = table.schema_by_id;
        for (const DataField& field : table.schema->fields) options.columns.values.push_back(field.name);
        const auto reader = OpenDataFile(table.store.get(), Must(table.PathOf(entry)), entry.file, options);
        if (IsKind(reader.status(), ErrorKind::kUnsupported)) break;
        ASSERT_TRUE(reader.ok()) << reader.status();
        while (const auto batch = Must((*reader)->Next())) {
          for (const BucketId bucket : Must(AssignBuckets(table, *batch, entry.total_buckets)))
            ASSERT_EQ(bucket, entry.bucket);
          Table as_written = table;
          as_written.options.bucket = entry.total_buckets;
          const auto slices = Must(SplitByBucket(as_written, batch, nullptr, arrow::default_memory_pool()));
          ASSERT_EQ(slices.size(), 1u);
          EXPECT_EQ(slices[0].partition, entry.partition);
          rows += batch->num_rows();
        }
      }
    }
  }
  EXPECT_GT(tables, 40);
  EXPECT_GT(rows, 5'000);
}

TEST(Splitting, KeepsTheOrderOfRowsInEachPartitionAndBucket) {
  const Table table = MakeTestTable("p STRING, k INT, n INT", {"p", "k"}, {{"bucket", "3"}}, {"p"}).table;
  arrow::StringBuilder partitions;
  arrow::Int32Builder keys, numbers;
  arrow::Int8Builder kinds;
  Random random(7);
  for (int row = 0; row < 500; ++row) {
    ASSERT_TRUE(partitions.Append("p" + std::to_string(random.Below(4))).ok());
    ASSERT_TRUE(keys.Append(static_cast<int32_t>(random.Below(50))).ok());
    ASSERT_TRUE(numbers.Append(row).ok());
    ASSERT_TRUE(kinds.Append(static_cast<int8_t>(row % 4)).ok());
  }
  const auto batch =
      arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 500,
                               {Must(partitions.Finish()), Must(keys.Finish()), Must(numbers.Finish())});
  const auto slices = Must(SplitByBucket(table, batch, Must(kinds.Finish()), arrow::default_memory_pool()));
  EXPECT_EQ(slices.size(), 12u);
  std::set<int32_t> seen;
  for (const Slice& slice : slices) {
    EXPECT_EQ(slice.partition.arity, 1);
    const auto& numbers_of = static_cast<const arrow::Int32Array&>(*slice.rows->column(2));
    const auto& kinds_of = static_cast<const arrow::Int8Array&>(*slice.kinds);
    for (const BucketId bucket : Must(AssignBuckets(table, *slice.rows, 3))) EXPECT_EQ(bucket, slice.bucket);
    for (int64_t i = 0; i < numbers_of.length(); ++i) {
      if (i > 0) {
        EXPECT_LT(numbers_of.Value(i - 1), numbers_of.Value(i));
      }
      EXPECT_EQ(kinds_of.Value(i), numbers_of.Value(i) % 4);
      seen.insert(numbers_of.Value(i));
    }
  }
  EXPECT_EQ(seen.size(), 500u);
}

TEST(Splitting, GivesAWholeBatchOfOneBucketAsItIs) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const auto batch = testing::BatchOf(table, {{1, 1}, {2, 2}});
  const auto slices = Must(SplitByBucket(table, batch, nullptr, arrow::default_memory_pool()));
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].rows, batch);
  EXPECT_TRUE(
      Must(SplitByBucket(table, testing::BatchOf(table, {}), nullptr, arrow::default_memory_pool())).empty());
}

}  // namespace
}  // namespace headrace
