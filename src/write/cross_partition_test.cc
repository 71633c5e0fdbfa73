#include "write/cross_partition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "read/scan.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using testing::CommitRows;
using testing::DrawRows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::ScanById;
using testing::WriteRows;

// The key is "id", the partition is "v": an update of a row moves it.
class CrossPartition : public testing::SessionCase {
 protected:
  static Table Make(std::map<std::string, std::string> options = {}) {
    options.emplace("bucket", "-1");
    return MakeTestTable("id INT, v INT", {"id"}, std::move(options), {"v"}).table;
  }
};

TEST_F(CrossPartition, AKeyThatMovesIsDeletedWhereItWas) {
  const Table table = Make();
  auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10}, {2, 10}, {1, 11}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 11}, {2, 10}}));
  // The next process reads where the keys are.
  session = Open(table, "next");
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 12}, {3, 12}, {1, 10}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 10}, {2, 12}, {3, 12}}));
  ASSERT_TRUE(WriteRows(session.get(), table, {{2, 12, 3}, {3, 13, 1}, {3, 13, 2}}).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 10}, {3, 13}}));
}

TEST_F(CrossPartition, OfTwoWritersTheLaterFailsByName) {
  const Table table = Make();
  const auto one = Open(table, "one");
  auto two = Open(table, "two");
  ASSERT_TRUE(WriteRows(one.get(), table, {{1, 1}}).ok());
  ASSERT_TRUE(WriteRows(two.get(), table, {{1, 2}}).ok());
  Must(CommitRows(one.get(), 1));
  const Status failed = CommitRows(two.get(), 1).status();
  EXPECT_TRUE(IsKind(failed, ErrorKind::kCommitConflict)) << failed.message();
  EXPECT_THAT(failed.message(), HasSubstr("one writing job at a time"));
  two = Open(table, "two");
  ASSERT_TRUE(WriteRows(two.get(), table, {{1, 2}}).ok());
  Must(CommitRows(two.get(), 1));
  // The first has not written since: it reads the keys again.
  ASSERT_TRUE(WriteRows(one.get(), table, {{1, 3}, {2, 3}}).ok());
  Must(CommitRows(one.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 3}, {2, 3}}));
}

TEST_F(CrossPartition, ACompactionBesideTheWriterIsNoWriter) {
  const Table table = Make();
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}, {2, 1}}).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 2}}).ok());
  const auto compactor = Open(table, "compactor");
  ASSERT_TRUE(compactor->Compact(true).ok());
  Must(CommitRows(compactor.get(), 1));
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 2}, {2, 1}}));
}

TEST_F(CrossPartition, ACommitThatIsNotMadeIsNotBuiltUpon) {
  const Table table = Make();
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 0}}).ok());
  Must(CommitRows(session.get(), 1));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 1}}).ok());
  const PreparedCommit first = Must(session->PrepareCommit(2, true));
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 2}}).ok());
  const Status refused = session->PrepareCommit(3, true).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("commit that one first"));
  Must(session->Commit(first));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 1}}));
  Must(CommitRows(session.get(), 3));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 2}}));
}

TEST_F(CrossPartition, AnIndexThatDoesNotFitTheBudgetIsToldByName) {
  const Table table = Make();
  MemoryBudget small(3 << 20);
  const auto session = Must(WriteSession::Open(
      table, {.commit_user = "u", .budget = &small, .compactors = nullptr, .pool = nullptr}));
  Status status;
  for (int32_t from = 0; status.ok() && from < 200000; from += 5000) {
    std::vector<Row> rows;
    for (int32_t id = from; id < from + 5000; ++id) rows.push_back({id, 1});
    status = WriteRows(session.get(), table, rows);
  }
  EXPECT_TRUE(IsKind(status, ErrorKind::kOverBudget)) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(" so far; it is in memory whole, within --memory"));
  EXPECT_THAT(status.message(), HasSubstr("give a larger memory budget"));
}

TEST_F(CrossPartition, RandomWritesWithRestartsAreAMap) {
  const uint64_t seed = 99;
  SCOPED_TRACE(seed);
  Random random(seed);
  const Table table =
      Make({{"dynamic-bucket.target-row-num", "7"}, {"num-sorted-run.compaction-trigger", "3"}});
  auto session = Open(table);
  IntRows model;
  for (int32_t commit = 1; commit <= 40; ++commit) {
    if (random.OneIn(4)) session = Open(table);
    const std::vector<Row> rows = DrawRows(
        &random, 25, 100, 5, [&] { return static_cast<int32_t>(random.Below(4)); }, &model);
    ASSERT_TRUE(WriteRows(session.get(), table, rows).ok());
    Must(CommitRows(session.get(), commit));
    ASSERT_EQ(ScanById(table), model) << "commit " << commit;
  }
}

