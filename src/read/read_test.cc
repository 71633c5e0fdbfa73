// Planning, refusals, expired positions, and what a stream has shown: on tables that Java wrote.
#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "file/json_lines.h"
#include "file/physical_columns.h"
#include "io/local_store.h"
#include "read/changes.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

using testing::HasSubstr;

Table OpenFixture(const std::string& fixture, const std::string& table) {
  return OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<SystemClock>(),
                     std::string(HEADRACE_FIXTURES) + "/" + fixture + "/warehouse/peer.db/" + table,
                     "peer." + table, Access::kRead)
      .ValueOrDie();
}

Snapshot Latest(const Table& table) { return ReadLatestSnapshot(table).ValueOrDie().value(); }

// Rows by their key's JSON text.
using State = std::map<std::string, std::string>;

void ForEachRow(
    arrow::RecordBatchReader* reader, const Table& table,
    const std::function<void(const std::string& key, const std::string& row, int8_t kind)>& visit) {
  const std::vector<DataField> key_fields = table.schema->FieldsOf(table.schema->primary_keys);
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status status = reader->ReadNext(&batch);
    ASSERT_TRUE(status.ok()) << status;
    if (batch == nullptr) return;
    const int columns = static_cast<int>(table.schema->fields.size());
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      const auto one = batch->Slice(row, 1);
      std::vector<std::shared_ptr<arrow::Array>> key_columns;
      for (const DataField& field : key_fields) key_columns.push_back(one->GetColumnByName(field.name));
      std::vector<std::shared_ptr<arrow::Array>> row_columns = one->columns();
      row_columns.resize(static_cast<size_t>(columns));
      std::string key, text;
      ASSERT_TRUE(JsonLines(key_fields)
                      .Append(*arrow::RecordBatch::Make(ToArrowSchema(key_fields), 1, key_columns), &key)
                      .ok());
      ASSERT_TRUE(
          JsonLines(table.schema->fields)
              .Append(*arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 1, row_columns), &text)
              .ok());
      const int8_t kind = batch->num_columns() > columns
                              ? static_cast<const arrow::Int8Array&>(*batch->column(columns)).Value(row)
                              : int8_t{0};
      visit(key, text, kind);
    }
  }
}

// Replaying all changes gives what the stream says it has shown, at every snapshot of every producer.
void CheckReplay(const std::string& fixture, const std::string& name) {
  SCOPED_TRACE(fixture);
  const Table table = OpenFixture(fixture, name);
  auto stream = ChangeStream::Open(table, {.from = SnapshotId(1)}).ValueOrDie();
  State replayed;
  int64_t changes_seen = 0;
  while (true) {
    auto next = stream->Next();
    ASSERT_TRUE(next.ok()) << next.status();
    if (!next->has_value()) break;
    SnapshotChanges& changes = **next;
    if (changes.rows != nullptr) {
      ForEachRow(changes.rows.get(), table, [&](const std::string& key, const std::string& row, int8_t kind) {
        ++changes_seen;
        if (IsRetract(kind)) {
          replayed.erase(key);
        } else {
          replayed[key] = row;
        }
      });
    }
    State shown;
    auto state = OpenStreamVisibleState(table, changes.snapshot, {});
    ASSERT_TRUE(state.ok()) << state.status();
    ForEachRow(state->get(), table, [&](const std::string& key, const std::string& row, int8_t) {
      EXPECT_TRUE(shown.emplace(key, row).second) << "one row a key";
    });
    ASSERT_EQ(shown.size(), replayed.size()) << "snapshot " << changes.snapshot.id;
    ASSERT_TRUE(shown == replayed) << "snapshot " << changes.snapshot.id;
  }
  EXPECT_GT(changes_seen, 0);
}

TEST(ChangeStream, ReplayedItGivesTheStreamVisibleStateForEveryProducer) {
  CheckReplay("changelog-input-random", "events");
  CheckReplay("changelog-lookup-random", "events");
  CheckReplay("changelog-full-compaction-random", "events");
  for (const char* producer : {"none", "input", "lookup", "full-compaction"}) {
    CheckReplay(std::string("customer-8821-") + producer, "customers");
  }
  CheckReplay("dv-pk", "t_lookup");
  CheckReplay("dv-pk-bitmap64", "t_lookup");
}

