// Lookups as a server uses them: one engine, snapshots pinned, many threads, a writer and its compactions beside them.
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <unistd.h>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "headrace/engine.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class Lookups : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headrace_lookups_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    engine_ = Open(64 << 20);
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<Engine> Open(int64_t cache_bytes) {
    return Engine::Open({.warehouse = folder_.string(), .lookup_cache_bytes = cache_bytes, .durable = false})
        .ValueOrDie();
  }

  std::unique_ptr<TableHandle> Create(const std::string& columns, std::vector<std::string> primary_key,
                                      std::vector<std::string> partition_by,
                                      std::map<std::string, std::string> options) {
    const TableDefinition definition{columns, std::move(primary_key), std::move(partition_by),
                                     std::move(options), ""};
    EXPECT_TRUE(engine_->CreateTable("db.t", definition).ok());
    return engine_->OpenTable("db.t").ValueOrDie();
  }

  std::filesystem::path folder_;
  std::unique_ptr<Engine> engine_;
};

std::shared_ptr<arrow::Array> Longs(const std::vector<int64_t>& values) {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> IdsAndValues(const std::vector<int64_t>& ids, int64_t value) {
  const auto schema =
      arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("v", arrow::int64())});
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(ids.size()),
                                  {Longs(ids), Longs(std::vector<int64_t>(ids.size(), value))});
}

int64_t ValueIn(const arrow::RecordBatch& rows, int64_t row) {
  return static_cast<const arrow::Int64Array&>(*rows.column(1)).Value(row);
}

TEST_F(Lookups, TellAKeyByItsPartitionAndTheRestOfIt) {
  const auto table = Create("pt INT, k STRING, v INT", {"pt", "k"}, {"pt"}, {{"bucket", "2"}});
  arrow::Int32Builder pts, values;
  arrow::StringBuilder keys;
  ASSERT_TRUE(pts.AppendValues({1, 1, 2}).ok());
  ASSERT_TRUE(keys.AppendValues({"a", "b", "a"}).ok());
  ASSERT_TRUE(values.AppendValues({100, 200, 300}).ok());
  const auto schema =
      arrow::schema({arrow::field("pt", arrow::int32(), false), arrow::field("k", arrow::utf8(), false),
                     arrow::field("v", arrow::int32())});
  const auto writer = table->OpenWriter().ValueOrDie();
  ASSERT_TRUE(writer
                  ->Write(arrow::RecordBatch::Make(schema, 3,
                                                   {pts.Finish().ValueOrDie(), keys.Finish().ValueOrDie(),
                                                    values.Finish().ValueOrDie()}),
                          nullptr)
                  .ok());
  ASSERT_TRUE(writer->Commit().ok());
  const auto lookup = table->OpenLookup({.columns = {"v"}}).ValueOrDie();
  const auto value_of = [&](const std::string& line) -> int {
    const auto row = lookup->Get(ParseKeyLine(line).ValueOrDie()).ValueOrDie();
    return row == nullptr ? -1 : static_cast<const arrow::Int32Array&>(*row->column(0)).Value(0);
  };
  EXPECT_EQ(value_of("pt=1 k=a"), 100);
  EXPECT_EQ(value_of(R"({"k": "b", "pt": 1})"), 200);
  EXPECT_EQ(value_of("k=a pt=2"), 300);
  EXPECT_EQ(value_of("pt=1 k=z"), -1);
  EXPECT_EQ(value_of("pt=3 k=a"), -1);
  EXPECT_THAT(lookup->Get({{"pt", "1"}}).status().message(), HasSubstr("k=… is missing"));
  EXPECT_THAT(
      lookup->Get({{"pt", "one"}}).status().message(),
      testing::AllOf(HasSubstr("looking up a key in table "), HasSubstr(", column pt: 'one' as INT")));
}

