// Several readers share the splits of a table between them: each row reaches one of them, and all rows of a key the same one.
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read/scan.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::ScanById;
using testing::WriteRows;

class ParallelReaders : public testing::SessionCase,
                        public ::testing::WithParamInterface<std::map<std::string, std::string>> {};

IntRows ReadSplit(const Table& table, const Split& split) {
  IntRows rows;
  const auto reader = Must(OpenSplit(table, split, {}));
  for (std::shared_ptr<arrow::RecordBatch> batch; reader->ReadNext(&batch).ok() && batch != nullptr;) {
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      EXPECT_TRUE(rows.emplace(ids.Value(i), values.Value(i)).second)
          << "twice in one split: " << ids.Value(i);
  }
  return rows;
}

// Rows, two more commits, no compaction yet; then with it. Two readers take the splits in turn.
TEST_P(ParallelReaders, EachRowReachesOneOfThemOnce) {
  std::map<std::string, std::string> options = GetParam();
  options.insert({{"bucket", "3"},
                  {"write-only", "true"},
                  {"source.split.target-size", "1 kb"},
                  {"source.split.open-file-cost", "1 b"}});
  Table table = MakeTestTable("id INT, v INT", {"id"}, options).table;
  auto session = Open(table);
  IntRows model;
  for (int32_t commit = 1; commit <= 3; ++commit) {
    std::vector<Row> rows;
    for (int32_t id = commit % 2; id < 90; id += commit) {
      rows.push_back({id, commit, 0});
      model[id] = commit;
    }
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), commit));
  }
  for (const bool compacted : {false, true}) {
    SCOPED_TRACE(compacted ? "compacted" : "three commits in level 0");
    if (compacted) {
      table.options.write_only = false;
      session = Open(table, "compactor");
      ASSERT_TRUE(session->Compact(true).ok());
      Must(CommitRows(session.get(), 1));
    } else if (table.options.scans_skip_level_zero()) {
      continue;
    }
    const auto splits = Must(PlanScan(table, *Must(ReadLatestSnapshot(table))));
    ASSERT_GE(splits.size(), 2u);
    IntRows of_reader[2];
    for (size_t i = 0; i < splits.size(); ++i)
      for (const auto& [id, v] : ReadSplit(table, splits[i])) {
        EXPECT_FALSE(of_reader[0].contains(id) || of_reader[1].contains(id)) << "twice: " << id;
        of_reader[i % 2].emplace(id, v);
      }
    EXPECT_FALSE(of_reader[0].empty() || of_reader[1].empty());
    IntRows all = of_reader[0];
    all.insert(of_reader[1].begin(), of_reader[1].end());
    EXPECT_EQ(all, model);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, ParallelReaders,
    ::testing::Values(std::map<std::string, std::string>{},
                      std::map<std::string, std::string>{{"changelog-producer", "input"}},
                      std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"}},
                      std::map<std::string, std::string>{{"changelog-producer", "lookup"}}));

}  // namespace
}  // namespace headrace
