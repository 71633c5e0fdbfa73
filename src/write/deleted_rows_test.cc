// Append tables whose rows others have deleted by vectors: rows that come in and compactions leave them deleted.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/index_files.h"
#include "commit/expiry.h"
#include "file/json_lines.h"
#include "io/local_store.h"
#include "lsm/merge.h"
#include "write/test_rows.h"

namespace headrace::testing {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// A copy of a table that Java wrote, to be written to.
class DeletedRows : public ::testing::TestWithParam<const char*> {
 protected:
  DeletedRows() {
    folder_ = fs::temp_directory_path() / ("deleted-rows-" + std::to_string(::getpid()) + "-" + GetParam());
    fs::remove_all(folder_);
    fs::copy(fs::path(HEADRACE_FIXTURES) / "dv-append/warehouse/peer.db" / GetParam(), folder_,
             fs::copy_options::recursive);
    table_ = Must(OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<SystemClock>(),
                              folder_.string(), "db.t", Access::kWrite));
  }
  ~DeletedRows() override { fs::remove_all(folder_); }

  Snapshot Latest() const { return *Must(ReadLatestSnapshot(table_)); }

  // Read without the room that scans tables, which is not below this one.
  void ForEachBatch(const std::function<void(const arrow::RecordBatch&)>& visit) const {
    const IndexFiles index = Must(IndexFiles::Read(table_, Latest()));
    for (const ManifestEntry& entry : Must(LiveFiles(table_, Latest()))) {
      const BucketPlace bucket(entry.partition, entry.bucket);
      BucketFiles files;
      files.store = table_.store.get();
      files.directory = Must(table_.BucketDirectory(entry.partition, entry.bucket));
      files.schema = table_.schema;
      files.schema_by_id = table_.schema_by_id;
      files.options = &table_.options;
      files.deletions = Must(ReadDeletions(table_, bucket, index.Of(bucket)));
      const auto rows =
          Must(OpenConcatenation(files, {entry.file}, {.values = table_.schema->ColumnNames()}, 1000));
      while (const auto batch = Must(rows->Next())) visit(*batch);
    }
  }

  Lines Scan() const {
    std::string text;
    ForEachBatch([&](const arrow::RecordBatch& batch) {
      EXPECT_TRUE(JsonLines(table_.schema->fields).Append(batch, &text).ok());
    });
    Lines lines;
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  // Everything is as it was told: vectors are for live files, and no row of theirs is outside of its file.
  int64_t CheckVectors() const {
    std::set<std::string> live;
    for (const ManifestEntry& entry : Must(LiveFiles(table_, Latest()))) live.insert(entry.file.name);
    int64_t deleted = 0;
    const IndexFiles index = Must(IndexFiles::Read(table_, Latest()));
    for (const auto& [bucket, entries] : index.all()) {
      const auto vectors = Must(ReadDeletions(table_, bucket, entries));
      if (vectors == nullptr) continue;
      for (const auto& [name, vector] : *vectors) {
        EXPECT_TRUE(live.contains(name)) << name;
        deleted += vector->cardinality();
      }
    }
    return deleted;
  }

  std::unique_ptr<WriteSession> Open() {
    return Must(WriteSession::Open(table_, {.commit_user = "u", .budget = &budget_}));
  }
  std::shared_ptr<arrow::RecordBatch> SomeRows() const {
    std::shared_ptr<arrow::RecordBatch> some;
    ForEachBatch([&](const arrow::RecordBatch& batch) { some = batch.Slice(0, 3); });
    return arrow::RecordBatch::Make(ToArrowSchema(table_.schema->fields), some->num_rows(), some->columns());
  }

  fs::path folder_;
  Table table_;
  MemoryBudget budget_{64 << 20};
};

TEST_P(DeletedRows, StayDeletedWhenRowsComeIn) {
  const Lines before = Scan();
  const int64_t deleted = CheckVectors();
  EXPECT_GT(deleted, 0);
  table_.options.write_only = true;
  auto session = Open();
  ASSERT_TRUE(session->Write(SomeRows(), nullptr).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(Scan().size(), before.size() + 3);
  EXPECT_EQ(CheckVectors(), deleted);
}

// Files of which a fifth or more is deleted are rewritten beside what comes in.
TEST_P(DeletedRows, AreGoneFromTheFilesThatAreWornByThem) {
  const Lines before = Scan();
  const int64_t deleted = CheckVectors();
  auto session = Open();
  ASSERT_TRUE(session->Write(SomeRows(), nullptr).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(Scan().size(), before.size() + 3);
  EXPECT_LT(CheckVectors(), deleted);
}

TEST_P(DeletedRows, AreGoneFromTheFilesThatAFullCompactionWrites) {
  const Lines before = Scan();
  auto session = Open();
  ASSERT_TRUE(session->Compact(/*full=*/true).ok());
  const auto made = Must(CommitRows(session.get(), 1));
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].commit_kind, CommitKind::kCompact);
  EXPECT_EQ(Scan(), before);
  EXPECT_EQ(CheckVectors(), 0);
  int64_t rows = 0;
  for (const ManifestEntry& entry : Must(LiveFiles(table_, Latest()))) rows += entry.file.row_count;
  EXPECT_EQ(rows, static_cast<int64_t>(before.size()));
  // Once more: there is nothing left to do.
  ASSERT_TRUE(session->Compact(/*full=*/true).ok());
  EXPECT_TRUE(Must(CommitRows(session.get(), 2)).empty());
}

TEST_P(DeletedRows, MakeACompactionLoseThatDidNotKnowOfThem) {
  const Lines before = Scan();
  auto first = Open();
  auto second = Open();
  ASSERT_TRUE(first->Compact(/*full=*/true).ok());
  ASSERT_TRUE(second->Compact(/*full=*/true).ok());
  const auto prepared = Must(second->PrepareCommit(7, true));
  Must(CommitRows(first.get(), 1));
  EXPECT_TRUE(Must(second->Commit(prepared)).empty());
  EXPECT_EQ(Scan(), before);
  EXPECT_EQ(CheckVectors(), 0);
}

TEST_P(DeletedRows, IndexFilesEndWithTheSnapshotsThatNameThem) {
  const auto on_disk = [&] {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_ / "index")) names.insert(file.path().filename());
    return names;
  };
  const size_t before = on_disk().size();
  auto session = Open();
  ASSERT_TRUE(session->Write(SomeRows(), nullptr).ok());
  Must(CommitRows(session.get(), 1));
  Retention retention;
  retention.snapshot_min = 1;
  retention.snapshot_max = 1;
  Must(Expire(table_, {.retention = retention}));
  std::set<std::string> named;
  const IndexFiles index = Must(IndexFiles::Read(table_, Latest()));
  for (const auto& [bucket, entries] : index.all())
    for (const IndexManifestEntry& entry : entries) named.insert(entry.file_name);
  EXPECT_EQ(on_disk(), named);
  EXPECT_LT(named.size(), before);
  EXPECT_FALSE(named.empty());
}

INSTANTIATE_TEST_SUITE_P(BothWidths, DeletedRows, ::testing::Values("t32", "t64"));

}  // namespace
}  // namespace headrace::testing
