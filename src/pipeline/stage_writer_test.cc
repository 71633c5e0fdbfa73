// A commit that stands is taken in, whatever goes wrong beside it.
#include "pipeline/stage_writer.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "write/test_rows.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::MakeTestTable;
using headrace::testing::Must;
using ::testing::HasSubstr;

class StageWriting : public ::testing::Test {
 protected:
  StageWriting() { room_.budget = &budget_; }

  Table TableOf(std::map<std::string, std::string> options) {
    options.emplace("bucket", "1");
    return MakeTestTable("id INT, v INT", {"id"}, std::move(options), {}, store_).table;
  }
  static Status WriteAndCommit(StageWriter* writer, int32_t id, int32_t v) {
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, RowsOf(id, v));
    HEADRACE_RETURN_NOT_OK(writer->Write(rows.first, rows.second));
    ingest::Position position;
    position.format = "sql";
    return writer->Commit(std::move(position));
  }
  // The next such operation fails.
  void FailAt(StoreOperation operation, const std::string& part_of_path) {
    store_->SetPlan({.kind = FaultKind::kFail,
                     .at = 0,
                     .counts = [operation, part_of_path](StoreOperation is, const std::string& path) {
                       return is == operation && path.find(part_of_path) != std::string::npos;
                     }});
  }

  std::shared_ptr<FaultStore> store_ = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  MemoryBudget budget_{64 << 20};
  StageRoom room_;

 private:
  using RowsAndKinds = std::pair<std::shared_ptr<arrow::RecordBatch>, std::shared_ptr<arrow::Array>>;
  static Result<RowsAndKinds> RowsOf(int32_t id, int32_t v) {
    arrow::Int32Builder ids, values;
    arrow::Int8Builder kinds;
    HEADRACE_RETURN_NOT_OK(ids.Append(id));
    HEADRACE_RETURN_NOT_OK(values.Append(v));
    HEADRACE_RETURN_NOT_OK(kinds.Append(0));
    HEADRACE_ASSIGN_OR_RETURN(const auto id_column, ids.Finish());
    HEADRACE_ASSIGN_OR_RETURN(const auto value_column, values.Finish());
    HEADRACE_ASSIGN_OR_RETURN(const auto kind_column, kinds.Finish());
    const auto schema = ToArrowSchema(Must(ParseColumns("id INT, v INT")));
    return RowsAndKinds(arrow::RecordBatch::Make(schema, 1, {id_column, value_column}), kind_column);
  }
};

TEST_F(StageWriting, ABucketThatOverflowsIsToldAndTheCommitStands) {
  const Table table = TableOf({{"merge-engine", "aggregation"},
                               {"fields.v.aggregate-function", "sum"},
                               {"changelog-producer", "lookup"}});
  StageWriter writer(table, "job", &room_);
  ASSERT_TRUE(writer.Open().ok());
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 2147483647).ok());
  EXPECT_TRUE(writer.troubles().held_back.ok());
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 5).ok());
  EXPECT_THAT(writer.troubles().held_back.message(), HasSubstr("the sum 2147483647 + 5 overflows INT"));
  EXPECT_EQ(writer.troubles().commits_held_back, 1);
  EXPECT_EQ(writer.committed().rows, 2);
  // Its position is its own.
  EXPECT_TRUE(writer.Restart().ok());
  EXPECT_TRUE(WriteAndCommit(&writer, 2, 5).ok());
  EXPECT_EQ(Must(ingest::FindPosition(table, "job"))->position.rows, 3);
}

TEST_F(StageWriting, OldSnapshotsThatCannotBeEndedAreToldAndTheCommitStands) {
  const Table table = TableOf({{"snapshot.num-retained.min", "1"}, {"snapshot.num-retained.max", "1"}});
  StageWriter writer(table, "job", &room_);
  ASSERT_TRUE(writer.Open().ok());
  // The job's own consumer keeps the snapshot of the commit before.
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 1).ok());
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 1).ok());
  FailAt(StoreOperation::kList, "/tag");
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 2).ok());
  ASSERT_TRUE(store_->fired());
  store_->SetPlan({});
  EXPECT_THAT(writer.troubles().expiry.message(), HasSubstr("nothing was deleted"));
  EXPECT_EQ(writer.troubles().expiries_failed, 1);
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 3).ok());
  EXPECT_EQ(writer.troubles().expiries_failed, 1) << "that went well";
  EXPECT_EQ(writer.committed().rows, 4);
}

TEST_F(StageWriting, AConsumerThatCannotBeMovedDoesNotTakeThePositionForAnothersAfterwards) {
  const Table table = TableOf({});
  StageWriter writer(table, "job", &room_);
  ASSERT_TRUE(writer.Open().ok());
  ASSERT_TRUE(WriteAndCommit(&writer, 1, 1).ok());
  FailAt(StoreOperation::kReplace, "/consumer/");
  EXPECT_FALSE(WriteAndCommit(&writer, 1, 2).ok());
  ASSERT_TRUE(store_->fired());
  store_->SetPlan({});
  EXPECT_TRUE(writer.Restart().ok());
  EXPECT_EQ(writer.committed().rows, 2);
  EXPECT_TRUE(WriteAndCommit(&writer, 1, 3).ok());
  EXPECT_EQ(Must(ingest::FindPosition(table, "job"))->position.rows, 3);
}

}  // namespace
}  // namespace headrace::pipeline
