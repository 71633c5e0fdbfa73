// The law of continuous SQL: after every step a target equals its query over the stream-visible state of its sources at the committed positions.
//
// Random changes of every kind of source, through every kind of query, with restarts and faults in between. A failure prints its seed: HEADRACE_SEED=n runs one.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seeds.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/physical_columns.h"
#include "ingest/position.h"
#include "io/fault_store.h"
#include "pipeline/query_binding.h"
#include "pipeline/stage.h"
#include "pipeline/stage_plan.h"
#include "pipeline/table_relation.h"
#include "sql/statement.h"
#include "write/session.h"

namespace headrace::pipeline {
namespace {

using headrace::testing::Must;

// orders(id, cust, amount, tag), customers(id, cust, amount, tag) alike; cust and amount may be null.
struct OrderRow {
  int32_t id = 0;
  std::optional<int32_t> cust, amount;
  std::string tag;
};

struct Query {
  const char* target;  // columns of the target
  std::vector<std::string> key;
  const char* sql;
  std::map<std::string, std::string> options = {};  // of the target
};

const std::vector<Query>& Queries() {
  static const std::vector<Query> queries = {
      {"id INT, twice INT, tag STRING", {"id"}, "SELECT id, amount * 2, tag FROM db.orders WHERE amount > 3"},
      {"id INT, tag STRING, a INT",
       {"id", "tag"},
       "SELECT id, tag, amount FROM db.orders WHERE cust IS NOT NULL"},
      {"tag STRING, n BIGINT, s BIGINT, low INT, high INT",
       {"tag"},
       "SELECT tag, count(*), sum(amount), min(amount), max(amount) FROM db.orders GROUP BY tag"},
      {"cust INT, tag STRING, n BIGINT",
       {"cust", "tag"},
       "SELECT coalesce(cust, -1), tag, count(DISTINCT amount) FROM db.orders GROUP BY 1, 2 HAVING count(*) "
       "> 1"},
      {"n BIGINT, avg DOUBLE, one INT", {"one"}, "SELECT count(*), avg(amount), 1 FROM db.orders"},
      {"id INT, cust INT, amount INT, tag STRING, ctag STRING",
       {"id"},
       "SELECT o.id, o.cust, o.amount, o.tag, c.tag FROM db.orders o LEFT JOIN db.customers c ON o.cust = "
       "c.id"},
      {"id INT, ctag STRING",
       {"id"},
       "SELECT o.id, c.tag FROM db.orders AS o JOIN db.customers AS c ON c.id = o.cust WHERE c.amount > "
       "o.amount"},
      {"oid INT, cid INT, a INT",
       {"oid", "cid"},
       "SELECT o.id, c.id, o.amount FROM db.orders o JOIN db.customers c ON o.tag = c.tag"},
      {"id INT, tag STRING, ctag STRING",
       {"id"},
       "SELECT coalesce(o.id, c.id), o.tag, c.tag FROM db.orders o FULL JOIN db.customers c ON o.id = c.id"},
      {"id INT, tag STRING, ctag STRING",
       {"id"},
       "SELECT id, o.tag, c.tag FROM db.orders o RIGHT JOIN db.customers c USING (id)"},
      {"a INT, b INT, s INT",
       {"a", "b"},
       "SELECT a.id, b.id, a.amount + b.amount FROM db.orders a JOIN db.orders b ON a.cust = b.id"},
      {"cust INT, n BIGINT, s BIGINT",
       {"cust"},
       "SELECT o.cust, count(*), sum(c.amount) FROM db.orders o JOIN db.customers c ON o.cust = c.id GROUP "
       "BY o.cust"},
      {"tag STRING", {"tag"}, "SELECT DISTINCT tag FROM db.orders WHERE amount IS NOT NULL"},
      {"id INT, tag STRING, place BIGINT",
       {"id"},
       "SELECT id, tag, row_number() OVER (PARTITION BY tag ORDER BY amount DESC NULLS LAST, id) AS place "
       "FROM db.orders QUALIFY place <= 2"},
      {"part INT, id INT, tag STRING",
       {"part", "id"},
       "SELECT 1, id, tag FROM db.orders WHERE amount > 5 UNION ALL SELECT 2, id, tag FROM db.customers"},
      {"side INT, tag STRING, n BIGINT",
       {"side", "tag"},
       "SELECT 1, tag, count(*) FROM db.orders GROUP BY tag UNION ALL SELECT 2, tag, count(*) FROM db.log "
       "GROUP BY tag"},
      {"id INT, kind STRING, side INT",
       {"id"},
       "SELECT id, 'low', amount FROM db.orders WHERE amount < 5 UNION ALL SELECT id, tag, 1 FROM db.orders "
       "WHERE amount >= 5"},
      {"id INT, tag STRING, n BIGINT", {"id"}, "SELECT id, tag, count(*) FROM db.orders GROUP BY id, tag"},
      {"oid INT, cid INT, tag STRING",
       {"oid"},
       "SELECT o.id, c.id, o.tag FROM db.orders o LEFT JOIN db.customers c ON o.cust = c.id WHERE o.tag = "
       "coalesce(c.tag, 'a')"},
      {"tag STRING, n BIGINT, s BIGINT",
       {"tag"},
       "SELECT tag, count(*), sum(amount) FROM db.log GROUP BY tag"},
      {"id INT, cust INT, amount INT, tag STRING", {}, "SELECT * FROM db.log WHERE amount > 2"},
      {"tag STRING, n BIGINT, s BIGINT, low INT",
       {"tag"},
       "SELECT tag, count(*), sum(amount), min(amount) FROM db.log WHERE cust > 1 GROUP BY tag",
       {{"merge-engine", "aggregation"},
        {"fields.default-aggregate-function", "sum"},
        {"fields.low.aggregate-function", "min"}}},
      {"id INT, n BIGINT, s BIGINT",
       {"id"},
       "SELECT c.id, count(l.id), sum(l.amount) FROM db.customers c LEFT JOIN db.log l ON l.cust = c.id "
       "GROUP BY c.id"},
      {"id INT, tag STRING, n BIGINT, s BIGINT",
       {"id"},
       "SELECT id, tag, count(*), sum(amount) FROM db.orders GROUP BY id, tag"},
      {"tag STRING, n BIGINT, s BIGINT",
       {"tag", "n"},
       "SELECT tag, count(*), sum(amount) FROM db.orders GROUP BY tag"},
  };
  return queries;
}

class World {
 public:
  World(uint64_t seed, const Query& query)
      : random_(seed),
        query_(query),
        memory_(std::make_shared<MemoryStore>()),
        store_(std::make_shared<FaultStore>(memory_)) {
    Make("orders", true);
    Make("customers", true);
    Make("log", false);
    std::map<std::string, std::string> options = {{"bucket", "2"}};
    if (query.key.empty()) options["bucket"] = "-1";
    if (!query.key.empty() && random_.OneIn(2))
      options["changelog-producer"] = random_.OneIn(2) ? "input" : "lookup";
    if (!query.options.empty()) {
      options = query.options;
      options["bucket"] = "2";
    }
    NewTable target;
    target.fields = Must(ParseColumns(query.target));
    target.primary_keys = query.key;
    target.options = std::move(options);
    Must(catalog().CreateTable({"db", "target"}, std::move(target)));
    room_.open = [this](const std::string& name, Access access) { return OpenNamed(store_, name, access); };
    room_.budget = &budget_;
    room_.queries = {64 << 20, 1, "/tmp"};
    room_.most_rows_a_step = random_.OneIn(2) ? 1 : 1000;
  }