TEST_F(Lookups, SeeTheSnapshotTheyWereOpenedAt) {
  const auto table = Create("id BIGINT, v BIGINT", {"id"}, {}, {{"bucket", "1"}});
  const auto empty = table->OpenLookup({}).ValueOrDie();
  EXPECT_EQ(empty->snapshot(), std::nullopt);
  const auto writer = table->OpenWriter().ValueOrDie();
  ASSERT_TRUE(writer->Write(IdsAndValues({1, 2, 3}, 1), nullptr).ok());
  ASSERT_TRUE(writer->Commit().ok());
  const auto first = table->OpenLookup({}).ValueOrDie();
  ASSERT_TRUE(writer->Write(IdsAndValues({2}, 2), nullptr).ok());
  ASSERT_TRUE(writer->Commit().ok());
  const auto second = table->OpenLookup({}).ValueOrDie();
  EXPECT_EQ(empty->Get({{"id", "2"}}).ValueOrDie(), nullptr);
  EXPECT_EQ(ValueIn(*first->Get({{"id", "2"}}).ValueOrDie(), 0), 1);
  EXPECT_EQ(ValueIn(*second->Get({{"id", "2"}}).ValueOrDie(), 0), 2);
  EXPECT_EQ(ValueIn(*table->OpenLookup({.snapshot = 1}).ValueOrDie()->Get({{"id", "2"}}).ValueOrDie(), 0), 1);
  // Keys in any order, one twice, one that is not there.
  const auto keys =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), 4, {Longs({3, 9, 2, 3})});
  const LookupResult many = second->GetMany(*keys).ValueOrDie();
  EXPECT_EQ(many.rows->num_rows(), 2);
  EXPECT_EQ(many.row_of_key[0], many.row_of_key[3]);
  EXPECT_EQ(many.row_of_key[1], -1);
  EXPECT_EQ(ValueIn(*many.rows, many.row_of_key[0]), 1);
  EXPECT_EQ(ValueIn(*many.rows, many.row_of_key[2]), 2);
}

int64_t FilesIn(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return 0;
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST_F(Lookups, HoldTheirSnapshotAsLongAsTheyLiveWhereTheyAreAskedTo) {
  const auto table = Create("id BIGINT, v BIGINT", {"id"}, {},
                            {{"bucket", "1"},
                             {"snapshot.num-retained.min", "1"},
                             {"snapshot.num-retained.max", "1"},
                             {"num-sorted-run.compaction-trigger", "2"}});
  const auto consumers = std::filesystem::path(table->info().path) / "consumer";
  const auto writer = table->OpenWriter().ValueOrDie();
  const auto commit = [&](int64_t value) {
    ASSERT_TRUE(writer->Write(IdsAndValues({1, 2, 3}, value), nullptr).ok());
    ASSERT_TRUE(writer->Commit(/*wait_for_compaction=*/true).ok());
    ASSERT_TRUE(table->Compact(true).ok());
    ASSERT_TRUE(table->Expire({}).ok());
  };
  commit(1);
  const auto loose = table->OpenLookup({}).ValueOrDie();
  auto held = table->OpenLookup({.hold_snapshot = true}).ValueOrDie();
  EXPECT_EQ(FilesIn(consumers), 1);
  for (int64_t value = 2; value < 15; ++value) commit(value);
  // Nothing of it was read before.
  EXPECT_EQ(ValueIn(*held->Get({{"id", "2"}}).ValueOrDie(), 0), 1);
  EXPECT_EQ(ValueIn(*loose->Get({{"id", "2"}}).ValueOrDie(), 0), 1) << "the same snapshot";
  EXPECT_TRUE(table->OpenLookup({.snapshot = held->snapshot()}).ok());

  held.reset();
  EXPECT_EQ(FilesIn(consumers), 0);
  const auto unread = table->OpenLookup({.columns = {"v"}, .snapshot = loose->snapshot()}).ValueOrDie();
  for (int64_t value = 15; value < 28; ++value) commit(value);
  const Status expired = unread->Get({{"id", "2"}}).status();
  ASSERT_FALSE(expired.ok());
  EXPECT_EQ(KindOf(expired), ErrorKind::kSnapshotExpired) << expired;
  EXPECT_EQ(ValueIn(*table->OpenLookup({}).ValueOrDie()->Get({{"id", "2"}}).ValueOrDie(), 0), 27);
}

TEST_F(Lookups, AreRefusedWithoutAPrimaryKeyAndForAWrongOne) {
  const auto table = Create("id BIGINT, v BIGINT", {"id"}, {}, {{"bucket", "1"}});
  const auto lookup = table->OpenLookup({}).ValueOrDie();
  EXPECT_THAT(lookup->Get({{"v", "1"}}).status().message(),
              HasSubstr("v is not part of its primary key (id)"));
  const auto wrong =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::int64())}), 1, {Longs({3})});
  EXPECT_THAT(lookup->GetMany(*wrong).status().message(), HasSubstr("the batch has no column id"));
  ASSERT_TRUE(engine_->CreateTable("db.a", {"x INT", {}, {}, {{"bucket", "-1"}}, ""}).ok());
  EXPECT_THAT(engine_->OpenTable("db.a").ValueOrDie()->OpenLookup({}).status().message(),
              HasSubstr("no primary key"));
  EXPECT_THAT(ParseKeyLine("").status().message(), HasSubstr("the key is empty"));
  EXPECT_THAT(ParseKeyLine("id").status().message(), HasSubstr("not of the form column=value"));
  EXPECT_THAT(ParseKeyLine("{\"id\": [1]}").status().message(), HasSubstr("neither text nor a number"));
}

// Every commit gives all keys one value, so whatever a snapshot shows is one value.
class BesideAWriter : public Lookups,
                      public testing::WithParamInterface<std::map<std::string, std::string>> {};

