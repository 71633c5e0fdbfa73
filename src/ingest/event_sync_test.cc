// Streams of several tables end in all their tables, in one run and across kills.
#include <gmock/gmock.h>

#include <atomic>

#include "base/random.h"
#include "base/test_seeds.h"
#include "catalog/catalog.h"
#include "ingest/event_sync.h"
#include "ingest/ingest_test_kit.h"
#include "ingest/joined_sources.h"
#include "io/fault_store.h"

namespace headrace::ingest {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::Must;
using ::testing::Not;

class EventSyncTest : public IngestTest {
 protected:
  Catalog catalog() { return Catalog(store_, clock_, "/w"); }
  static TableIdentifier NameOfTable(const std::string& name) { return Must(ParseTableIdentifier(name)); }
  void MakeTable(const std::string& name, const std::string& columns, std::vector<std::string> keys,
                 const std::string& changelog_producer = "none") {
    NewTable table;
    table.fields = Must(ParseColumns(columns));
    table.primary_keys = std::move(keys);
    table.options = {{"bucket", "2"}, {"changelog-producer", changelog_producer}};
    Must(catalog().CreateTable(NameOfTable(name), std::move(table)));
  }

  SyncOptions Options() {
    SyncOptions options;
    options.dead_letter_folder = folder_ / "dead";
    options.shared.budget = &budget_;
    options.open = [this](const std::string& name) {
      return catalog().OpenTable(NameOfTable(name), Access::kWrite);
    };
    options.create = [this](const std::string& name, NewTable table) -> Result<std::vector<std::string>> {
      HEADRACE_RETURN_NOT_OK(catalog().CreateTable(NameOfTable(name), std::move(table)).status());
      return std::vector<std::string>();
    };
    options.table_options = {{"bucket", "2"}};
    options.note = [this](const std::string& text) { notes_.push_back(text); };
    return options;
  }

  EventStream StreamOf(const std::string& path, EventFormat format, const std::string& keys = {}) {
    EventStream stream;
    stream.format = format;
    stream.events.truncate_deletes = true;
    stream.events.follow_schema = true;
    stream.events.modes.decimal = DecimalMode::kPrecise;
    stream.name = path;
    stream.job = "stream";
    LineSourceOptions lines;
    lines.test_decoding = format == EventFormat::kTestDecoding;
    stream.open = [path, keys, lines](const Position& position) -> Result<std::unique_ptr<RecordSource>> {
      return std::make_unique<FilesInOrder>(std::vector<std::string>{path}, nullptr, lines, keys, position);
    };
    return stream;
  }

  Result<std::vector<std::string>> AllTables() {
    std::vector<std::string> names;
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> databases, catalog().ListDatabases());
    for (const std::string& database : databases) {
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> tables, catalog().ListTables(database));
      for (const std::string& table : tables) names.push_back(database + "." + table);
    }
    return names;
  }

  Status Run(EventStream stream, SyncOptions options) {
    report_ = SyncReport();
    EventSync sync(options, std::move(stream), [this] { return AllTables(); });
    return sync.Run(&report_);
  }

  std::vector<std::string> Rows(const std::string& table, const std::vector<std::string>& leave_out = {}) {
    return RowsOf(Must(catalog().OpenTable(NameOfTable(table), Access::kWrite)), leave_out);
  }

  std::shared_ptr<Store> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'700'000'000'000);
  std::vector<std::string> notes_;
  SyncReport report_;
};

TEST_F(EventSyncTest, PartsDebeziumEventsByTheirSourceTables) {
  EventStream stream = StreamOf(Fixture("multi-table.debezium-schema.jsonl"), EventFormat::kDebeziumJson,
                                Fixture("multi-table.debezium.keys.jsonl"));
  ASSERT_TRUE(Run(stream, Options()).ok());
  for (const char* table : {"public.customers", "public.orders", "archive.orders"})
    EXPECT_THAT(Rows(table), ElementsAreArray(ExpectedRows("multi-table.expected.jsonl", table))) << table;
  EXPECT_EQ(report_.tables.size(), 3u);

  const int64_t records = report_.records;
  ASSERT_TRUE(Run(stream, Options()).ok());
  EXPECT_GT(records, 0);
  EXPECT_EQ(report_.records, 0);
  for (const SyncTableReport& table : report_.tables) EXPECT_EQ(table.rows, 0);
}

