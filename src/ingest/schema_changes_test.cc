// What events show of a changed source changes the table: whole ingests of the captures in which it does.
#include <gmock/gmock.h>

#include "catalog/catalog.h"
#include "catalog/schema_log.h"
#include "ingest/ingest_test_kit.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::Must;

class SchemaChanges : public IngestTest {
 protected:
  // The table that `--create` makes of the first events.
  Table Created(const IngestOptions& options, std::vector<std::string> key = {}) {
    const auto ingestion = Must(Ingestion::Open(options));
    const auto store = std::make_shared<MemoryStore>();
    const auto clock = std::make_shared<ManualClock>(1'700'000'000'000);
    NewTable table = Must(ingestion->ProposeTable({std::move(key), {}, {{"bucket", "2"}}}));
    return Must(Catalog(store, clock, "/w").CreateTable({"db", "t"}, std::move(table)));
  }
  static Table Newest(const Table& table) { return testing::Reopened(table, table.store); }
  static std::string ColumnsOf(const Table& table) {
    std::string columns;
    for (const DataField& field : table.schema->fields)
      columns += (columns.empty() ? "" : ", ") + field.name + " " + ToSql(field.type);
    return columns;
  }
};

// "a=1|b=null|c=1.500" as "a=1|c=1.5": what an expected row leaves out is null, and zeros at a fraction's end say nothing.
std::vector<std::string> Normal(const std::vector<std::string>& rows) {
  std::vector<std::string> normal;
  for (const std::string& row : rows) {
    std::string text;
    for (size_t begin = 0; begin < row.size();) {
      const size_t end = std::min(row.find('|', begin), row.size());
      std::string field = row.substr(begin, end - begin);
      begin = end + 1;
      if (field.ends_with("=null")) continue;
      if (field.starts_with("amount=") || field.starts_with("d=") || field.starts_with("since=")) {
        while (field.find('.') != std::string::npos && (field.back() == '0' || field.back() == '.'))
          field.pop_back();
        const size_t blank = field.find(' ');
        if (blank != std::string::npos) field[blank] = 'T';
      }
      text += (text.empty() ? "" : "|") + field;
    }
    normal.push_back(std::move(text));
  }
  std::sort(normal.begin(), normal.end());
  return normal;
}

TEST_F(SchemaChanges, OfPostgresAreFollowedByTheEventsSchema) {
  IngestOptions options = OptionsFor(Fixture("orders-evolving.debezium-schema.jsonl"));
  options.keys_file = Fixture("orders-evolving.debezium.keys.jsonl");
  const Table table = Created(options);
  IngestReport report;
  ASSERT_TRUE(RunIngest(table, options, &report).ok());
  const Table now = Newest(table);
  EXPECT_EQ(
      ColumnsOf(now),
      "order_id INT NOT NULL, customer STRING NOT NULL, amount DECIMAL(14, 4) NOT NULL, quantity BIGINT NOT "
      "NULL, legacy_code STRING, note STRING, channel STRING, priority STRING, remark STRING");
  EXPECT_THAT(Normal(RowsOf(now)),
              ElementsAreArray(Normal(ExpectedRows("orders-evolving.from-stream.jsonl", "public.orders"))));
  EXPECT_THAT(report.notes, ::testing::Contains("the source's table changed: retype quantity BIGINT"));
  EXPECT_EQ(report.lines, report.applied + report.ignored);

  IngestReport again;
  EXPECT_TRUE(RunIngest(now, options, &again).ok());
  EXPECT_TRUE(again.already_ingested);
}

// With a schema around the events and without: then the statements tell the types.
TEST_F(SchemaChanges, OfMariadbAreFollowedByItsStatements) {
  for (const char* form : {"mariadb-evolving.debezium.jsonl", "mariadb-evolving.debezium-schema.jsonl"}) {
    IngestOptions options = OptionsFor(Fixture(form));
    options.source_table = "orders";
    options.modes.decimal = DecimalMode::kPrecise;
    const auto made = testing::MakeTestTable(
        "order_id INT NOT NULL, customer VARCHAR(12) NOT NULL, amount DECIMAL(8,2) NOT NULL, quantity INT "
        "NOT NULL, "
        "legacy_code STRING, note STRING",
        {"order_id"}, {{"bucket", "2"}});
    IngestReport report;
    const Status status = RunIngest(made.table, options, &report);
    ASSERT_TRUE(status.ok()) << form << status.ToString();
    const Table now = Newest(made.table);
    EXPECT_EQ(now.schema->FieldIndex("legacy_code"), -1);
    EXPECT_EQ(now.schema->FieldIndex("note"), -1);
    EXPECT_THAT(
        Normal(RowsOf(now, {"priority"})),
        ElementsAreArray(Normal(ExpectedRows("mariadb-evolving.expected.jsonl", "orders", {"priority"}))))
        << form;

    // Another table of the same stream, which gets another name.
    options.source_table = "order_lines";
    const auto lines = testing::MakeTestTable("line_no INT NOT NULL, order_id INT NOT NULL, sku STRING",
                                              {"order_id", "line_no"}, {{"bucket", "2"}});
    ASSERT_TRUE(RunIngest(lines.table, options, &report).ok());
    EXPECT_THAT(RowsOf(lines.table),
                ElementsAreArray(ExpectedRows("mariadb-evolving.expected.jsonl", "order_items")));
  }
}

