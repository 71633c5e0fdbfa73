// Keys whose sums overflow in a flush: every row is kept, other keys are not concerned, and a wider column brings the sum back.
#include "lsm/pieces.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.h"
#include "lsm/bucket_tree.h"
#include "lsm/levels.h"
#include "lsm/overflow.h"
#include "lsm/sections.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A TINYINT that is summed and a text of which the last stays, put aside on disk now and then; and the same table once the sum is a BIGINT.
class Sums {
 public:
  Sums(bool changelog, Scratch* scratch) {
    auto wide = std::make_shared<TableSchema>(*narrow_.schema);
    wide->id = SchemaId(1);
    wide->fields[1].type = ParseColumns("v BIGINT").ValueOrDie()[0].type;
    wide_ = wide;
    narrow_.options.merge_engine = MergeEngine::kAggregation;
    narrow_.options.merge_rules.aggregates["v"] = {AggregateFunction::kSum, "sum"};
    narrow_.options.merge_rules.aggregates["t"] = {AggregateFunction::kLastValue, "last_value"};
    if (changelog) narrow_.options.changelog_producer = ChangelogProducer::kInput;
    BucketTreeSpec spec{narrow_.Files(), "w", scratch};
    spec.files.memory_bytes = 300'000;
    tree_ = BucketTree::Open(spec, {}).ValueOrDie();
  }

  Status Append(const std::vector<std::tuple<int64_t, int8_t, std::string>>& rows) {
    arrow::Int64Builder keys;
    arrow::Int8Builder values;
    arrow::StringBuilder texts;
    for (const auto& [key, value, text] : rows) {
      HEADRACE_RETURN_NOT_OK(keys.Append(key));
      HEADRACE_RETURN_NOT_OK(values.Append(value));
      HEADRACE_RETURN_NOT_OK(texts.Append(text));
    }
    auto batch = arrow::RecordBatch::Make(
        arrow::schema({{"k", arrow::int64()}, {"v", arrow::int8()}, {"t", arrow::utf8()}}),
        static_cast<int64_t>(rows.size()),
        {keys.Finish().ValueOrDie(), values.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
    return tree_->Append(batch, nullptr);
  }

  BucketTree& tree() { return *tree_; }
  TestTable& table() { return narrow_; }

  Result<std::vector<std::string>> Read(const std::vector<DataFileMeta>& files, bool widened) {
    BucketFiles bucket = narrow_.Files();
    bucket.schema = widened ? wide_ : narrow_.schema;
    bucket.schema_by_id = [this](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
      return id.value == 0 ? narrow_.schema : wide_;
    };
    HEADRACE_ASSIGN_OR_RETURN(const KeyOrder order, KeyOrder::OfKey(bucket.schema->TypesOf({"k"})));
    HEADRACE_ASSIGN_OR_RETURN(const Levels levels, Levels::Make(order, files, 6));
    MergeRequest request;
    request.sections = PartitionIntoSections(levels.files());
    request.values = narrow_.ColumnNames();
    request.key_ordered = true;
    request.policy = MergePolicyOf(narrow_.options, /*drop_deletes=*/true);
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, OpenMerge(bucket, std::move(request)));
    std::vector<std::string> lines;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, rows->Next());
      if (batch == nullptr) return lines;
      for (std::string& line : LinesOf(bucket.schema->fields, *batch)) lines.push_back(std::move(line));
    }
  }

 private:
  TestTable narrow_{"k BIGINT NOT NULL, v TINYINT, t STRING", {"k"}};
  std::shared_ptr<const TableSchema> wide_;
  std::unique_ptr<BucketTree> tree_;
};