TEST(ChangeStream, SaysWhenItsPositionHasExpiredAndReadsWhatALongerLivedChangelogKept) {
  const Table expired = OpenFixture("time-travel", "expired");
  auto gone = ChangeStream::Open(expired, {.from = SnapshotId(1)}).ValueOrDie();
  const Status status = gone->Next().status();
  ASSERT_TRUE(IsKind(status, ErrorKind::kSnapshotExpired)) << status;
  EXPECT_THAT(status.message(), HasSubstr("snapshot 1 has expired"));
  EXPECT_EQ(gone->next_snapshot(), SnapshotId(1)) << "a failure does not move on";

  const Table kept = OpenFixture("time-travel", "expired_with_changelog");
  ASSERT_GT(FindEarliestSnapshotId(kept).ValueOrDie().value().value, 1);
  auto stream = ChangeStream::Open(kept, {.from = SnapshotId(ListChangelogIds(kept).ValueOrDie().front())})
                    .ValueOrDie();
  int snapshots = 0;
  while (stream->Next().ValueOrDie().has_value()) ++snapshots;
  EXPECT_GT(snapshots, 1);
  EXPECT_EQ(stream->next_snapshot().value, Latest(kept).id.value + 1);
}

TEST(ExplainMissing, TellsDamageFromExpiry) {
  const Status absent = NotFound("opening x: No such file");
  const Table expired = OpenFixture("time-travel", "expired");
  const Status gone = ExplainMissing(expired, {SnapshotId(1)}, absent);
  EXPECT_TRUE(IsKind(gone, ErrorKind::kSnapshotExpired)) << gone;
  const Status damaged = ExplainMissing(expired, {Latest(expired).id}, absent);
  EXPECT_TRUE(IsKind(damaged, ErrorKind::kCorruption)) << damaged;
  EXPECT_THAT(damaged.message(), HasSubstr("opening x"));
  EXPECT_THAT(damaged.message(), testing::Not(HasSubstr("expiry")));
  const SnapshotId earliest = FindEarliestSnapshotId(expired).ValueOrDie().value();
  ASSERT_LT(earliest, Latest(expired).id);
  const Status perhaps = ExplainMissing(expired, {earliest}, absent);
  EXPECT_TRUE(IsKind(perhaps, ErrorKind::kCorruption)) << perhaps;
  EXPECT_THAT(perhaps.message(), HasSubstr("unless an expiry is ending this snapshot just now"));
  const Status other = IoError("opening x: permission denied");
  EXPECT_EQ(ExplainMissing(expired, {SnapshotId(1)}, other), other);

  const Table kept = OpenFixture("time-travel", "expired_with_changelog");
  const SnapshotId left = ListChangelogIds(kept).ValueOrDie().front();
  EXPECT_TRUE(IsKind(ExplainMissing(kept, {left}, absent), ErrorKind::kSnapshotExpired));
  EXPECT_TRUE(IsKind(ExplainMissing(kept, {left, /*or_changelog=*/true}, absent), ErrorKind::kCorruption));
}

TEST(ChangeStream, WaitsAtTheEndAndRefusesAPositionBeyondIt) {
  const Table table = OpenFixture("customer-8821-none", "customers");
  const SnapshotId next(Latest(table).id.value + 1);
  auto waiting = ChangeStream::Open(table, {.from = next}).ValueOrDie();
  EXPECT_FALSE(waiting->Next().ValueOrDie().has_value());
  EXPECT_EQ(waiting->next_snapshot(), next);
  auto beyond = ChangeStream::Open(table, {.from = SnapshotId(next.value + 1)}).ValueOrDie();
  EXPECT_TRUE(IsKind(beyond->Next().status(), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(ChangeStream::Open(table, {.from = SnapshotId(0)}).status(), ErrorKind::kInvalid));
}

TEST(ChangeStream, SaysThatItPassesOverAnOverwrite) {
  const Table table = OpenFixture("overwrite", "keyed");
  auto stream = ChangeStream::Open(table, {.from = SnapshotId(1)}).ValueOrDie();
  int overwrites = 0;
  while (true) {
    auto next = stream->Next().ValueOrDie();
    if (!next.has_value()) break;
    if (!next->skipped_overwrite) continue;
    EXPECT_EQ(next->rows, nullptr);
    ++overwrites;
  }
  EXPECT_GT(overwrites, 0);
}

TEST(Scan, ReadsTheColumnsAskedForInTheirOrderAndNamesOneThatIsNotThere) {
  const Table table = OpenFixture("customer-8821-input", "customers");
  const Snapshot snapshot = ReadSnapshot(table, SnapshotId(1)).ValueOrDie();
  auto reader = OpenScan(table, snapshot, {.columns = {"plan", "customer_id"}}).ValueOrDie();
  std::shared_ptr<arrow::RecordBatch> batch;
  ASSERT_TRUE(reader->ReadNext(&batch).ok());
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->schema()->field_names(), (std::vector<std::string>{"plan", "customer_id"}));
  EXPECT_TRUE(reader->schema()->Equals(*batch->schema()));
  const Status missing = OpenScan(table, snapshot, {.columns = {"nope"}}).status();
  EXPECT_TRUE(IsKind(missing, ErrorKind::kNotFound));
  EXPECT_THAT(missing.message(), testing::AllOf(HasSubstr("nope"), HasSubstr("customer_id")));
  EXPECT_TRUE(IsKind(OpenScan(table, snapshot, {.columns = {"plan", "plan"}}).status(), ErrorKind::kInvalid));
}

