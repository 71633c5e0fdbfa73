// Law: a table read at any snapshot equals a map that was given the same rows, whatever was flushed, compacted, restarted or lost in races.
//
// Random batches by one or two sessions over random options; after each commit the scan of the newest snapshot, at the end the scan of
// every snapshot, point gets, and with changelog-producer=input the changes, which must be the rows as they were written.
#include <cstdlib>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <gtest/gtest.h>

#include "base/random.h"
#include "read/changes.h"
#include "read/scan.h"
#include "write/test_rows.h"

namespace headrace {
namespace {

using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Row;
using testing::WriteRows;

uint64_t EnvironmentOr(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

IntRows Scan(const Table& table, const Snapshot& snapshot, bool key_ordered = false) {
  ScanOptions options;
  options.key_ordered = key_ordered;
  const auto reader = Must(OpenScan(table, snapshot, options));
  IntRows rows;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status read = reader->ReadNext(&batch);
    EXPECT_TRUE(read.ok()) << read;
    if (!read.ok() || batch == nullptr) return rows;
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      EXPECT_TRUE(rows.emplace(ids.Value(i), values.IsNull(i) ? std::nullopt : std::optional(values.Value(i)))
                      .second);
  }
}

// id, v, kind of each change, by id, in the order delivered.
using Changes = std::map<int32_t, std::vector<std::pair<std::optional<int32_t>, int8_t>>>;

Changes ReadChanges(const Table& table) {
  const auto stream = Must(ChangeStream::Open(table, {}));
  Changes changes;
  while (auto next = Must(stream->Next())) {
    if (next->rows == nullptr) continue;
    std::shared_ptr<arrow::RecordBatch> batch;
    while (next->rows->ReadNext(&batch).ok() && batch != nullptr) {
      const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
      const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
      const auto& kinds = static_cast<const arrow::Int8Array&>(*batch->column(2));
      for (int64_t i = 0; i < batch->num_rows(); ++i)
        changes[ids.Value(i)].emplace_back(values.IsNull(i) ? std::nullopt : std::optional(values.Value(i)),
                                           kinds.Value(i));
    }
  }
  return changes;
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed), compactors_(static_cast<int>(random_.Below(3))) {
    std::map<std::string, std::string> options = {
        {"bucket", std::to_string(random_.Between(1, 3))},
        {"commit.min-retry-wait", "1 ms"},
        {"num-sorted-run.compaction-trigger", std::to_string(random_.Between(2, 6))},
        {"manifest.merge-min-count", std::to_string(random_.Between(2, 30))}};
    if (random_.OneIn(2)) options["changelog-producer"] = "input";
    if (random_.OneIn(3)) options["sequence.field"] = "v";
    if (random_.OneIn(3)) options["target-file-size"] = "4 kb";
    if (random_.OneIn(3)) options["write-buffer-size"] = "8 kb";
    if (random_.OneIn(4)) options["manifest.full-compaction-threshold-size"] = "8 kb";
    if (random_.OneIn(4)) options["full-compaction.delta-commits"] = "4";
    if (random_.OneIn(5)) options["write-only"] = "true";
    if (random_.OneIn(5)) options["data-file.thin-mode"] = "true";
    table_ = MakeTestTable("id INT, v INT", {"id"}, options).table;
    for (const auto& [key, value] : options) described_ += " " + key + "=" + value;
    keys_ = random_.Between(5, 400);
  }