  Status OpenStage(bool rebuild = false) {
    stage_.reset();
    HEADRACE_ASSIGN_OR_RETURN(const auto binding, QueryBinding::Open(room_.queries));
    HEADRACE_ASSIGN_OR_RETURN(StagePlan plan,
                              PlanStage(binding.get(), {"db.target", {}, query_.sql}, "job", room_));
    HEADRACE_ASSIGN_OR_RETURN(stage_, Stage::Open(std::move(plan), &room_, rebuild));
    return Status::OK();
  }

  // One commit of random changes to a random source.
  void ChangeSomething() {
    const uint64_t which = random_.Below(3);
    Source& source = sources_[which];
    const std::unique_ptr<WriteSession> session = OpenWriter(source);
    const int rows = static_cast<int>(random_.Between(1, 6));
    for (int i = 0; i < rows; ++i) {
      if (source.keyed) {
        ChangeRow(&source, session.get());
      } else {
        Write(source, session.get(), RandomRow(static_cast<int32_t>(random_.Below(1000))), 0);
      }
    }
    if (random_.OneIn(4)) Check(session->Compact(random_.OneIn(2)));
    const PreparedCommit prepared = Must(session->PrepareCommit(1, random_.OneIn(2)));
    Check(session->Commit(prepared).status());
  }

