// A job's position outlives the snapshots that held it, whoever commits and expires in between.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "commit/expiry.h"
#include "ingest/ingest.h"
#include "ingest/jobs.h"

namespace headrace::ingest {
namespace {

using ::headrace::testing::MakeTestTable;
using ::headrace::testing::Must;
using ::headrace::testing::TestTable;
using ::testing::SizeIs;

class PositionsUnderExpiry : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headrace-expiry-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  IngestReport Ingest(const std::string& lines) {
    std::ofstream(folder_ / "in.jsonl", std::ios::app) << lines;
    IngestOptions options;
    options.inputs = {folder_ / "in.jsonl"};
    options.budget = &budget_;
    options.job = "nightly";
    options.commit_every.rows = 1;
    IngestReport report;
    const Status done = RunIngest(made_.table, options, &report);
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_TRUE(report.notes.empty()) << report.notes.front();
    return report;
  }

  // As Java commits: no properties are carried on.
  void CommitAsJava(int count) {
    for (int i = 0; i < count; ++i) {
      Snapshot snapshot = *Must(ReadLatestSnapshot(made_.table));
      ++snapshot.id.value;
      snapshot.properties.clear();
      snapshot.commit_user = "java";
      Must(made_.table.store->PublishIfAbsent(SnapshotPath(made_.table, snapshot.id),
                                              SerializeSnapshot(snapshot)));
      ASSERT_TRUE(WriteLatestSnapshotHint(made_.table, snapshot.id).ok());
    }
  }

  std::filesystem::path folder_;
  MemoryBudget budget_{64 << 20};
  TestTable made_ = MakeTestTable(
      "id BIGINT NOT NULL, v STRING", {"id"},
      {{"bucket", "1"}, {"snapshot.num-retained.min", "1"}, {"snapshot.num-retained.max", "1"}});
};

TEST_F(PositionsUnderExpiry, ARunResumesFromTheOneSnapshotThatIsLeft) {
  Ingest("{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n{\"id\":3,\"v\":\"c\"}\n");
  // The consumer of a job under way holds the snapshot before; the run's end lets go of it.
  Must(Expire(made_.table, {.retention = made_.table.options.retention}));
  EXPECT_THAT(Must(ListSnapshotIds(made_.table)), SizeIs(1));
  const IngestReport more = Ingest("{\"id\":4,\"v\":\"d\"}\n");
  EXPECT_TRUE(more.resumed);
  EXPECT_EQ(more.job_lines, 4);
  EXPECT_EQ(more.rows, 1) << "the first three are not ingested again";
}

TEST_F(PositionsUnderExpiry, ItStaysBehindCommitsOfJava) {
  const IngestReport first = Ingest("{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n");
  CommitAsJava(5);
  Must(Expire(made_.table, {.retention = made_.table.options.retention}));
  EXPECT_EQ(Must(FindEarliestSnapshotId(made_.table))->value, *first.last_snapshot);
  ASSERT_TRUE(Must(FindPosition(made_.table, "nightly")).has_value());
  const IngestReport more = Ingest("{\"id\":3,\"v\":\"c\"}\n");
  EXPECT_TRUE(more.resumed);
  EXPECT_EQ(more.job_lines, 3);
  Must(Expire(made_.table, {.retention = made_.table.options.retention}));
  EXPECT_THAT(Must(ListSnapshotIds(made_.table)), SizeIs(1)) << "the newer one carries it on";
  EXPECT_THAT(Must(ListJobs(made_.table)), SizeIs(1));
}

}  // namespace
}  // namespace headrace::ingest