  const std::string& described() const { return described_; }

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) Step();
    CheckAtTheEnd();
  }

 private:
  // Two writers at most: what the one commits, the other has not seen.
  struct Writer {
    std::unique_ptr<WriteSession> session;
    std::vector<Row> uncommitted;
    int64_t identifier = 0;
    int number = 0;
  };

  Writer& AnyWriter() {
    // A late row after a dropped delete is an exception of its own, below: with a sequence field there is one writer.
    const bool second = table_.options.sequence_fields.empty() && random_.OneIn(3);
    Writer& writer = writers_[second ? 1 : 0];
    if (writer.session == nullptr) {
      writer.number = ++opened_;
      writer.identifier = 0;
      writer.session =
          Must(WriteSession::Open(table_, {.commit_user = "writer-" + std::to_string(writer.number),
                                           .budget = &budget_,
                                           .compactors = random_.OneIn(2) ? &compactors_ : nullptr,
                                           .pool = nullptr}));
    }
    return writer;
  }

  void Step() {
    Writer& writer = AnyWriter();
    const uint64_t choice = random_.Below(10);
    if (choice < 5) {
      WriteSome(&writer);
    } else if (choice < 8) {
      CommitOf(&writer);
    } else if (choice < 9) {
      ASSERT_TRUE(writer.session->Compact(random_.OneIn(2)).ok());
    } else {  // the process ends, what it had not committed is gone
      writer.session.reset();
      writer.uncommitted.clear();
    }
  }

  void WriteSome(Writer* writer) {
    std::vector<Row> rows;
    for (int64_t n = random_.Between(1, 60); n > 0; --n) {
      Row row{static_cast<int32_t>(random_.Below(static_cast<uint64_t>(keys_))), ++value_, 0};
      if (random_.OneIn(5)) row.kind = 3;
      if (random_.OneIn(9)) row.kind = 2;
      rows.push_back(row);
    }
    ASSERT_TRUE(WriteRows(writer->session.get(), table_, rows).ok());
    writer->uncommitted.insert(writer->uncommitted.end(), rows.begin(), rows.end());
  }

  void CommitOf(Writer* writer) {
    const PreparedCommit prepared =
        Must(writer->session->PrepareCommit(++writer->identifier, random_.OneIn(2)));
    const std::vector<Row> rows = std::exchange(writer->uncommitted, {});
    if (random_.OneIn(4)) WriteSome(writer);  // between preparing and committing
    const auto made = writer->session->Commit(prepared);
    ASSERT_TRUE(made.ok()) << made.status();
    const bool by_value = !table_.options.sequence_fields.empty();
    for (const Row& row : rows) {
      written_[row.id].emplace_back(row.v, row.kind);
      // With a sequence field the larger value stays, also when a smaller one is committed later.
      auto& newest = newest_[row.id];
      if (!by_value || !newest.has_value() || *newest->v <= *row.v) newest = row;
    }
    IntRows state;
    for (const auto& [id, row] : newest_)
      if (row->kind != 3) state[id] = row->v;
    for (const Snapshot& snapshot : *made) states_[snapshot.id.value] = state;
    if (!made->empty()) {
      EXPECT_EQ(Scan(table_, made->back(), random_.OneIn(2)), state);
    }
  }

  void CheckAtTheEnd() {
    for (Writer& writer : writers_) writer.session.reset();
    for (const auto& [id, state] : states_)
      EXPECT_EQ(Scan(table_, Must(ReadSnapshot(table_, SnapshotId(id)))), state) << "snapshot " << id;
    EXPECT_TRUE(testing::UnreferencedFiles(table_).empty());
    if (states_.empty()) return;
    const Snapshot latest = *Must(ReadLatestSnapshot(table_));
    for (int32_t id = 0; id < keys_; ++id) {
      const auto found = Must(FindByKey(table_, latest, {Value(id)}, {}));
      const auto expected = states_.rbegin()->second.find(id);
      if (expected == states_.rbegin()->second.end()) {
        EXPECT_EQ(found, nullptr) << "key " << id;
        continue;
      }
      ASSERT_NE(found, nullptr) << "key " << id;
      EXPECT_EQ(static_cast<const arrow::Int32Array&>(*found->column(1)).Value(0), expected->second);
    }
    if (table_.options.changelog_producer == ChangelogProducer::kInput) {
      EXPECT_EQ(ReadChanges(table_), written_);
    }
  }

  Random random_;
  TaskGroup compactors_;
  MemoryBudget budget_{8 << 20};
  Table table_;
  std::string described_;
  int64_t keys_ = 0;
  int32_t value_ = 0;
  int opened_ = 0;
  Writer writers_[2];
  std::map<int32_t, std::optional<Row>> newest_;
  Changes written_;
  std::map<int64_t, IntRows> states_;
};

TEST(AnyHistory, ReadsAsTheMapThatWasGivenTheSameRows) {
  const uint64_t first = EnvironmentOr("HEADRACE_SEED", 1), rounds = EnvironmentOr("HEADRACE_ROUNDS", 5);
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Model model(seed);
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed) + " options" + model.described());
    std::cout << "seed " << seed << model.described() << std::endl;
    model.Run(60);
  }
}

// Exception: with a sequence field a row that comes late, after a delete with a larger value was compacted away, lives again. It is so in
// Java too; without the compaction the delete wins.
TEST(Exceptions, ALateRowAfterADroppedDeleteComesBack) {
  for (const bool compacted : {false, true}) {
    const Table table =
        MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"sequence.field", "v"}}).table;
    MemoryBudget budget(1 << 20);
    const auto session = Must(WriteSession::Open(
        table, {.commit_user = "u", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, 10, 0}, {1, 20, 3}}).ok());
    if (compacted) {
      ASSERT_TRUE(session->Compact(true).ok());
    }
    Must(testing::CommitRows(session.get(), 1));
    ASSERT_TRUE(WriteRows(session.get(), table, {{1, 15, 0}}).ok());
    Must(testing::CommitRows(session.get(), 2));
    EXPECT_EQ(Scan(table, *Must(ReadLatestSnapshot(table))), compacted ? (IntRows{{1, 15}}) : IntRows{});
  }
}

}  // namespace
}  // namespace headrace