TEST_F(EventSyncTest, SaysThatAnEventNamesNoTable) {
  const auto refusal = [&](const std::string& line, EventFormat format) {
    const std::string path = Write("nameless.jsonl", line + "\n");
    SyncOptions options = Options();
    options.database = "plant";
    return Run(StreamOf(path, format), options).message();
  };
  for (const char* line : {R"({"before":null,"after":{"device_id":1},"op":"c"})",
                           R"({"before":{"device_id":1},"after":null,"op":"d","source":{"db":"x"}})"}) {
    EXPECT_THAT(refusal(line, EventFormat::kDebeziumJson),
                AllOf(HasSubstr("no `source` with a `table`"), HasSubstr("headrace ingest DB.TABLE"),
                      Not(HasSubstr("--primary-key")), Not(HasSubstr("no column of the table"))));
  }
  EXPECT_THAT(refusal(R"({"before":null,"after":{"device_id":1},"op":"x"})", EventFormat::kDebeziumJson),
              HasSubstr("field op"));
  EXPECT_THAT(refusal(R"({"device_id":1,"__op":"c"})", EventFormat::kDebeziumFlat), HasSubstr("`__table`"));
  EXPECT_THAT(refusal(R"({"data":{"id":1},"type":"insert"})", EventFormat::kMaxwellJson),
              HasSubstr("has no `table`"));
}

TEST_F(EventSyncTest, ForAMissingKeyItAdvisesWhatSyncHas) {
  const std::string path =
      Write("keyless.jsonl", R"({"after":{"id":1},"op":"c","source":{"schema":"shop","table":"t"}})"
                             "\n");
  EXPECT_THAT(Run(StreamOf(path, EventFormat::kDebeziumJson), Options()).message(),
              AllOf(HasSubstr("nothing says what its primary key is"),
                    HasSubstr("Make shop.t by `headrace create` first"), Not(HasSubstr("--primary-key"))));
}

TEST_F(EventSyncTest, PutsTwoSchemasIntoOneDatabaseOnlyWhereNamesDiffer) {
  EventStream stream = StreamOf(Fixture("multi-table.debezium-schema.jsonl"), EventFormat::kDebeziumJson,
                                Fixture("multi-table.debezium.keys.jsonl"));
  SyncOptions options = Options();
  options.database = "shop";
  EXPECT_THAT(Run(stream, options).ToString(), HasSubstr("would both be shop.orders"));
  options.patterns = {"public.*"};
  ASSERT_TRUE(Run(stream, options).ok());
  EXPECT_THAT(Rows("shop.orders"),
              ElementsAreArray(ExpectedRows("multi-table.expected.jsonl", "public.orders")));
  EXPECT_EQ(report_.left_out.size(), 1u);
}

TEST_F(EventSyncTest, LeavesTablesWithoutAKeyOutAndPartsTheRest) {
  EventStream stream = StreamOf(Fixture("pgbench.debezium.jsonl.zst"), EventFormat::kDebeziumJson,
                                Fixture("pgbench.debezium.keys.jsonl.zst"));
  ASSERT_TRUE(Run(stream, Options()).ok());
  for (const char* table : {"public.accounts", "public.tellers", "public.branches"})
    EXPECT_THAT(Rows(table), ElementsAreArray(ExpectedRows("pgbench.expected.jsonl.zst", table))) << table;
  EXPECT_THAT(report_.left_out, ::testing::Contains(::testing::Key("public.history")));
}

TEST_F(EventSyncTest, FollowsCanalThroughRenamesRetypesAndTruncates) {
  ASSERT_TRUE(Run(StreamOf(Fixture("canal-mixed.jsonl"), EventFormat::kCanalJson), Options()).ok());
  EXPECT_THAT(Rows("shop.order_lines"),
              ElementsAreArray(ExpectedRows("canal-mixed.expected.jsonl", "shop.order_items")));
  EXPECT_THAT(Rows("elsewhere.order_items"),
              ElementsAreArray(ExpectedRows("canal-mixed.expected.jsonl", "elsewhere.order_items")));
  EXPECT_EQ(Rows("shop.payments").size(), 3u);
  EXPECT_TRUE(report_.left_out.contains("shop.notes"));
}

// It names no keys, so the tables are there before; what was in them before the capture is not.
TEST_F(EventSyncTest, PartsTheTextOfTestDecodingByItsTables) {
  MakeTable("public.visits", "visit_id INT NOT NULL, page STRING", {"visit_id"});
  MakeTable("public.accounts", "account_id INT NOT NULL, owner STRING, balance BIGINT", {"account_id"});
  SyncOptions options = Options();
  options.patterns = {"public.visits", "public.accounts"};
  ASSERT_TRUE(
      Run(StreamOf(Fixture("pk-change.test-decoding.txt"), EventFormat::kTestDecoding), options).ok());
  EXPECT_THAT(Rows("public.visits"),
              ElementsAreArray(ExpectedRows("pk-change.expected.jsonl", "public.visits")));
  EXPECT_THAT(Rows("public.accounts"),
              ElementsAreArray(ExpectedRows("pk-change.expected.jsonl", "public.accounts")));
}

