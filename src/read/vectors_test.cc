// Reading tables with deletion vectors, and tables on which they were switched on or off: on what Java wrote.
#include <algorithm>
#include <map>
#include <set>

#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "file/json_lines.h"
#include "io/local_store.h"
#include "read/changes.h"
#include "read/scan.h"

namespace headrace {
namespace {

using Lines = std::vector<std::string>;

Table OpenFixture(const std::string& fixture, const std::string& table) {
  return OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<SystemClock>(),
                     std::string(HEADRACE_FIXTURES) + "/" + fixture + "/warehouse/peer.db/" + table,
                     "peer." + table, Access::kRead)
      .ValueOrDie();
}

Lines Drain(Result<std::unique_ptr<arrow::RecordBatchReader>> reader, const Table& table) {
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return {};
  std::string text;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status status = (*reader)->ReadNext(&batch);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok() || batch == nullptr) break;
    EXPECT_TRUE(JsonLines(table.schema->fields).Append(*batch, &text).ok());
  }
  Lines lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Lines Sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

Lines Scan(const Table& table, const Snapshot& snapshot, ScanOptions options = {}) {
  return Sorted(Drain(OpenScan(table, snapshot, options), table));
}

std::vector<Snapshot> SnapshotsOf(const Table& table) {
  std::vector<Snapshot> snapshots;
  for (const SnapshotId id : ListSnapshotIds(table).ValueOrDie())
    snapshots.push_back(ReadSnapshot(table, id).ValueOrDie());
  return snapshots;
}

// The table after an ALTER that switches deletion vectors on or off.
Table Switched(Table table, bool on) {
  auto schema = std::make_shared<TableSchema>(*table.schema);
  schema->id = SchemaId(schema->id.value + 1);
  schema->options["deletion-vectors.enabled"] = on ? "true" : "false";
  const SchemaLookup before = table.schema_by_id;
  table.schema = schema;
  table.options.deletion_vectors = on;
  table.schema_by_id = [schema, before](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
    if (id == schema->id) return schema;
    return before(id);
  };
  return table;
}

struct Fixture {
  const char* fixture;
  const char* table;
};
constexpr Fixture kVectorTables[] = {{"dv-pk", "t_none"},
                                     {"dv-pk", "t_lookup"},
                                     {"dv-pk-bitmap64", "t_none"},
                                     {"dv-pk-bitmap64", "t_lookup"}};

TEST(DeletionVectorScan, IsNeverAMergeAboveLevelZero) {
  for (const Fixture& f : kVectorTables) {
    const Table table = OpenFixture(f.fixture, f.table);
    bool any = false;
    for (const Snapshot& snapshot : SnapshotsOf(table)) {
      for (const Split& split : PlanScan(table, snapshot).ValueOrDie()) {
        EXPECT_TRUE(split.raw);
        any |= !split.deletions.empty();
        for (const TreeFilePtr& file : split.files) EXPECT_GT(file->meta.level, Level(0));
      }
    }
    EXPECT_TRUE(any);
  }
}

TEST(DeletionVectorScan, MergesLevelZeroInWhereTheTableSaysSo) {
  for (const Fixture& f : kVectorTables) {
    const Table table = OpenFixture(f.fixture, f.table);
    Table merging = table;
    merging.options.deletion_merge_on_read = true;
    const std::vector<Snapshot> snapshots = SnapshotsOf(table);
    int appends = 0;
    for (size_t i = 0; i + 1 < snapshots.size(); ++i) {
      const bool compacted = snapshots[i].commit_kind == CommitKind::kAppend &&
                             snapshots[i + 1].commit_kind == CommitKind::kCompact;
      if (!compacted) continue;
      ++appends;
      EXPECT_EQ(Scan(merging, snapshots[i]), Scan(table, snapshots[i + 1])) << "snapshot " << snapshots[i].id;
      EXPECT_EQ(Scan(merging, snapshots[i + 1]), Scan(table, snapshots[i + 1]));
      EXPECT_EQ(Scan(table, snapshots[i]), i == 0 ? Lines() : Scan(table, snapshots[i - 1]))
          << "what came new is not shown before a compaction has taken it in";
    }
    EXPECT_GT(appends, 2);
  }
}

TEST(DeletionVectorScan, GivesRowsInKeyOrderWhereAsked) {
  for (const Fixture& f : kVectorTables) {
    const Table table = OpenFixture(f.fixture, f.table);
    const std::vector<DataType> key_types = table.schema->TypesOf(table.schema->TrimmedPrimaryKeys());
    for (const Snapshot& snapshot : SnapshotsOf(table)) {
      EXPECT_EQ(Scan(table, snapshot, {.key_ordered = true}), Scan(table, snapshot));
      for (const Split& split : PlanScan(table, snapshot).ValueOrDie()) {
        auto reader =
            OpenSplit(table, split, {.columns = table.schema->TrimmedPrimaryKeys(), .key_ordered = true})
                .ValueOrDie();
        std::shared_ptr<arrow::RecordBatch> batch;
        Value last;
        while (reader->ReadNext(&batch).ok() && batch != nullptr) {
          for (int64_t row = 0; row < batch->num_rows(); ++row) {
            const Value key = ValueAt(*batch->column(0), row, key_types[0]).ValueOrDie();
            EXPECT_TRUE(IsNull(last) || CompareValues(last, key) <= 0);
            last = key;
          }
        }
      }
    }
  }
}