  // Steps until nothing is new; under a fault, until the failure. Whether it ended well.
  Status StepAll(bool until_done) {
    if (stage_ == nullptr) HEADRACE_RETURN_NOT_OK(OpenStage());
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool stepped, stage_->Step());
      if (!stepped) return stage_->Close();
      if (!until_done) return Status::OK();
    }
  }

  void Fail() {
    store_->SetPlan({.kind = random_.OneIn(2) ? FaultKind::kFail : FaultKind::kTearAndStop,
                     .at = static_cast<int64_t>(random_.Below(120))});
  }
  // The process has ended, or goes on.
  void Heal() {
    store_->SetPlan({});
    if (random_.OneIn(2)) stage_.reset();
  }
  void Restart() { stage_.reset(); }
  Random& random() { return random_; }

  // What the target holds, and what the query gives over the state that the target's position names.
  std::vector<std::string> TargetRows() { return Rows("FROM db.target", /*at_position=*/false); }
  std::vector<std::string> ExpectedRows() { return Rows(query_.sql, /*at_position=*/true); }

  std::string Story() const {
    std::string story;
    for (const Source& source : sources_) story += source.name + ": " + source.producer + "; ";
    return story + query_.sql;
  }

  // Snapshots of every kind of source may be an overwrite.
  void Overwrite() {
    Source& source = sources_[2];
    const Table table = Must(OpenNamed(memory_, "db." + source.name, Access::kWrite));
    const auto latest = Must(ReadLatestSnapshot(table));
    if (!latest) return;
    PreparedCommit commit;
    commit.user = "overwriter" + std::to_string(++writers_);
    commit.identifier = 1;
    std::map<std::pair<std::string, BucketId>, BucketChange> changes;
    for (ManifestEntry& entry : Must(LiveFiles(table, *latest))) {
      BucketChange& change = changes[{entry.partition.bytes, entry.bucket}];
      change.partition = entry.partition;
      change.bucket = entry.bucket;
      change.total_buckets = entry.total_buckets;
      change.change.append.removed.push_back(std::move(entry.file));
    }
    for (auto& [place, change] : changes) commit.changes.push_back(std::move(change));
    Check(Commit(table, commit).status());
  }

 private:
  struct Source {
    std::string name;
    bool keyed = true;
    std::string producer;
    std::map<int32_t, OrderRow> rows;
  };

  static void Check(const Status& status) {
    if (!status.ok()) status.Abort();
  }

  Catalog catalog() { return Catalog(memory_, clock_, "/w"); }

  Result<Table> OpenNamed(const std::shared_ptr<Store>& store, const std::string& name, Access access) {
    const std::string table = name.substr(3);
    return OpenTableAt(store, clock_, "/w/db.db/" + table, name, access);
  }