TEST_P(BesideAWriter, LookupsSeeWholeCommitsAndNeverGoBack) {
  constexpr int64_t kIds = 700;
  constexpr int kCommits = 12;
  std::map<std::string, std::string> options = GetParam();
  options.insert({{"bucket", "2"}, {"num-sorted-run.compaction-trigger", "3"}});
  engine_ = Open(40'000);  // far less than the table: blocks come and go
  const auto table = Create("id BIGINT, v BIGINT", {"id"}, {}, options);
  // Arrow's types are made once, inside of a library that the thread sanitizer does not see: here, before there are threads.
  for (const auto& type : {arrow::int8(), arrow::int32(), arrow::int64(), arrow::utf8(), arrow::binary()})
    ASSERT_NE(type, nullptr);
  std::atomic<bool> done{false};
  std::thread writing([&] {
    const auto writer = table->OpenWriter().ValueOrDie();
    for (int64_t commit = 1; commit <= kCommits; ++commit) {
      std::vector<int64_t> ids(kIds);
      for (int64_t i = 0; i < kIds; ++i) ids[static_cast<size_t>(i)] = i * 3;
      EXPECT_TRUE(writer->Write(IdsAndValues(ids, commit), nullptr).ok());
      const auto committed = writer->Commit();
      EXPECT_TRUE(committed.ok()) << committed.status();
    }
    done = true;
  });
  const auto look = [&](uint64_t seed) {
    Random random(seed);
    int64_t newest = 0;
    for (bool last = false; !last;) {
      last = done;
      const auto lookup = table->OpenLookup({}).ValueOrDie();
      if (!lookup->snapshot().has_value()) continue;
      std::optional<int64_t> seen;
      for (int i = 0; i < 40; ++i) {
        const auto id = static_cast<int64_t>(random.Below(kIds * 3));
        const auto row = lookup->Get({{"id", std::to_string(id)}});
        ASSERT_TRUE(row.ok()) << row.status();
        if (id % 3 != 0) {
          ASSERT_EQ(*row, nullptr) << id;
          continue;
        }
        // 0: nothing, where rows show after the first compaction.
        const int64_t value = *row == nullptr ? 0 : ValueIn(**row, 0);
        ASSERT_EQ(value, seen.value_or(value)) << id;
        seen = value;
      }
      ASSERT_GE(seen.value_or(newest), newest);
      newest = seen.value_or(newest);
    }
    EXPECT_EQ(newest, kCommits);
  };
  const auto scan = [&] {
    int64_t newest = 0;
    while (!done) {
      const auto reader = table->Read({});
      ASSERT_TRUE(reader.ok()) << reader.status();
      std::set<int64_t> ids, values;
      int64_t rows = 0;
      for (std::shared_ptr<arrow::RecordBatch> batch;;) {
        const Status read = (*reader)->ReadNext(&batch);
        ASSERT_TRUE(read.ok()) << read;
        if (batch == nullptr) break;
        rows += batch->num_rows();
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          ids.insert(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(row));
          values.insert(ValueIn(*batch, row));
        }
      }
      if (rows == 0) continue;
      ASSERT_EQ(rows, kIds);
      ASSERT_EQ(static_cast<int64_t>(ids.size()), kIds);
      ASSERT_EQ(values.size(), 1u);
      ASSERT_GE(*values.begin(), newest);
      newest = *values.begin();
    }
  };
  // Another compactor than the writer's own: either may lose a race, and loses nothing by it.
  const auto compact = [&] {
    for (bool full = false; !done; full = !full) {
      const auto compacted = table->Compact(full);
      ASSERT_TRUE(compacted.ok() || KindOf(compacted.status()) == ErrorKind::kCommitConflict)
          << compacted.status();
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(look, 1);
  threads.emplace_back(look, 2);
  threads.emplace_back(scan);
  threads.emplace_back(compact);
  writing.join();
  for (std::thread& thread : threads) thread.join();
  // Rows, changes, vectors and levels of every snapshot agree.
  CheckOptions all;
  all.data = all.changelog = all.all = true;
  const auto report = table->Check(all);
  ASSERT_TRUE(report.ok()) << report.status();
  for (const Finding& finding : report->findings)
    EXPECT_NE(finding.severity, Severity::kDamage)
        << finding.kind << " " << finding.file << ": " << finding.found << ", expected " << finding.expected;
}

// With vectors the files move between levels while they are asked.
INSTANTIATE_TEST_SUITE_P(
    Tables, BesideAWriter,
    testing::Values(std::map<std::string, std::string>{},
                    std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"}},
                    std::map<std::string, std::string>{{"changelog-producer", "lookup"}},
                    std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"},
                                                       {"changelog-producer", "lookup"}}));

}  // namespace
}  // namespace headrace
