#include "lsm/write_buffer.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/radix_sort.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

TEST(RadixSort, SortsByTheBitsGivenAndKeepsTheOrderOfEqualOnes) {
  Random random(1);
  for (const int bits : {1, 5, 11, 12, 30, 44}) {
    std::vector<uint64_t> words;
    for (uint64_t i = 0; i < 5000; ++i) words.push_back(random.Below(uint64_t{1} << bits) << 20 | i);
    std::vector<uint64_t> expected = words;
    std::stable_sort(expected.begin(), expected.end(),
                     [](uint64_t a, uint64_t b) { return a >> 20 < b >> 20; });
    RadixSort(&words, 20, 20 + bits);
    EXPECT_EQ(words, expected) << bits;
  }
}

struct Appended {
  std::vector<Value> key;
  std::vector<Value> order;
  int64_t sequence;
  int8_t kind;
};

// Sorting random batches gives what a stable sort of the rows by key, sequence fields and number gives.
void CheckSort(const std::string& key_columns, const std::vector<std::string>& keys,
               std::vector<std::string> sequence_columns, bool descending, uint64_t seed) {
  SCOPED_TRACE(key_columns + ", seed " + std::to_string(seed));
  TestTable table(key_columns + ", s INT, t STRING, v ARRAY<INT>", keys);
  MergePolicy policy;
  policy.sequence_columns = sequence_columns;
  policy.sequence_descending = descending;
  WriteBuffer buffer = WriteBuffer::Make(*table.schema, policy, nullptr).ValueOrDie();
  RandomVersions versions(table.schema, 37, seed);
  const std::vector<DataField> key_fields = table.schema->FieldsOf(keys);
  const std::vector<DataField> order_fields = table.schema->FieldsOf(sequence_columns);
  std::vector<Appended> rows;
  std::vector<std::vector<size_t>> at;  // position in `rows` by batch and row
  int64_t next = 100;
  for (const int64_t count : {50, 1, 120, 0, 3}) {
    const auto batch = versions.Batch(count);
    const auto kinds = versions.Kinds(count, true);
    if (count > 0) at.emplace_back();
    for (int64_t row = 0; row < count; ++row) {
      Appended& appended = rows.emplace_back();
      for (const DataField& f : key_fields)
        appended.key.push_back(ValueAt(*batch->GetColumnByName(f.name), row, f.type).ValueOrDie());
      for (const DataField& f : order_fields) {
        appended.order.push_back(ValueAt(*batch->GetColumnByName(f.name), row, f.type).ValueOrDie());
      }
      appended.sequence = next + row;
      appended.kind = static_cast<const arrow::Int8Array&>(*kinds).Value(row);
      at.back().push_back(rows.size() - 1);
    }
    HEADRACE_EXPECT_OK(buffer.Append(batch, kinds, next));
    next += count;
  }
  const auto compare_order = [&](const Appended& a, const Appended& b) {
    for (size_t i = 0; i < a.order.size(); ++i) {
      int order = CompareValues(a.order[i], b.order[i]);
      if (descending && !IsNull(a.order[i]) && !IsNull(b.order[i])) order = -order;
      if (order != 0) return order;
    }
    return 0;
  };
  const auto compare_key = [](const Appended& a, const Appended& b) {
    for (size_t i = 0; i < a.key.size(); ++i) {
      const int order = CompareValues(a.key[i], b.key[i]);
      if (order != 0) return order;
    }
    return 0;
  };
  std::vector<Appended> expected = rows;
  std::stable_sort(expected.begin(), expected.end(), [&](const Appended& a, const Appended& b) {
    const int key = compare_key(a, b);
    return key != 0 ? key < 0 : compare_order(a, b) < 0;
  });
  const Segments segments = buffer.Sort().ValueOrDie();
  ASSERT_EQ(segments.rows.size(), expected.size());
  std::vector<int64_t> newest;
  for (size_t i = 0; i < expected.size(); ++i) {
    const RowRef ref = segments.rows[i];
    EXPECT_EQ(rows[at[ref.batch][ref.row]].sequence, expected[i].sequence) << i;
    const bool last = i + 1 == expected.size() || compare_key(expected[i], expected[i + 1]) != 0;
    if (last) newest.push_back(expected[i].sequence);
  }
  std::vector<int64_t> picked;
  for (const RowRef ref : buffer.Newest(segments)) picked.push_back(rows[at[ref.batch][ref.row]].sequence);
  EXPECT_EQ(picked, newest);
  const auto gathered = buffer.Gather(segments.rows).ValueOrDie();
  ASSERT_TRUE(gathered->ValidateFull().ok());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    EXPECT_EQ(
        static_cast<const arrow::Int64Array&>(*gathered->GetColumnByName("_SEQUENCE_NUMBER")).Value(row),
        expected[i].sequence);
    EXPECT_EQ(static_cast<const arrow::Int8Array&>(*gathered->GetColumnByName("_VALUE_KIND")).Value(row),
              expected[i].kind);
  }
}

TEST(WriteBuffer, SortsEveryKeyShapeByKeyThenNumber) {
  uint64_t seed = 10;
  for (const auto& [columns, keys] : KeyShapes()) CheckSort(columns, keys, {}, false, seed++);
}

TEST(WriteBuffer, SortsVersionsBySequenceFieldsInTheirDirectionNullsLowest) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    CheckSort("k BIGINT NOT NULL", {"k"}, {"s"}, false, seed);
    CheckSort("k BIGINT NOT NULL", {"k"}, {"s"}, true, seed);
    CheckSort("k STRING NOT NULL", {"k"}, {"t", "s"}, true, seed);
  }
}

TEST(WriteBuffer, AccountsForItsBatchesAndForgetsThemWhenCleared) {
  TestTable table("k BIGINT NOT NULL, v STRING", {"k"});
  WriteBuffer buffer = WriteBuffer::Make(*table.schema, {}, nullptr).ValueOrDie();
  RandomVersions versions(table.schema, 10, 1);
  HEADRACE_EXPECT_OK(buffer.Append(versions.Batch(100), versions.Kinds(100, false), 0));
  EXPECT_EQ(buffer.rows(), 100);
  EXPECT_GT(buffer.bytes(), 100 * 16);
  buffer.Clear();
  EXPECT_EQ(buffer.rows(), 0);
  EXPECT_EQ(buffer.bytes(), 0);
  EXPECT_EQ(buffer.Sort().ValueOrDie().count(), 0u);
}

TEST(WriteBuffer, LetsTheLastRowOfAKeyWinAndAnIgnoredDeleteNever) {
  TestTable table("k INT NOT NULL", {"k"});
  arrow::Int32Builder builder;
  HEADRACE_EXPECT_OK(builder.AppendValues({1, 2, 1, 2, 3}));
  const auto batch =
      arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 5, {builder.Finish().ValueOrDie()});
  for (const bool ignore : {false, true}) {
    MergePolicy policy;
    policy.ignore_delete = ignore;
    WriteBuffer buffer = WriteBuffer::Make(*table.schema, policy, nullptr).ValueOrDie();
    HEADRACE_EXPECT_OK(buffer.Append(batch, KindsOf({0, 0, 3, 2, 3}), 0));
    std::vector<uint32_t> rows;
    for (const RowRef ref : buffer.Newest(buffer.Sort().ValueOrDie())) rows.push_back(ref.row);
    EXPECT_EQ(rows, ignore ? (std::vector<uint32_t>{0, 3}) : (std::vector<uint32_t>{2, 3, 4}));
  }
}

}  // namespace
}  // namespace headrace