TEST(Pieces, AFlushKeepsEveryRowOfAKeyThatOverflowsAndStopsNoOtherKey) {
  uint64_t seed = 0;
  for (const bool changelog : {false, true}) {
    for (const bool spills : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(++seed) + (changelog ? ", changelog" : "") +
                   (spills ? ", spills" : ""));
      LocalScratch scratch(::testing::TempDir());
      Sums sums(changelog, spills ? &scratch : nullptr);
      Random random(seed);
      std::map<int64_t, std::pair<int64_t, std::string>> model;
      int64_t appended = 0;
      for (int batch = 0; batch < 12; ++batch) {
        std::vector<std::tuple<int64_t, int8_t, std::string>> rows;
        for (int i = 0; i < 60; ++i) {
          const auto key = static_cast<int64_t>(random.Below(120));
          const auto value =
              static_cast<int8_t>(key % 9 == 0 ? random.Between(-128, 127) : random.Between(-2, 2));
          rows.emplace_back(key, value, std::to_string(appended++));
          model[key] = {model[key].first + value, std::get<2>(rows.back())};
        }
        HEADRACE_EXPECT_OK(sums.Append(rows));
        if (spills && random.OneIn(2)) {
          EXPECT_TRUE(sums.tree().Spill().ok());
        }
        if (random.OneIn(6)) HEADRACE_EXPECT_OK(sums.tree().Flush());
      }
      HEADRACE_EXPECT_OK(sums.tree().Flush());
      const FileIncrement made = sums.tree().TakeChange().append;
      EXPECT_GT(made.added.size(), 1u);
      int64_t told = 0;
      for (const DataFileMeta& file : made.changelog) told += file.row_count;
      EXPECT_EQ(told, changelog ? appended : 0);

      const auto narrow = sums.Read(made.added, false);
      EXPECT_TRUE(IsOverflow(narrow.status())) << narrow.status();
      EXPECT_EQ(KindOf(narrow.status()), ErrorKind::kInvalid);
      EXPECT_THAT(narrow.status().message(), HasSubstr("overflows TINYINT"));
      std::vector<std::string> expected;
      for (const auto& [key, value] : model)
        expected.push_back("{\"k\":" + std::to_string(key) + ",\"v\":" + std::to_string(value.first) +
                           ",\"t\":\"" + value.second + "\"}");
      const auto wide = sums.Read(made.added, true);
      ASSERT_TRUE(wide.ok()) << wide.status();
      EXPECT_EQ(*wide, expected);
    }
  }
}

TEST(Pieces, AKeyThatOverflowsTooOftenIsRefusedAndItsRowsStayInTheBuffer) {
  Sums sums(false, nullptr);
  HEADRACE_EXPECT_OK(sums.Append({{1, 1, "a"}}));
  const std::vector<std::tuple<int64_t, int8_t, std::string>> rows(300, {7, 127, "b"});
  HEADRACE_EXPECT_OK(sums.Append(rows));
  const Status refused = sums.tree().Flush();
  EXPECT_TRUE(IsOverflow(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("more than 64 times"));
  EXPECT_THAT(refused.message(), HasSubstr("key (k=7)"));
  EXPECT_EQ(sums.tree().buffered_rows(), 301);
  EXPECT_THAT(sums.table().FileNamesOnDisk(), ::testing::IsEmpty());
}

TEST(Pieces, ACompactionThatOverflowsLeavesNoFileAndTheTreeAsItWas) {
  Sums sums(false, nullptr);
  for (int flush = 0; flush < 2; ++flush) {
    HEADRACE_EXPECT_OK(sums.Append({{1, 1, "a"}, {2, 100, "b"}}));
    HEADRACE_EXPECT_OK(sums.tree().Flush());
  }
  const auto before = sums.table().FileNamesOnDisk();
  const auto plan = sums.tree().PickCompaction(/*full=*/true);
  ASSERT_TRUE(plan.has_value());
  const auto result = sums.tree().RunCompaction(*plan);
  EXPECT_TRUE(IsOverflow(result.status())) << result.status();
  HEADRACE_EXPECT_OK(sums.tree().DropCompaction(nullptr));
  EXPECT_EQ(sums.table().FileNamesOnDisk(), before);
  EXPECT_EQ(sums.tree().LiveFiles().size(), 2u);
}

}  // namespace
}  // namespace headrace
