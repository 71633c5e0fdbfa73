// Random rows, compactions, tags, consumers and expiries through write sessions: whatever is retained, snapshot, changelog or tag, reads as it
// did when it was new. A failure prints its seed and step.
#include <random>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/tags.h"
#include "commit/expiry.h"
#include "commit/reachability.h"
#include "read/changes.h"
#include "write/test_rows.h"

namespace headrace::testing {
namespace {

using Changes = std::multiset<std::string>;

Changes ReadChanges(arrow::RecordBatchReader* rows) {
  Changes changes;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (rows != nullptr && rows->ReadNext(&batch).ok() && batch != nullptr) {
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      std::string line;
      for (const auto& column : batch->columns()) line += Must(column->GetScalar(i))->ToString() + " ";
      changes.insert(line);
    }
  }
  return changes;
}

class Retained : public ::testing::Test {
 protected:
  void Play(uint32_t seed, std::map<std::string, std::string> options) {
    options.emplace("bucket", "2");
    made_ = MakeTestTable("id INT, v INT", {"id"}, std::move(options));
    rows_.clear(), changes_.clear(), tags_.clear();
    random_.seed(seed);
    const Table& table = made_.table;
    const auto open = [&] {
      return Must(WriteSession::Open(
          table, {.commit_user = "u" + std::to_string(Draw(1000000)), .budget = &budget_}));
    };
    auto session = open();
    int64_t identifier = 0;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      made_.clock->Advance(60'000);
      const auto latest = Must(FindLatestSnapshotId(table));
      switch (Draw(10)) {
        case 0: ASSERT_TRUE(session->Compact(Draw(2) == 0).ok()); break;
        case 1: session = open(); break;
        case 2:
          if (latest.has_value()) SetTag("t" + std::to_string(step), *latest);
          break;
        case 3:
          if (latest.has_value()) SetConsumer(Draw(2), *latest);
          break;
        case 4: Must(Expire(table, {.retention = table.options.retention, .old_changelogs = true})); break;
        default: ASSERT_TRUE(WriteRows(session.get(), table, DrawRows()).ok());
      }
      // Which expires by itself, too.
      Must(CommitRows(session.get(), ++identifier, Draw(2) == 0));
      ASSERT_TRUE(session->expiry().ok()) << session->expiry();
      Learn();
      if (step % 6 == 5) Check();
      if (HasFailure()) return;
    }
    EXPECT_GT(Must(FindEarliestSnapshotId(table))->value, 1) << "something has ended";
  }

  std::vector<Row> DrawRows() {
    std::vector<Row> rows;
    for (int i = 1 + Draw(6); i > 0; --i)
      rows.push_back({Draw(12), Draw(1000), static_cast<int8_t>(Draw(4) == 0 ? 3 : 0)});
    return rows;
  }

  void SetTag(const std::string& name, SnapshotId id) {
    const Table& table = made_.table;
    auto out = Must(table.store->OpenForWrite(table.path + "/tag/tag-" + name));
    ASSERT_TRUE(out->Write(Must(table.store->ReadAll(SnapshotPath(table, id)))).ok() && out->Close().ok());
    tags_[name] = id;
  }

  void SetConsumer(int number, SnapshotId next) {
    const std::string json = "{\"nextSnapshot\":" + std::to_string(next.value) + "}";
    ASSERT_TRUE(
        made_.table.store->Replace(ConsumerPath(made_.table, "c" + std::to_string(number)), json).ok());
  }

  // What the new snapshots hold and bring, read while they are new.
  void Learn() {
    const Table& table = made_.table;
    for (const SnapshotId id : Must(ListSnapshotIds(table))) {
      if (rows_.contains(id)) continue;
      rows_[id] = Must(ReadByKey(table, Must(ReadSnapshot(table, id))));
      auto stream = Must(ChangeStream::Open(table, {.from = id}));
      changes_[id] = ReadChanges(Must(stream->Next())->rows.get());
    }
  }

  void Check() {
    const Table& table = made_.table;
    for (const SnapshotId id : Must(ListSnapshotIds(table)))
      EXPECT_EQ(Must(ReadByKey(table, Must(ReadSnapshot(table, id)))), rows_.at(id)) << "snapshot " << id;
    for (const NamedTag& tag : Must(ListTags(table)))
      EXPECT_EQ(Must(ReadByKey(table, tag.tag.snapshot)), rows_.at(tags_.at(tag.name))) << "tag " << tag.name;
    const auto first = Must(FindEarliestChangeId(table));
    auto stream = Must(ChangeStream::Open(table, {.from = first.value_or(SnapshotId(1))}));
    while (auto next = Must(stream->Next()))
      EXPECT_EQ(ReadChanges(next->rows.get()), changes_.at(next->snapshot.id))
          << "changes of " << next->snapshot.id;
    for (const Consumer& consumer : Must(ListConsumers(table)))
      EXPECT_TRUE(Must(FindSnapshotOrChangelog(table, consumer.next)).has_value()) << consumer.id;
    const ReachableFiles needed = Must(FindReachable(table, Must(ListAllRoots(table)), ReachDepth::kData));
    for (const std::string& path : needed.data)
      EXPECT_TRUE(Must(table.store->Stat(path)).has_value()) << path;
  }

  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  TestTable made_;
  MemoryBudget budget_{64 << 20};
  std::mt19937 random_;
  std::map<SnapshotId, IntRows> rows_;
  std::map<SnapshotId, Changes> changes_;
  std::map<std::string, SnapshotId> tags_;
};

TEST_F(Retained, ReadsAsItDidWhenItWasNew) {
  const std::map<std::string, std::string> shapes[] = {
      {{"snapshot.num-retained.min", "2"}, {"snapshot.num-retained.max", "3"}},
      {{"snapshot.num-retained.min", "1"},
       {"snapshot.time-retained", "4 min"},
       {"changelog-producer", "input"}},
      {{"snapshot.num-retained.min", "2"},
       {"snapshot.time-retained", "3 min"},
       {"changelog-producer", "input"},
       {"changelog.time-retained", "12 min"}},
      {{"snapshot.num-retained.min", "2"},
       {"snapshot.time-retained", "3 min"},
       {"changelog.time-retained", "12 min"}},
      {{"snapshot.num-retained.min", "2"},
       {"snapshot.num-retained.max", "3"},
       {"changelog.num-retained.max", "8"},
       {"consumer.changelog-only", "true"}},
  };
  for (uint32_t seed = 1; seed <= 3; ++seed)
    for (const auto& shape : shapes) {
      Play(seed, shape);
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace headrace::testing