// Its lines tell neither types nor keys, unless a statement does: the tables are there before.
TEST_F(EventSyncTest, FollowsMaxwellIntoTablesThatAreThere) {
  constexpr const char* kLines = "line_no INT NOT NULL, order_id BIGINT NOT NULL, sku STRING, quantity INT";
  MakeTable("shop.order_lines", kLines, {"order_id", "line_no"});
  MakeTable("elsewhere.order_lines", kLines, {"order_id", "line_no"});
  MakeTable(
      "shop.payments",
      "id INT NOT NULL, t TINYINT, flag TINYINT, big DECIMAL(20,0), d DECIMAL(20,6), f FLOAT, g DOUBLE, b1 "
      "TINYINT, "
      "dt DATE, tm STRING, at TIMESTAMP(6), ts TIMESTAMP(3), y INT, e STRING, s ARRAY<STRING>, j STRING, raw "
      "BYTES, txt STRING",
      {"id"});
  const Status status = Run(StreamOf(Fixture("maxwell-mixed.jsonl"), EventFormat::kMaxwellJson), Options());
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (const SyncTableReport& table : report_.tables) EXPECT_EQ(table.quarantine, "");
  for (const char* table : {"shop.order_lines", "elsewhere.order_lines"})
    EXPECT_THAT(Rows(table), ElementsAreArray(ExpectedRows("maxwell-mixed.expected.jsonl", table)));
  std::vector<std::string> payments = ExpectedRows("maxwell-mixed.expected.jsonl", "shop.payments");
  for (std::string& row : payments) {
    if (const size_t at = row.find("31 23:59"); at != std::string::npos) row[at + 2] = 'T';
  }
  EXPECT_THAT(Rows("shop.payments", {"f", "g", "b1", "dt", "tm", "ts", "y", "e", "s", "j", "raw"}),
              ElementsAreArray(payments));
}

TEST_F(EventSyncTest, QuarantinesTheTableWhoseEventsDoNotFitAndGoesOnWithTheOthers) {
  const auto canal = [](const char* table, const char* id) {
    return std::string(R"({"data":[{"id":")") + id +
           R"("}],"database":"d","isDdl":false,"mysqlType":{"id":"int"},)" +
           R"("old":null,"pkNames":["id"],"table":")" + table + R"(","type":"INSERT"})" + "\n";
  };
  const std::string path = Write(
      "in.jsonl", canal("a", "1") + canal("b", "1") + canal("a", "x") + canal("b", "2") + canal("a", "2"));
  ASSERT_TRUE(Run(StreamOf(path, EventFormat::kCanalJson), Options()).ok());
  EXPECT_THAT(Rows("d.a"), ElementsAre("id=1"));
  EXPECT_THAT(Rows("d.b"), ElementsAre("id=1", "id=2"));
  ASSERT_EQ(report_.tables.size(), 2u);
  EXPECT_THAT(report_.tables[0].quarantine, HasSubstr("line 3"));
  EXPECT_EQ(report_.tables[0].dead_letters, 2);

  // A line that is of no table stops the sync, and what came before it is kept.
  Write("in.jsonl", canal("a", "1") + canal("b", "1") + canal("a", "x") + canal("b", "2") + canal("a", "2") +
                        canal("b", "3") + "{\n" + canal("b", "4"));
  EXPECT_THAT(Run(StreamOf(path, EventFormat::kCanalJson), Options()).ToString(), HasSubstr("line 7"));
  EXPECT_THAT(Rows("d.b"), ElementsAre("id=1", "id=2", "id=3"));
  EXPECT_FALSE(report_.tables[0].quarantine.empty());
}