TEST_F(SchemaChanges, OfCanalAndMaxwellAreFollowed) {
  IngestOptions canal = OptionsFor(Fixture("canal-customers.jsonl"));
  const Table customers = Created(canal);
  IngestReport report;
  ASSERT_TRUE(RunIngest(customers, canal, &report).ok());
  EXPECT_EQ(ColumnsOf(Newest(customers)),
            "customer_id BIGINT NOT NULL, name STRING, email STRING, plan STRING, address STRING, since "
            "TIMESTAMP(3), score BIGINT");
  std::vector<std::string> expected = Normal(ExpectedRows("canal-customers.expected.jsonl", "customers"));
  for (std::string& row : expected) {
    if (row.find("|score=5") != std::string::npos)
      row.erase(row.find("|score=5"), 8);  // the default of the source
  }
  EXPECT_THAT(Normal(RowsOf(Newest(customers))), ElementsAreArray(expected));

  IngestOptions maxwell = OptionsFor(Fixture("maxwell-customers.jsonl"));
  const Table from_maxwell = Created(maxwell);
  ASSERT_TRUE(RunIngest(from_maxwell, maxwell, &report).ok());
  expected = Normal(ExpectedRows("maxwell-customers.expected.jsonl", "customers"));
  for (std::string& row : expected) {
    if (row.find("|score=5") != std::string::npos) row.erase(row.find("|score=5"), 8);
  }
  EXPECT_THAT(Normal(RowsOf(Newest(from_maxwell))), ElementsAreArray(expected));
}

TEST_F(SchemaChanges, OfOneStatementRetypeRenameAndDrop) {
  IngestOptions options = OptionsFor(Fixture("canal-mixed.jsonl"));
  options.source_table = "payments";
  const Table table = Created(options);
  IngestReport report;
  ASSERT_TRUE(RunIngest(table, options, &report).ok());
  const Table now = Newest(table);
  EXPECT_EQ(now.schema->FieldIndex("raw"), -1);
  EXPECT_EQ(now.schema->FieldIndex("txt"), -1);
  EXPECT_EQ(ToSql(now.schema->fields[now.schema->FieldIndex("d")].type), "DECIMAL(30, 10)");
  EXPECT_THAT(Normal(RowsOf(now, {"f", "g", "b1", "b9", "dt", "tm", "ts", "y", "e", "s", "j"})),
              ElementsAreArray(Normal(ExpectedRows("canal-mixed.expected.jsonl", "shop.payments"))));
}

TEST_F(SchemaChanges, OfWal2JsonAreFollowedByItsTypes) {
  const std::string path = Write(
      "in.jsonl",
      R"({"action":"I","schema":"s","table":"t","columns":[{"name":"id","type":"integer","value":1}],"pk":[{"name":"id","type":"integer"}]})"
      "\n"
      R"x({"action":"I","schema":"s","table":"t","columns":[{"name":"id","type":"integer","value":2},{"name":"a","type":"numeric(8,2)","value":1.50}]})x"
      "\n"
      R"x({"action":"I","schema":"s","table":"t","columns":[{"name":"id","type":"integer","value":3},{"name":"a","type":"numeric(10,4)","value":1.5001}]})x"
      "\n");
  IngestOptions options = OptionsFor(path);
  const Table table = Created(options);
  IngestReport report;
  ASSERT_TRUE(RunIngest(table, options, &report).ok());
  EXPECT_THAT(RowsOf(Newest(table)), ElementsAre("a=1.5000|id=2", "a=1.5001|id=3", "a=null|id=1"));
}

