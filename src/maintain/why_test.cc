// Why a key has its row: the sentences, and the winner against a look-up by key over random trees.
#include "maintain/why.h"

#include <optional>
#include <random>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "read/scan.h"
#include "write/session.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using testing::MakeTestTable;
using testing::Must;

struct Row {
  int32_t id = 0;
  std::optional<int32_t> v;
  int8_t kind = 0;
};

class Writer {
 public:
  explicit Writer(const Table& table) : table_(table) {
    SessionOptions options;
    options.commit_user = "u";
    options.budget = &budget_;
    session_ = Must(WriteSession::Open(table, std::move(options)));
  }

  void Commit(const std::vector<Row>& rows, bool compact = false, bool full = false) {
    arrow::Int32Builder ids, values;
    arrow::Int8Builder kinds;
    for (const Row& row : rows) {
      Expect(ids.Append(row.id));
      Expect(row.v ? values.Append(*row.v) : values.AppendNull());
      Expect(kinds.Append(row.kind));
    }
    const auto batch =
        arrow::RecordBatch::Make(ToArrowSchema(table_.schema->fields), static_cast<int64_t>(rows.size()),
                                 {Must(ids.Finish()), Must(values.Finish())});
    Expect(session_->Write(batch, Must(kinds.Finish())));
    if (compact) Expect(session_->Compact(full));
    Must(session_->Commit(Must(session_->PrepareCommit(++identifier_, true))));
  }

 private:
  static void Expect(const Status& status) { ASSERT_TRUE(status.ok()) << status; }

  Table table_;
  MemoryBudget budget_{64 << 20};
  std::unique_ptr<WriteSession> session_;
  int64_t identifier_ = 0;
};

KeyHistory Why(const Table& table, int32_t id) {
  return Must(ExplainKey(table, *Must(ReadLatestSnapshot(table)), {{"id", Value(id)}}, nullptr));
}

TEST(Why, NamesTheLargerSequenceNumber) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  Writer writer(table);
  writer.Commit({{1, 10, 0}, {5, 1, 0}});
  writer.Commit({{1, 20, 2}, {4, 1, 0}});
  writer.Commit({{7, 1, 0}});
  const KeyHistory history = Why(table, 1);
  ASSERT_EQ(history.versions.size(), 2u);
  EXPECT_EQ(history.winner, 0u);
  EXPECT_EQ(history.versions[0].row_kind, "+U");
  EXPECT_EQ(history.versions[0].sequence, 2);
  EXPECT_THAT(history.versions[0].verdict, HasSubstr("wins: larger sequence number (2 over 0)"));
  EXPECT_THAT(history.versions[1].verdict,
              HasSubstr("loses: the newest has the larger sequence number (2 over 0)"));
  EXPECT_THAT(history.conclusion, HasSubstr(history.versions[0].file));
  ASSERT_EQ(history.skipped.size(), 1u);
  EXPECT_EQ(history.skipped[0].reason, "keys 7");
}

TEST(Why, NamesTheSequenceField) {
  const Table table =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"sequence.field", "v"}}).table;
  Writer writer(table);
  writer.Commit({{1, 20, 0}});
  writer.Commit({{1, 10, 0}});
  const KeyHistory history = Why(table, 1);
  ASSERT_EQ(history.versions.size(), 2u);
  EXPECT_THAT(history.versions[0].verdict, HasSubstr("larger sequence.field v (20 over 10)"));
  EXPECT_THAT(history.versions[0].sequence_fields, ::testing::ElementsAre(::testing::Pair("v", "20")));
  EXPECT_EQ(history.versions[0].sequence, 0);
}

TEST(Why, SaysThatTheNewestIsADelete) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  Writer writer(table);
  writer.Commit({{1, 10, 0}});
  writer.Commit({{1, 10, 3}});
  const KeyHistory history = Why(table, 1);
  EXPECT_EQ(history.winner, std::nullopt);
  EXPECT_EQ(history.conclusion, "the newest version is a delete: no row");
  EXPECT_EQ(Why(table, 9).conclusion, "no live file holds the key: no row");
}

TEST(Why, PassesOverDeletesThatAreIgnored) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  Writer writer(table);
  writer.Commit({{1, 10, 0}});
  writer.Commit({{1, 10, 3}});
  Table ignoring = table;
  ignoring.options.ignore_delete = true;
  const KeyHistory history = Why(ignoring, 1);
  ASSERT_EQ(history.versions.size(), 2u);
  EXPECT_EQ(history.winner, 0u);
  EXPECT_THAT(history.versions[0].verdict, HasSubstr("the only version"));
  EXPECT_EQ(history.versions[1].verdict, "passed over: ignore-delete is set");
}

TEST(Why, RefusesWhatHasNoVersionsAndNamesTheKey) {
  const Table append = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}}).table;
  const Status status = CheckExplainable(append, {{"id", Value(1)}});
  EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid));
  EXPECT_THAT(status.message(), HasSubstr("no primary key"));
  const Table keyed = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  EXPECT_THAT(CheckExplainable(keyed, {}).message(), HasSubstr("id=… is missing"));
  EXPECT_THAT(CheckExplainable(keyed, {{"id", Value(1)}, {"v", Value(1)}}).message(),
              HasSubstr("v is neither"));
  EXPECT_THAT(CheckExplainable(keyed, {{"id", Value(1)}, {"id", Value(1)}}).message(), HasSubstr("twice"));
  EXPECT_THAT(CheckExplainable(keyed, {{"id", Value()}}).message(), HasSubstr("cannot be null"));
}

// The row of the winner is the row a look-up gives, whatever the tree looks like.
TEST(Why, NamesTheRowThatALookUpGivesInRandomTrees) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<uint32_t>(n)); };
    std::map<std::string, std::string> options = {{"bucket", std::to_string(1 + below(3))}};
    if (seed % 3 == 0) options["sequence.field"] = "v";
    if (seed % 4 == 0) options["ignore-delete"] = "true";
    const Table table = MakeTestTable("id INT, v INT", {"id"}, options).table;
    Writer writer(table);
    const int commits = 3 + below(8);
    for (int i = 0; i < commits; ++i) {
      std::vector<Row> rows;
      for (int n = 1 + below(12); n > 0; --n)
        rows.push_back({below(20), below(4) == 0 ? std::nullopt : std::optional(below(50)),
                        static_cast<int8_t>(below(4))});
      writer.Commit(rows, below(4) == 0, below(3) == 0);
    }
    const Snapshot latest = *Must(ReadLatestSnapshot(table));
    for (int32_t id = 0; id < 22; ++id) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", key " + std::to_string(id));
      const KeyHistory history = Why(table, id);
      const auto row = Must(FindByKey(table, latest, {Value(id)}, {}));
      ASSERT_EQ(row != nullptr, history.winner.has_value()) << history.conclusion;
      const bool same = row == nullptr || row->Equals(*history.versions[*history.winner].row);
      EXPECT_TRUE(same) << history.conclusion;
    }
  }
}

}  // namespace
}  // namespace headrace