// Each run is stopped without a commit at another record; the next goes on from what the tables hold.
TEST_F(EventSyncTest, TakesEachEventOnceHoweverOftenItIsKilled) {
  for (const int64_t rows_a_commit : {1, 3, 1000}) {
    store_ = std::make_shared<MemoryStore>();
    const std::vector<std::string> lines = LinesOf(ReadFixture("multi-table.debezium-schema.jsonl"));
    SyncOptions options = Options();
    options.commit_every.rows = rows_a_commit;
    for (size_t killed_at = 1; killed_at < lines.size(); killed_at += 3) {
      EventStream stream = StreamOf(Fixture("multi-table.debezium-schema.jsonl"), EventFormat::kDebeziumJson,
                                    Fixture("multi-table.debezium.keys.jsonl"));
      // Dies like a process: an error of the machine, after which nothing is committed.
      stream.open = [open = stream.open,
                     killed_at](const Position& position) -> Result<std::unique_ptr<RecordSource>> {
        struct Dying final : RecordSource {
          std::unique_ptr<RecordSource> inner;
          size_t left = 0;
          Result<Event> Next() override {
            if (left-- == 0) return IoError("killed");
            return inner->Next();
          }
          void Unread() override { ++left, inner->Unread(); }
          std::string_view value() const override { return inner->value(); }
          std::optional<std::string_view> key() const override { return inner->key(); }
          RecordPlace place() const override { return inner->place(); }
          void Stamp(Position* stamped) const override { inner->Stamp(stamped); }
          Result<bool> IsBefore(const Position& other) const override { return inner->IsBefore(other); }
        };
        auto dying = std::make_unique<Dying>();
        HEADRACE_ASSIGN_OR_RETURN(dying->inner, open(position));
        dying->left = killed_at;
        return dying;
      };
      (void)Run(stream, options);
    }
    ASSERT_TRUE(Run(StreamOf(Fixture("multi-table.debezium-schema.jsonl"), EventFormat::kDebeziumJson,
                             Fixture("multi-table.debezium.keys.jsonl")),
                    options)
                    .ok());
    for (const char* table : {"public.customers", "public.orders", "archive.orders"})
      EXPECT_THAT(Rows(table), ElementsAreArray(ExpectedRows("multi-table.expected.jsonl", table))) << table;
  }
}

// Topics as a broker has them: records are in order within a partition, and partitions come in any order, another one in each run. It dies like a
// process after `left` records.
class GivenTopics final : public RecordSource {
 public:
  using Partitions = std::map<std::pair<std::string, int>, std::vector<std::string>>;
  GivenTopics(const Partitions& partitions, const Position& position, Random* random, size_t left)
      : partitions_(partitions), random_(random), left_(left) {
    for (const PartitionPosition& one : position.partitions)
      next_[{one.topic, one.partition}] = one.next_offset;
  }
  Result<Event> Next() override {
    if (given_back_) {
      given_back_ = false;
      ++next_[last_];
      return Event::kRecord;
    }
    std::vector<Partitions::key_type> more;
    for (const auto& [name, records] : partitions_)
      if (next_[name] < static_cast<int64_t>(records.size())) more.push_back(name);
    if (more.empty()) return Event::kEnd;
    if (left_-- == 0) return IoError("killed");
    last_ = more[random_->Below(more.size())];
    ++next_[last_];
    return Event::kRecord;
  }
  void Unread() override { given_back_ = true, --next_[last_]; }
  std::string_view value() const override { return partitions_.at(last_)[place().number]; }
  std::optional<std::string_view> key() const override { return std::nullopt; }
  RecordPlace place() const override { return {last_.first, "offset", next_.at(last_) - 1}; }
  void Stamp(Position* position) const override {
    position->partitions.clear();
    for (const auto& [name, records] : partitions_)
      position->partitions.push_back({name.first, name.second, next_.contains(name) ? next_.at(name) : 0});
  }
  Result<bool> IsBefore(const Position& position) const override {
    for (const PartitionPosition& one : position.partitions)
      if (std::pair(one.topic, static_cast<int>(one.partition)) == last_)
        return place().number < one.next_offset;
    return false;
  }

 private:
  const Partitions& partitions_;
  Random* const random_;
  size_t left_;
  std::map<Partitions::key_type, int64_t> next_;
  Partitions::key_type last_;
  bool given_back_ = false;
};