TEST(FindByKey, FindsNothingForAnAbsentKeyAndRefusesAWrongOne) {
  const Table table = OpenFixture("customer-8821-input", "customers");
  const Snapshot first = ReadSnapshot(table, SnapshotId(1)).ValueOrDie();
  EXPECT_NE(FindByKey(table, first, {int64_t{8821}}, {}).ValueOrDie(), nullptr);
  EXPECT_EQ(FindByKey(table, first, {int64_t{1}}, {}).ValueOrDie(), nullptr);
  EXPECT_EQ(FindByKey(table, Latest(table), {int64_t{8821}}, {}).ValueOrDie(), nullptr) << "deleted";
  EXPECT_TRUE(IsKind(FindByKey(table, first, {}, {}).status(), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(FindByKey(table, first, {Value{}}, {}).status(), ErrorKind::kInvalid));
}

// Another engine's schema may say what ours refuses to make: it must not be able to end the program.
TEST(FindByKey, SearchesEveryBucketWhereTheBucketDoesNotFollowFromTheKey) {
  Table table = OpenFixture("customer-8821-none", "customers");
  TableSchema schema = *table.schema;
  schema.options["bucket-key"] = "name";
  table.schema = std::make_shared<const TableSchema>(std::move(schema));
  const Snapshot before_delete = ReadSnapshot(table, SnapshotId(3)).ValueOrDie();
  for (const BucketFunction function : {BucketFunction::kDefault, BucketFunction::kMod}) {
    table.options.bucket_function = function;
    const auto row = FindByKey(table, before_delete, {Value(int64_t{8821})}, {});
    ASSERT_TRUE(row.ok()) << row.status();
    ASSERT_NE(*row, nullptr);
  }
}

TEST(PlanSplits, PutsEveryLiveFileIntoOneSplitAndNeverPartsOverlappingFiles) {
  for (const auto& [fixture, name] : {std::pair{"lsm-many-runs", "t"},
                                      {"lsm-partial", "t"},
                                      {"lsm-compacted", "t"},
                                      {"append-bucketed", "t"},
                                      {"partitioned", "three_levels"}}) {
    SCOPED_TRACE(fixture);
    const Table table = OpenFixture(fixture, name);
    const std::vector<ManifestEntry> live = LiveFiles(table, Latest(table)).ValueOrDie();
    std::vector<std::string> expected, planned;
    for (const ManifestEntry& entry : live) expected.push_back(entry.file.name);
    for (const Split& split : PlanSplits(table, live).ValueOrDie()) {
      for (const TreeFilePtr& file : split.files) planned.push_back(file->meta.name);
      if (!split.raw) continue;
      for (const TreeFilePtr& file : split.files) EXPECT_FALSE(file->may_hold_deletes());
    }
    std::sort(expected.begin(), expected.end());
    std::sort(planned.begin(), planned.end());
    EXPECT_EQ(planned, expected);
  }
}

TEST(PlanSplits, ReadsAFullyCompactedBucketRaw) {
  const Table table = OpenFixture("lsm-compacted", "t");
  for (const Split& split : PlanSplits(table, LiveFiles(table, Latest(table)).ValueOrDie()).ValueOrDie())
    EXPECT_TRUE(split.raw);
}

}  // namespace
}  // namespace headrace
