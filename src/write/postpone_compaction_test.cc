#include "write/postpone_compaction.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "io/local_store.h"
#include "read/scan.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::CommitRows;
using testing::DrawRows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntRows;
using ::testing::IsEmpty;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::ScanById;
using testing::UnreferencedFiles;
using testing::WriteRows;

class Postponed : public testing::SessionCase {
 protected:
  MovedRows Move(const Table& table) { return Must(MovePostponedRows(table, OptionsOf("mover"))); }
};

TEST_F(Postponed, RowsAreNotSeenUntilTheyHaveABucket) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-2"}, {"postpone.default-bucket-num", "3"}}).table;
  const auto session = Open(table, "me/and-s-you");
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 1}, {1, 1}, {2, 2}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_THAT(ScanById(table), IsEmpty());
  const auto live = Must(LiveFiles(table, *Must(ReadLatestSnapshot(table))));
  ASSERT_EQ(live.size(), 1u);
  const DataFileMeta& file = live[0].file;
  EXPECT_EQ(live[0].bucket, BucketId(-2));
  EXPECT_EQ(live[0].total_buckets, -2);
  EXPECT_THAT(file.name, ::testing::MatchesRegex("data--u-me_and_s-you-s-[0-9]+-w-[0-9a-f-]+-0\\.avro"));
  EXPECT_EQ(std::make_tuple(file.row_count, file.min_sequence, file.max_sequence, *file.delete_row_count),
            std::make_tuple(3, -1, -1, 0));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1, 3}, {3, 3}}).ok());
  Must(CommitRows(session.get(), 2));

  const MovedRows moved = Move(table);
  ASSERT_EQ(moved.snapshots.size(), 1u);
  EXPECT_EQ(moved.snapshots[0].commit_kind, CommitKind::kCompact);
  EXPECT_EQ(std::make_pair(moved.files, moved.rows), std::make_pair(int64_t{2}, int64_t{5}));
  EXPECT_EQ(ScanById(table), (IntRows{{2, 2}, {3, 3}}));
  for (const ManifestEntry& entry : Must(LiveFiles(table, moved.snapshots[0])))
    EXPECT_EQ(entry.total_buckets, 3);
  EXPECT_THAT(UnreferencedFiles(table), IsEmpty());
  EXPECT_THAT(Move(table).snapshots, IsEmpty());
}

TEST_F(Postponed, AWriterGoesOnBesideTheOneWhoMoves) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-2"}}).table;
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}, {2, 1, 3}}).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 2}, {2, 2}}).ok());
  Move(table);
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 1}}));
  Move(table);
  EXPECT_EQ(ScanById(table), (IntRows{{1, 2}, {2, 2}}));
}

TEST_F(Postponed, BucketsAreAsManyAsRowsOrBytesAskFor) {
  DataFileMeta file;
  file.row_count = 1000;
  file.size_bytes = 5LL << 30;
  TableOptions options;
  EXPECT_EQ(BucketsFor(options, {}), 1);
  EXPECT_EQ(BucketsFor(options, {file, file}), 10);
  options.postpone_target_rows = 999;
  EXPECT_EQ(BucketsFor(options, {file, file}), 3);
  options.postpone_buckets = 2;
  EXPECT_EQ(BucketsFor(options, {file, file}), 2);
}

TEST_F(Postponed, RandomWritesAreAMapOnceMoved) {
  const uint64_t seed = 5;
  SCOPED_TRACE(seed);
  Random random(seed);
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "-2"}, {"postpone.default-bucket-num", "2"}}).table;
  auto session = Open(table);
  IntRows model, moved;
  for (int32_t commit = 1; commit <= 30; ++commit) {
    if (random.OneIn(4)) session = Open(table);
    const std::vector<Row> rows = DrawRows(
        &random, 20, 40, 4, [&] { return commit; }, &model);
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), commit));
    if (random.OneIn(3)) {
      Move(table);
      moved = model;
    }
    ASSERT_EQ(ScanById(table), moved) << "commit " << commit;
  }
}