  void Make(const std::string& name, bool keyed) {
    static const char* const kProducers[] = {"none", "input", "lookup", "full-compaction"};
    Source source;
    source.name = name;
    source.keyed = keyed;
    source.producer = keyed ? kProducers[random_.Below(4)] : "append";
    NewTable table;
    table.fields = Must(ParseColumns("id INT, cust INT, amount INT, tag STRING"));
    if (keyed) {
      table.primary_keys = {"id"};
      table.options = {{"bucket", std::to_string(random_.Between(1, 3))},
                       {"changelog-producer", source.producer}};
    } else {
      table.options = {{"bucket", "-1"}};
    }
    Must(catalog().CreateTable({"db", name}, std::move(table)));
    sources_.push_back(std::move(source));
  }

  std::unique_ptr<WriteSession> OpenWriter(const Source& source) {
    SessionOptions options;
    options.commit_user = "writer" + std::to_string(++writers_);
    options.budget = &budget_;
    return Must(WriteSession::Open(Must(OpenNamed(memory_, "db." + source.name, Access::kWrite)), options));
  }

  OrderRow RandomRow(int32_t id) {
    static const char* const kTags[] = {"a", "b", "c", "d", ""};
    OrderRow row;
    row.id = id;
    if (!random_.OneIn(5)) row.cust = static_cast<int32_t>(random_.Below(8));
    if (!random_.OneIn(5)) row.amount = static_cast<int32_t>(random_.Below(10));
    row.tag = kTags[random_.Below(5)];
    return row;
  }

  // With before-images mostly; a table whose changelog is what was written gets rows without them as well.
  void ChangeRow(Source* source, WriteSession* session) {
    const OrderRow row = RandomRow(static_cast<int32_t>(random_.Below(12)));
    const auto known = source->rows.find(row.id);
    const bool tells = !random_.OneIn(4);
    if (known != source->rows.end() && random_.OneIn(3)) {
      Write(*source, session, known->second, 3);
      source->rows.erase(known);
      return;
    }
    if (known != source->rows.end() && tells) Write(*source, session, known->second, 1);
    Write(*source, session, row, known != source->rows.end() && tells ? 2 : 0);
    source->rows.insert_or_assign(row.id, row);
  }

  void Write(const Source&, WriteSession* session, const OrderRow& row, int8_t kind) {
    arrow::Int32Builder id, cust, amount;
    arrow::StringBuilder tag;
    arrow::Int8Builder kinds;
    Check(id.Append(row.id));
    Check(row.cust ? cust.Append(*row.cust) : cust.AppendNull());
    Check(row.amount ? amount.Append(*row.amount) : amount.AppendNull());
    Check(tag.Append(row.tag));
    Check(kinds.Append(kind));
    const auto schema = ToArrowSchema(Must(ParseColumns("id INT, cust INT, amount INT, tag STRING")));
    Check(session->Write(
        arrow::RecordBatch::Make(
            schema, 1, {Must(id.Finish()), Must(cust.Finish()), Must(amount.Finish()), Must(tag.Finish())}),
        Must(kinds.Finish())));
  }

  // Tables as of a position, or as they are.
  class StateTables final : public Relations {
   public:
    explicit StateTables(World* world) : world_(world) {}
    void SetPosition(std::map<std::string, int64_t> next) { next_ = std::move(next); }
    Result<std::shared_ptr<Relation>> Open(const RelationName& name) override {
      const std::string full = name.database + "." + name.table;
      HEADRACE_ASSIGN_OR_RETURN(Table table, world_->OpenNamed(world_->memory_, full, Access::kRead));
      std::optional<Snapshot> snapshot;
      const auto known = next_.find(full);
      if (known == next_.end()) {
        HEADRACE_ASSIGN_OR_RETURN(snapshot, ReadLatestSnapshot(table));
      } else if (known->second > 1) {
        HEADRACE_ASSIGN_OR_RETURN(snapshot, ReadSnapshot(table, SnapshotId(known->second - 1)));
      }
      const auto schema = ToArrowSchema(table.schema->fields);
      return MakeStateRelation(table, snapshot, schema,
                               known == next_.end() ? TableView::kScan : TableView::kStream);
    }