// The eight ALTERs of PostgreSQL, by each plugin's own words.
class EvolvingOrders : public SchemaChanges {
 protected:
  // Made by hand, filled with the rows before the capture, and then the capture.
  Table Follow(const std::string& capture, EventFormat format) {
    const auto made = testing::MakeTestTable(
        "order_id INT NOT NULL, customer VARCHAR(12) NOT NULL, amount DECIMAL(8,2) NOT NULL, quantity INT "
        "NOT "
        "NULL, legacy_code STRING, note STRING",
        {"order_id"}, {{"bucket", "2"}});
    std::string initial;
    JsonTape tape;
    for (const std::string& line : LinesOf(ReadFixture("orders-evolving.initial.jsonl"))) {
      EXPECT_TRUE(tape.Parse(line));
      AppendJson(*FindMember(tape.root(), "row"), &initial);
      initial += "\n";
    }
    IngestOptions options = OptionsFor(Write("initial.jsonl", initial));
    options.format = EventFormat::kJson;
    EXPECT_EQ(RunIngest(made.table, options, &report_).ToString(), Status::OK().ToString());
    IngestOptions events = OptionsFor(Fixture(capture));
    events.format = format;
    EXPECT_EQ(RunIngest(Newest(made.table), events, &report_).ToString(), Status::OK().ToString());
    EXPECT_EQ(report_.lines, report_.applied + report_.ignored);
    return Newest(made.table);
  }
  static std::vector<std::string> Expected(const std::vector<std::string>& leave_out) {
    return Normal(ExpectedRows("orders-evolving.from-stream.jsonl", "public.orders", leave_out));
  }
  IngestReport report_;
};

TEST_F(EvolvingOrders, AreFollowedByWal2Json) {
  for (const char* capture : {"orders-evolving.wal2json-v2.jsonl", "orders-evolving.wal2json-v1.jsonl"}) {
    const Table now = Follow(capture, EventFormat::kWal2Json);
    EXPECT_EQ(
        ColumnsOf(now),
        "order_id INT NOT NULL, customer VARCHAR(60) NOT NULL, amount DECIMAL(14, 4) NOT NULL, quantity "
        "BIGINT NOT NULL, legacy_code STRING, note STRING, channel VARCHAR(20), priority STRING, remark "
        "STRING");
    // A column that is left out did not change, for all that the plugin tells: note, which got another name, keeps its last value.
    EXPECT_THAT(Normal(RowsOf(now, {"note"})), ElementsAreArray(Expected({"note"}))) << capture;
  }
}

TEST_F(EvolvingOrders, AreFollowedByTestDecoding) {
  const Table now = Follow("orders-evolving.test-decoding.txt", EventFormat::kTestDecoding);
  EXPECT_EQ(
      ColumnsOf(now),
      "order_id INT NOT NULL, customer STRING NOT NULL, amount DECIMAL(14, 4) NOT NULL, quantity BIGINT "
      "NOT NULL, legacy_code STRING, note STRING, channel STRING, priority STRING, remark STRING");
  EXPECT_THAT(Normal(RowsOf(now)), ElementsAreArray(Expected({})));
}

TEST_F(EvolvingOrders, AreFollowedByFlattenedEventsWithTheirSchema) {
  IngestOptions options = OptionsFor(Fixture("orders-evolving.flat-schema.jsonl"));
  const Table table = Created(options, {"order_id"});
  ASSERT_EQ(RunIngest(table, options, &report_).ToString(), Status::OK().ToString());
  const Table now = Newest(table);
  EXPECT_EQ(
      ColumnsOf(now),
      "order_id INT NOT NULL, customer STRING NOT NULL, amount DECIMAL(14, 4) NOT NULL, quantity BIGINT "
      "NOT NULL, legacy_code STRING, note STRING, channel STRING, priority STRING, remark STRING");
  EXPECT_THAT(Normal(RowsOf(now)), ElementsAreArray(Expected({})));
}

// Without it a line of the new shape is refused; what came before it is there.
TEST_F(EvolvingOrders, AreRefusedWhereDebeziumsEventsHaveNoSchema) {
  std::vector<std::string> expected = ExpectedRows("orders-evolving.initial.jsonl", "public.orders");
  expected.emplace_back(
      "amount=50.00|customer=hanako|legacy_code=DDD|note=inserted before any change|order_id=5|quantity=5");
  std::sort(expected.begin(), expected.end());
  for (const char* form : {"orders-evolving.flat.jsonl", "orders-evolving.debezium.jsonl"}) {
    IngestOptions options = OptionsFor(Fixture(form));
    options.modes.decimal = DecimalMode::kPrecise;
    const auto made = testing::MakeTestTable(
        "order_id INT NOT NULL, customer STRING, amount DECIMAL(8,2), quantity INT, legacy_code STRING, note "
        "STRING",
        {"order_id"}, {{"bucket", "2"}});
    EXPECT_THAT(
        RunIngest(made.table, options, &report_).ToString(),
        ::testing::AllOf(HasSubstr("line 6"), HasSubstr("channel"), HasSubstr("no column of the table")));
    EXPECT_THAT(RowsOf(made.table), ElementsAreArray(expected)) << form;
  }
}