// Java's own table, with the rows of its fourth commit waiting: moved by us they come on top of what Java's compactions made of the others.
TEST_F(Postponed, RowsOfJavaGetTheirBuckets) {
  const fs::path fixture = fs::path(HEADRACE_FIXTURES) / "bucket-postpone";
  const fs::path copy = fs::path(::testing::TempDir()) / ("postpone-" + std::to_string(::getpid()));
  fs::remove_all(copy);
  fs::copy(fixture / "warehouse/peer.db/t", copy, fs::copy_options::recursive);
  const Table table = Must(OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<ManualClock>(1),
                                       copy.string(), "t", Access::kWrite));
  std::map<int32_t, std::string> expected;
  std::ifstream scan(fixture / "expected/t.scan-6.jsonl"), input(fixture / "input/t.jsonl");
  for (std::string line; std::getline(scan, line);) {
    const nlohmann::json json = Must(ParseJson(line, "scan"));
    expected[json["id"].get<int32_t>()] = json["v"].is_null() ? "null" : json["v"].get<std::string>();
  }
  for (std::string line; std::getline(input, line);) {
    const nlohmann::json json = Must(ParseJson(line, "input"));
    const int32_t id = json["id"].get<int32_t>();
    if (json["_commit"].get<int64_t>() < 4) continue;
    if (json["_rowkind"] == "-D" || json["_rowkind"] == "-U")
      expected.erase(id);
    else
      expected[id] = json["v"].is_null() ? "null" : json["v"].get<std::string>();
  }
  const MovedRows moved = Move(table);
  EXPECT_EQ(std::make_pair(moved.files, moved.rows), std::make_pair(int64_t{1}, int64_t{40}));
  std::map<int32_t, std::string> got;
  const auto reader = Must(OpenScan(table, *Must(ReadLatestSnapshot(table)), {}));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (reader->ReadNext(&batch).ok() && batch != nullptr) {
    const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      got[static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(i)] =
          texts.IsNull(i) ? "null" : texts.GetString(i);
  }
  EXPECT_EQ(got, expected);
  fs::remove_all(copy);
}

// What Java says of a file of waiting rows, we say of ours.
TEST_F(Postponed, FilesAreDescribedAsJavaDoes) {
  const Table javas = Must(OpenTableAt(
      std::make_shared<LocalStore>(), std::make_shared<ManualClock>(1),
      (fs::path(HEADRACE_FIXTURES) / "bucket-postpone/warehouse/peer.db/t").string(), "t", Access::kRead));
  const Table ours = MakeTestTable("id INT, v STRING, n BIGINT", {"id"}, {{"bucket", "-2"}}).table;
  const auto session = Open(ours);
  const auto batch = arrow::RecordBatch::Make(
      ToArrowSchema(ours.schema->fields), 1,
      {Must(ArrayOf(Value(int32_t{1}), ours.schema->fields[0].type, 1, arrow::default_memory_pool())),
       Must(ArrayOf(Value(std::string("x")), ours.schema->fields[1].type, 1, arrow::default_memory_pool())),
       Must(ArrayOf(Value(int64_t{1}), ours.schema->fields[2].type, 1, arrow::default_memory_pool()))});
  ASSERT_TRUE(session->Write(batch, nullptr).ok());
  Must(CommitRows(session.get(), 1));
  const auto waiting = [](const Table& table) {
    for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
      if (entry.bucket.value == -2) return entry;
    return ManifestEntry{};
  };
  const ManifestEntry theirs = waiting(javas), mine = waiting(ours);
  EXPECT_EQ(mine.file.key_stats, theirs.file.key_stats);
  EXPECT_EQ(mine.file.value_stats, theirs.file.value_stats);
  EXPECT_EQ(mine.file.value_stats_columns, theirs.file.value_stats_columns);
  EXPECT_EQ(mine.file.source, theirs.file.source);
  EXPECT_EQ(mine.file.level, theirs.file.level);
  EXPECT_EQ(mine.total_buckets, theirs.total_buckets);
}

}  // namespace
}  // namespace headrace