TEST_F(CrossPartition, GoesWithNoOptionThatWouldUndoAMove) {
  NewTable table;
  table.fields = Must(ParseColumns("id INT, v INT"));
  table.primary_keys = {"id"};
  table.partition_keys = {"v"};
  table.options = {{"bucket", "-1"}, {"ignore-delete", "true"}};
  const Status refused = MakeTableSchema(table, 1).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("ignore-delete"));
  table.options = {{"bucket", "-1"}, {"sequence.field", "v"}};
  EXPECT_THAT(MakeTableSchema(table, 1).status().message(), HasSubstr("sequence.field"));
  table.options = {{"bucket", "2"}};
  EXPECT_THAT(MakeTableSchema(table, 1).status().message(), HasSubstr("only 'bucket' = '-1' is possible"));
}

TEST_F(CrossPartition, AnIgnoredDeleteGivesItsKeyNoPlace) {
  const Table table = Make({{"merge-engine", "first-row"}, {"ignore-delete", "true"}});
  const auto session = Open(table);
  ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10, 3}, {1, 11}, {1, 12}, {1, 11, 3}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(table), (IntRows{{1, 11}}));
}

// Of a table "id INT, p INT, a INT, b INT" whose keys stay where their first row has put them.
struct WideRow {
  int32_t id = 0;
  int32_t p = 0;
  std::optional<int32_t> a;
  std::optional<int32_t> b;
  int8_t kind = 0;
};

// Engines that merge a row into the partition where its key lies, whatever partition the row names. Each against a map.
struct Engine {
  std::string name;
  std::map<std::string, std::string> options;
  std::function<std::optional<int32_t>(std::optional<int32_t> a, const WideRow& row)> a;
  std::function<std::optional<int32_t>(std::optional<int32_t> b, const WideRow& row)> b;
  bool deletes_remove = true;
};

class MergingCrossPartition : public testing::SessionCase, public ::testing::WithParamInterface<Engine> {
 protected:
  using Shown = std::map<int32_t, std::vector<std::optional<int32_t>>>;  // id to p, a, b
  struct Entry {
    int32_t place = 0;
    std::optional<int32_t> a, b;
    bool live = false;
  };
  using Model = std::map<int32_t, Entry>;

  static Table Make() {
    std::map<std::string, std::string> options = GetParam().options;
    options.insert({{"bucket", "-1"},
                    {"dynamic-bucket.target-row-num", "7"},
                    {"num-sorted-run.compaction-trigger", "3"}});
    return MakeTestTable("id INT, p INT, a INT, b INT", {"id"}, std::move(options), {"p"}).table;
  }

  static Status Write(WriteSession* session, const Table& table, const std::vector<WideRow>& rows) {
    arrow::Int32Builder columns[4];
    arrow::Int8Builder kinds;
    for (const WideRow& row : rows) {
      HEADRACE_RETURN_NOT_OK(columns[0].Append(row.id));
      HEADRACE_RETURN_NOT_OK(columns[1].Append(row.p));
      HEADRACE_RETURN_NOT_OK(row.a ? columns[2].Append(*row.a) : columns[2].AppendNull());
      HEADRACE_RETURN_NOT_OK(row.b ? columns[3].Append(*row.b) : columns[3].AppendNull());
      HEADRACE_RETURN_NOT_OK(kinds.Append(row.kind));
    }
    arrow::ArrayVector arrays;
    for (arrow::Int32Builder& column : columns) arrays.push_back(Must(column.Finish()));
    return session->Write(arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields),
                                                   static_cast<int64_t>(rows.size()), std::move(arrays)),
                          Must(kinds.Finish()));
  }

  static Shown Scan(const Table& table) {
    Shown shown;
    const auto latest = Must(ReadLatestSnapshot(table));
    if (!latest.has_value()) return shown;
    const auto reader = Must(OpenScan(table, *latest, {}));
    std::shared_ptr<arrow::RecordBatch> batch;
    while (reader->ReadNext(&batch).ok() && batch != nullptr) {
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        std::vector<std::optional<int32_t>> row;
        for (int c = 0; c < 4; ++c) {
          const auto& column = static_cast<const arrow::Int32Array&>(*batch->column(c));
          row.push_back(column.IsNull(i) ? std::nullopt : std::optional(column.Value(i)));
        }
        const int32_t id = *row.front();
        row.erase(row.begin());
        EXPECT_TRUE(shown.emplace(id, row).second) << "key " << id << " is there twice";
      }
    }
    return shown;
  }

  static Shown Show(const Model& model) {
    Shown shown;
    for (const auto& [id, entry] : model)
      if (entry.live) shown[id] = {entry.place, entry.a, entry.b};
    return shown;
  }

  // What a new writer finds: it does not know of keys without a row.
  static void Reopen(Model* model) {
    std::erase_if(*model, [](const auto& entry) { return !entry.second.live; });
  }

  static void Take(const WideRow& row, Model* model) {
    Entry& entry = model->try_emplace(row.id, Entry{row.p, {}, {}, false}).first->second;
    if (row.kind == 3 && GetParam().deletes_remove) {
      entry = {entry.place, {}, {}, false};
      return;
    }
    entry = {entry.place, GetParam().a(entry.a, row), GetParam().b(entry.b, row), true};
  }

  // Rows of one commit, all deletes or none: a delete and what is added after it, merged in one buffer, are an add.
  static std::vector<WideRow> Draw(Random* random, const Model& model) {
    const bool taking_back = random->OneIn(3);
    std::vector<WideRow> rows;
    for (uint64_t i = random->Below(20); i > 0; --i) {
      const auto any = [&] { return static_cast<int32_t>(random->Below(5)); };
      WideRow row = {static_cast<int32_t>(random->Below(50)), any(), any(), any(), 0};
      if (random->OneIn(4)) row.a.reset();
      if (random->OneIn(4)) row.b.reset();
      const auto known = model.find(row.id);
      if (taking_back && (known == model.end() || !known->second.live)) continue;
      if (taking_back) row.kind = 3;
      rows.push_back(row);
    }
    return rows;
  }
};