// Of several partitions: a table that is ahead of another one by some of them must not go back by the rest.
TEST_F(EventSyncTest, TakesEachEventOfManyPartitionsOnceHoweverOftenItIsKilled) {
  for (const uint64_t seed : testing::SeedsToPlay(3)) {
    SCOPED_TRACE("HEADRACE_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto faults = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
    store_ = faults;
    GivenTopics::Partitions partitions;
    std::map<std::string, std::vector<std::string>> expected;
    for (const std::string table : {"a", "b", "c"}) {
      MakeTable("s." + table, "id INT NOT NULL", {"id"}, "input");
      for (int id = 0; id < 20; ++id) {
        partitions[{table, static_cast<int>(random.Below(3))}].push_back(
            R"({"before":null,"after":{"id":)" + std::to_string(id) +
            R"(},"op":"c","source":{"schema":"s","table":")" + table + R"("}})");
        expected[table].push_back("+I|" + std::to_string(id));
      }
    }
    EventStream stream = StreamOf("topics", EventFormat::kDebeziumJson);
    SyncOptions options = Options();
    options.commit_every.rows = 1 + static_cast<int64_t>(random.Below(6));
    Status status = IoError("not run");
    for (int run = 0; !status.ok() && run < 1000; ++run) {
      // Killed at a record, or in the middle of the tables' commits.
      if (random.OneIn(2))
        faults->SetPlan({FaultKind::kPublishDoneAndStop, static_cast<int64_t>(random.Below(6))});
      stream.open = [&](const Position& position) -> Result<std::unique_ptr<RecordSource>> {
        return std::make_unique<GivenTopics>(partitions, position, &random, random.Below(40));
      };
      status = Run(stream, options);
      faults->SetPlan({});
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (auto& [table, changes] : expected) {
      std::vector<std::string> found =
          ChangesOf(Must(catalog().OpenTable(NameOfTable("s." + table), Access::kRead)));
      std::sort(found.begin(), found.end());
      std::sort(changes.begin(), changes.end());
      ASSERT_EQ(found, changes) << table;
    }
  }
}

TEST_F(EventSyncTest, ATopicThatIsLeftOutForAWhileGoesOnWhereItWas) {
  const auto event = [](const std::string& table, int id) {
    return R"({"before":null,"after":{"id":)" + std::to_string(id) +
           R"(},"op":"c","source":{"schema":"s","table":")" + table + R"("}})";
  };
  Random random(1);
  GivenTopics::Partitions both;
  for (const std::string table : {"a", "b"}) {
    MakeTable("s." + table, "id INT NOT NULL", {"id"}, "input");
    for (int id = 0; id < 3; ++id) both[{table, id % 2}].push_back(event(table, id));
  }
  EventStream stream = StreamOf("topics", EventFormat::kDebeziumJson);
  const auto run = [&](const GivenTopics::Partitions& partitions) {
    stream.open = [&](const Position& position) -> Result<std::unique_ptr<RecordSource>> {
      return std::make_unique<GivenTopics>(partitions, position, &random, 1000);
    };
    const Status status = Run(stream, Options());
    EXPECT_TRUE(status.ok()) << status.ToString();
  };
  run(both);
  GivenTopics::Partitions one = both;
  std::erase_if(one, [](const auto& partition) { return partition.first.first == "b"; });
  one[{"a", 0}].push_back(event("a", 3));
  run(one);
  both[{"a", 0}].push_back(event("a", 3));
  both[{"b", 1}].push_back(event("b", 3));
  run(both);
  for (const std::string table : {"a", "b"}) {
    const Table opened = Must(catalog().OpenTable(NameOfTable("s." + table), Access::kRead));
    EXPECT_THAT(ChangesOf(opened), ::testing::UnorderedElementsAre("+I|0", "+I|1", "+I|2", "+I|3")) << table;
  }
}

TEST(EventRoutes, TellWhoseEventALineIs) {
  JsonTape tape, inner;
  const auto route = [&](EventFormat format, const char* line) {
    const EventRoute found = RouteOf(format, line, &tape, &inner);
    std::string text = found.to == EventRoute::To::kEverybody ? "everybody" : "";
    for (const std::string& table : found.tables) text += (text.empty() ? "" : ",") + table;
    return text;
  };
  EXPECT_EQ(
      route(
          EventFormat::kWal2Json,
          R"({"change":[{"kind":"insert","schema":"s","table":"a"},{"kind":"delete","schema":"s","table":"b"},)"
          R"({"kind":"insert","schema":"s","table":"a"}]})"),
      "s.a,s.b");
  EXPECT_EQ(route(EventFormat::kDebeziumJson,
                  R"({"key":null,"value":"{\"op\":\"c\",\"source\":{\"schema\":\"s\",\"table\":\"t\"}}"})"),
            "s.t");
  EXPECT_EQ(route(EventFormat::kDebeziumJson, R"({"ddl":"x","source":{}})"), "everybody");
  for (const char* line : {"", "null", "{", "[]", "{}", R"({"op":"c"})", R"({"payload":1,"schema":2})"})
    EXPECT_EQ(route(EventFormat::kDebeziumJson, line), "") << line;
}

}  // namespace
}  // namespace headrace::ingest