// Killed after the table was changed and before the next commit: the same record asks for a change that is made already.
TEST_F(SchemaChanges, ThatWereMadeBeforeAKillAreNotMadeTwice) {
  const std::vector<std::string> lines = LinesOf(ReadFixture("canal-mixed.jsonl"));
  std::string head;
  std::string all;
  for (size_t i = 0; i < lines.size(); ++i) {
    all += lines[i] + "\n";
    if (i < 9) head = all;
  }
  IngestOptions options = OptionsFor(Write("in.jsonl", head));
  options.source_table = "payments";
  const Table table = Created(options);
  IngestReport report;
  ASSERT_TRUE(RunIngest(table, options, &report).ok());
  ASSERT_TRUE(AlterSchema(table, {DropColumn{{"raw"}}, RenameColumn{{"txt"}, "remark"}}).ok());
  Write("in.jsonl", all);
  ASSERT_TRUE(RunIngest(Newest(table), options, &report).ok());
  EXPECT_THAT(Normal(RowsOf(Newest(table), {"f", "g", "b1", "b9", "dt", "tm", "ts", "y", "e", "s", "j"})),
              ElementsAreArray(Normal(ExpectedRows("canal-mixed.expected.jsonl", "shop.payments"))));
}

TEST_F(SchemaChanges, OfStandardInputGoOnWithoutReadingAgain) {
  // A table with a narrower type than its source widens when the first wide value comes, and not before.
  const std::string head =
      R"({"data":[{"id":"1","n":"5"}],"database":"d","isDdl":false,"mysqlType":{"id":"int","n":"bigint"},"old":null,"table":"t","type":"INSERT"})"
      "\n";
  const std::string wide =
      R"({"data":[{"id":"2","n":"5000000000"}],"database":"d","isDdl":false,"mysqlType":{"id":"int","n":"bigint"},"old":null,"table":"t","type":"INSERT"})"
      "\n";
  const auto made = testing::MakeTestTable("id INT NOT NULL, n INT", {"id"}, {{"bucket", "1"}});
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(Write("narrow.jsonl", head)), &report).ok());
  EXPECT_EQ(ColumnsOf(Newest(made.table)), "id INT NOT NULL, n INT");
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(Write("wide.jsonl", wide)), &report).ok());
  EXPECT_EQ(ColumnsOf(Newest(made.table)), "id INT NOT NULL, n BIGINT");
}

TEST_F(SchemaChanges, ThatTheTableCannotFollowMakeTheRecordBad) {
  const std::string drop =
      R"({"data":null,"database":"d","isDdl":true,"sql":"ALTER TABLE t DROP COLUMN id","table":"t","type":"ALTER"})";
  const std::string row =
      R"({"data":[{"id":"1","n":"5"}],"database":"d","isDdl":false,"mysqlType":{"id":"int","n":"int"},"old":null,"table":"t","type":"INSERT"})";
  const auto made = testing::MakeTestTable("id INT NOT NULL, n INT", {"id"}, {{"bucket", "1"}});
  IngestOptions options = OptionsFor(Write("in.jsonl", row + "\n" + drop + "\n" + drop + "\n" + row + "\n"));
  IngestReport report;
  EXPECT_THAT(RunIngest(made.table, options, &report).ToString(),
              ::testing::AllOf(HasSubstr("line 2"), HasSubstr("refused"), HasSubstr("id")));
  EXPECT_EQ(report.lines, 1);
  options.dead_letter_file = folder_ / "dead.jsonl";
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_EQ(report.dead_letters, 2);
  EXPECT_THAT(RowsOf(made.table), ElementsAre("id=1|n=5"));
}

TEST_F(SchemaChanges, AreNotTakenFromEventsOfAnotherTable) {
  const auto made = Customers();
  IngestOptions options = OptionsFor(Fixture("orders-evolving.debezium-schema.jsonl"));
  IngestReport report;
  EXPECT_THAT(RunIngest(made.table, options, &report).ToString(), HasSubstr("no column of the table"));
  EXPECT_EQ(Newest(made.table).schema->id, made.table.schema->id);
}

TEST_F(SchemaChanges, AreRefusedWhereThatWasAskedFor) {
  IngestOptions options = OptionsFor(Fixture("orders-evolving.debezium-schema.jsonl"));
  options.keys_file = Fixture("orders-evolving.debezium.keys.jsonl");
  const Table table = Created(options);
  options.follow_schema = false;
  IngestReport report;
  EXPECT_THAT(RunIngest(table, options, &report).ToString(), HasSubstr("no column of the table"));
  EXPECT_EQ(Newest(table).schema->id, table.schema->id);
}

}  // namespace
}  // namespace headrace::ingest