TEST_P(MergingCrossPartition, RandomWritesWithRestartsAndLostCommitsAreAMap) {
  const uint64_t seed = 1723;
  SCOPED_TRACE(seed);
  Random random(seed);
  const Table table = Make();
  auto session = Open(table);
  Model model;
  for (int32_t commit = 1; commit <= 40; ++commit) {
    if (random.OneIn(4)) {
      session = Open(table);
      Reopen(&model);
    }
    const std::vector<WideRow> rows = Draw(&random, model);
    ASSERT_TRUE(Write(session.get(), table, rows).ok());
    if (random.OneIn(5)) {  // lost before its commit, and written again by who follows
      if (random.OneIn(2)) Must(session->PrepareCommit(commit, /*wait=*/true));
      session = Open(table);
      Reopen(&model);
      ASSERT_TRUE(Write(session.get(), table, rows).ok());
    }
    for (const WideRow& row : rows) Take(row, &model);
    Must(CommitRows(session.get(), commit));
    ASSERT_EQ(Scan(table), Show(model)) << "commit " << commit;
    if (random.OneIn(6)) {
      const auto compactor = Open(table, "compactor");
      ASSERT_TRUE(compactor->Compact(true).ok());
      Must(CommitRows(compactor.get(), commit));
      ASSERT_EQ(Scan(table), Show(model)) << "compacted after commit " << commit;
      session = Open(table);  // the compaction of the one before would lose, and be made with a later commit
      Reopen(&model);
    }
  }
}

using Number = std::optional<int32_t>;
Number Sum(Number sum, const WideRow& row) {
  if (!row.a) return sum;
  return sum.value_or(0) + (row.kind == 3 ? -*row.a : *row.a);
}
Number Largest(Number largest, const WideRow& row) {
  return row.kind == 3 || !row.b ? largest : std::max(largest, row.b);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, MergingCrossPartition,
    ::testing::Values(Engine{"partial_update",
                             {{"merge-engine", "partial-update"},
                              {"partial-update.remove-record-on-delete", "true"}},
                             [](Number a, const WideRow& row) { return row.a ? row.a : a; },
                             [](Number b, const WideRow& row) { return row.b ? row.b : b; }},
                      Engine{"aggregation",
                             {{"merge-engine", "aggregation"},
                              {"aggregation.remove-record-on-delete", "true"},
                              {"fields.a.aggregate-function", "sum"},
                              {"fields.b.aggregate-function", "max"}},
                             Sum,
                             Largest},
                      // The default function is none of the partition's column: all its rows have one value.
                      Engine{"aggregation_that_takes_back",
                             {{"merge-engine", "aggregation"},
                              {"fields.default-aggregate-function", "sum"},
                              {"fields.b.aggregate-function", "max"},
                              {"fields.b.ignore-retract", "true"}},
                             Sum,
                             Largest,
                             /*deletes_remove=*/false},
                      Engine{"aggregation_with_lookups_and_deletion_vectors",
                             {{"merge-engine", "aggregation"},
                              {"aggregation.remove-record-on-delete", "true"},
                              {"changelog-producer", "lookup"},
                              {"deletion-vectors.enabled", "true"},
                              {"fields.a.aggregate-function", "sum"},
                              {"fields.b.aggregate-function", "max"}},
                             Sum,
                             Largest}),
    [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace headrace