   private:
    World* world_;
    std::map<std::string, int64_t> next_;
  };

  std::vector<std::string> Rows(const std::string& sql, bool at_position) {
    std::map<std::string, int64_t> next;
    if (at_position) {
      const Table target = Must(OpenNamed(memory_, "db.target", Access::kRead));
      const auto found = Must(headrace::ingest::FindPosition(target, "job"));
      if (!found) return {"no position"};
      for (const auto& source : found->position.sources) next[source.table] = source.next_snapshot;
    }
    tables_.SetPosition(std::move(next));
    if (reader_ == nullptr) reader_ = Must(QuerySession::Open(room_.queries, &tables_));
    const QuerySession::Answer answer = Must(reader_->Query(sql));
    std::vector<std::string> rows;
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      Check(answer.rows->ReadNext(&batch));
      if (batch == nullptr) break;
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::string text;
        for (const auto& column : batch->columns()) text += Must(column->GetScalar(row))->ToString() + "|";
        rows.push_back(std::move(text));
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  Random random_;
  const Query& query_;
  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<FaultStore> store_;  // of the stage alone
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'700'000'000'000);
  MemoryBudget budget_{256 << 20};
  StageRoom room_;
  std::vector<Source> sources_;
  std::unique_ptr<Stage> stage_;
  StateTables tables_{this};
  std::unique_ptr<QuerySession> reader_;
  int writers_ = 0;
};

class StageLaw : public ::testing::TestWithParam<size_t> {
 protected:
  template <typename Run>
  void ForEachSeed(Run run) {
    for (const uint64_t seed :
         headrace::testing::SeedsToPlay(1, [](uint64_t n) { return n * 1000 + GetParam(); })) {
      run(seed);
      if (HasFailure()) return;
    }
  }
};

TEST_P(StageLaw, TargetEqualsItsQueryAfterEveryStep) {
  ForEachSeed([&](uint64_t seed) {
    World world(seed, Queries()[GetParam()]);
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed) + " " + world.Story());
    for (int round = 0; round < 12; ++round) {
      const int commits = static_cast<int>(world.random().Below(4));
      for (int i = 0; i < commits; ++i) world.ChangeSomething();
      if (world.random().OneIn(8) && !Queries()[GetParam()].key.empty() &&
          Queries()[GetParam()].options.empty())
        world.Overwrite();
      if (world.random().OneIn(4)) world.Restart();
      const Status stepped = world.StepAll(true);
      ASSERT_TRUE(stepped.ok()) << stepped.message();
      ASSERT_EQ(world.TargetRows(), world.ExpectedRows()) << "round " << round;
    }
  });
}

TEST_P(StageLaw, SoItDoesWhereEveryOtherStepFailsAndTheProcessWithIt) {
  ForEachSeed([&](uint64_t seed) {
    World world(seed, Queries()[GetParam()]);
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed) + " " + world.Story());
    for (int round = 0; round < 12; ++round) {
      world.ChangeSomething();
      world.ChangeSomething();
      world.Fail();
      (void)world.StepAll(false);
      world.Heal();
      const auto expected = world.ExpectedRows();
      if (expected != std::vector<std::string>{"no position"}) {
        ASSERT_EQ(world.TargetRows(), expected) << "after the failure of round " << round;
      }
      const Status stepped = world.StepAll(true);
      ASSERT_TRUE(stepped.ok()) << stepped.message();
      ASSERT_EQ(world.TargetRows(), world.ExpectedRows()) << "round " << round;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Queries, StageLaw, ::testing::Range<size_t>(0, Queries().size()));

}  // namespace
}  // namespace headrace::pipeline