TEST(DeletionVectorScan, FindsByKeyWhatItShows) {
  for (const Fixture& f : kVectorTables) {
    const Table table = OpenFixture(f.fixture, f.table);
    const std::vector<DataType> key_types = table.schema->TypesOf(table.schema->primary_keys);
    for (const Snapshot& snapshot : SnapshotsOf(table)) {
      std::shared_ptr<arrow::RecordBatch> batch;
      auto reader = OpenScan(table, snapshot, {}).ValueOrDie();
      std::set<std::vector<Value>> keys;
      while (reader->ReadNext(&batch).ok() && batch != nullptr) {
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          std::vector<Value> key;
          for (size_t i = 0; i < key_types.size(); ++i)
            key.push_back(ValueAt(*batch->GetColumnByName(table.schema->primary_keys[i]), row, key_types[i])
                              .ValueOrDie());
          EXPECT_TRUE(keys.insert(key).second) << "one row a key";
          if (row % 17 != 0) continue;
          const auto found = FindByKey(table, snapshot, key, {}).ValueOrDie();
          ASSERT_NE(found, nullptr);
          EXPECT_TRUE(found->Equals(*batch->Slice(row, 1)));
        }
      }
    }
  }
}

TEST(DeletionVectorScan, ReadOptimizedShowsTheDeepestLevelWithoutItsDeletedRows) {
  for (const Fixture& f : kVectorTables) {
    const Table table = OpenFixture(f.fixture, f.table);
    for (const Snapshot& snapshot : SnapshotsOf(table)) {
      const Lines all = Scan(table, snapshot);
      const Lines some = Scan(table, snapshot, {.read_optimized = true});
      EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
      for (const Split& split : PlanScan(table, snapshot, ScanView::kReadOptimized).ValueOrDie()) {
        EXPECT_TRUE(split.raw);
        for (const TreeFilePtr& file : split.files) EXPECT_EQ(file->meta.level, table.options.max_level());
      }
    }
  }
  const Table append = OpenFixture("dv-append", "t32");
  const Snapshot latest = ReadLatestSnapshot(append).ValueOrDie().value();
  EXPECT_EQ(Scan(append, latest, {.read_optimized = true}), Scan(append, latest));
}

// Keys on several levels and in level 0 have no marks from before the switch: what was shown is shown, once.
TEST(SwitchingDeletionVectors, OnShowsEveryKeyOnceAndHidesNone) {
  for (const Fixture& f : {Fixture{"changelog-lookup-random", "events"}, Fixture{"lsm-partial", "t"},
                           Fixture{"lsm-many-runs", "t"}, Fixture{"lsm-compacted", "t"},
                           Fixture{"customer-8821-lookup", "customers"}}) {
    SCOPED_TRACE(f.fixture);
    const Table before = OpenFixture(f.fixture, f.table);
    const Table after = Switched(before, true);
    for (const Snapshot& snapshot : SnapshotsOf(before)) {
      EXPECT_EQ(Scan(after, snapshot), Scan(before, snapshot)) << "snapshot " << snapshot.id;
    }
  }
}

TEST(SwitchingDeletionVectors, OffKeepsWhatTheyMarkHidden) {
  for (const Fixture& f : kVectorTables) {
    const Table before = OpenFixture(f.fixture, f.table);
    const Table after = Switched(before, false);
    for (const Snapshot& snapshot : SnapshotsOf(before)) {
      if (snapshot.commit_kind == CommitKind::kCompact) {
        EXPECT_EQ(Scan(after, snapshot), Scan(before, snapshot)) << "snapshot " << snapshot.id;
      }
      const Table again = Switched(after, true);
      EXPECT_EQ(Scan(again, snapshot), Scan(after, snapshot)) << "and on again";
    }
  }
}

TEST(DeletionVectorScan, TellsTheIndexFileThatIsDamaged) {
  Table table = OpenFixture("dv-pk", "t_none");
  const Snapshot latest = ReadLatestSnapshot(table).ValueOrDie().value();
  std::vector<Split> splits = PlanScan(table, latest).ValueOrDie();
  const auto split =
      std::find_if(splits.begin(), splits.end(), [](const Split& one) { return !one.deletions.empty(); });
  ASSERT_NE(split, splits.end());
  split->deletions[0].deletion_vectors->at(0).length += 1;
  auto reader = OpenSplit(table, *split, {}).ValueOrDie();
  std::shared_ptr<arrow::RecordBatch> batch;
  const Status status = reader->ReadNext(&batch);
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr(split->deletions[0].file_name));
}

}  // namespace
}  // namespace headrace
