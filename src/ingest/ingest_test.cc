// Whole ingests: files into real tables in a memory store, read back.
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/encoded_bytes.h"
#include "ingest/ingest_test_kit.h"
#include "ingest/jobs.h"
#include "io/fault_store.h"

namespace headrace::ingest {
namespace {

using ::headrace::testing::MakeTestTable;
using ::headrace::testing::Must;
using ::headrace::testing::Reopened;
using ::headrace::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(IngestTest, ACaptureEndsInTheRowsOfTheSourceHoweverOftenItCommits) {
  for (const char* name :
       {"customers", "customers-default-identity", "customers-meta", "mariadb-customers"}) {
    for (const int64_t every : {1, 7, 100000}) {
      const TestTable made = Customers();
      IngestOptions options = OptionsFor(Fixture(std::string(name) + ".debezium.jsonl"));
      options.commit_every.rows = every;
      IngestReport report;
      const Status status = RunIngest(made.table, options, &report);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(report.applied + report.ignored + report.dead_letters, report.lines);
      EXPECT_EQ(report.lines,
                static_cast<int64_t>(LinesOf(ReadFixture(std::string(name) + ".debezium.jsonl")).size()));
      const char* source = std::string(name) == "mariadb-customers" ? "customers" : "public.customers";
      EXPECT_THAT(RowsOf(made.table),
                  ElementsAreArray(ExpectedRows(std::string(name) + ".expected.jsonl", source)))
          << name << " " << every;
    }
  }
}

TEST_F(IngestTest, TwoProcessesOfOneJobNeverApplyARecordTwiceNorLoseOne) {
  std::string events;
  for (int id = 0; id < 300; ++id) events += Customer(id, "n");
  const std::string input = Write("same.jsonl", events);
  for (const auto& [first, second] :
       {std::pair<int64_t, int64_t>{50, 70}, {1000, 50}, {50, 1000}, {20, 20}, {7, 300}}) {
    const TestTable made = Customers({{"bucket", "2"}, {"changelog-producer", "input"}});
    const auto run = [&](int64_t every) {
      IngestOptions options = OptionsFor(input);
      options.job = "nightly";
      options.commit_every.rows = every;
      IngestReport report;
      return RunIngest(made.table, options, &report);
    };
    Status other;
    std::thread beside([&] { other = run(second); });
    const Status status = run(first);
    beside.join();
    EXPECT_TRUE(status.ok() || other.ok()) << status << other;
    for (const Status& stopped : {status, other}) {
      if (stopped.ok()) continue;
      EXPECT_EQ(KindOf(stopped), ErrorKind::kCommitConflict) << stopped;
      EXPECT_THAT(stopped.message(), HasSubstr("another process runs the job 'nightly'"));
    }
    EXPECT_THAT(RowsOf(made.table), SizeIs(300)) << first << " beside " << second;
    std::vector<std::string> changes = ChangesOf(made.table);
    EXPECT_THAT(changes, SizeIs(300)) << first << " beside " << second;
  }
}

TEST_F(IngestTest, APlainKeyChangeTakesTheOldRowAwayWhateverTheChangelogProducer) {
  const std::string input = Write("plain.jsonl", R"({"op":"+I","id":1,"v":"a"}
{"op":"-U","id":1,"v":"a"}
{"op":"+U","id":2,"v":"a"}
)");
  for (const char* producer : {"none", "input"}) {
    const TestTable made = MakeTestTable("id INT NOT NULL, v STRING", {"id"},
                                         {{"bucket", "1"}, {"changelog-producer", producer}});
    IngestOptions options = OptionsFor(input);
    options.format = EventFormat::kJson;
    options.kind_column = "op";
    IngestReport report;
    ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
    EXPECT_EQ(report.applied, 3);
    EXPECT_THAT(RowsOf(made.table), ElementsAre("id=2|v=a")) << producer;
  }
}

TEST_F(IngestTest, TheChangelogHasTheFourChangesOfCustomer8821InOrder) {
  const TestTable made = Customers({{"bucket", "4"}, {"changelog-producer", "input"}});
  IngestOptions options = OptionsFor(Fixture("customers.debezium.jsonl"));
  options.commit_every.rows = 3;
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  std::vector<std::string> changes;
  for (const std::string& change : ChangesOf(made.table)) {
    if (change.find("|8821|") != std::string::npos) changes.push_back(change);
  }
  const std::string who = "|8821|Marina Costa|marina.costa@correio.example|";
  EXPECT_THAT(changes,
              ElementsAre("+I" + who + "trial|Av. Paulista 1000", "-U" + who + "trial|Av. Paulista 1000",
                          "+U" + who + "pro|Av. Paulista 1000", "-U" + who + "pro|Av. Paulista 1000",
                          "+U" + who + "pro|Rua das Acácias 120", "-D" + who + "pro|Rua das Acácias 120"));
}

TEST_F(IngestTest, MalformedLinesGoToTheDeadLettersByteForByte) {
  const TestTable made = Customers();
  IngestOptions options = OptionsFor(Fixture("malformed.jsonl"));
  options.dead_letter_file = folder_ / "dead.jsonl";
  IngestReport report;
  const Status status = RunIngest(made.table, options, &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(report.lines, 77);
  EXPECT_EQ(report.applied, 20);
  EXPECT_EQ(report.ignored, 6);
  EXPECT_EQ(report.dead_letters, 51);

  std::vector<std::string> rows;
  for (const std::string& row : RowsOf(made.table)) {
    if (row.find("customer_id=788") == std::string::npos) rows.push_back(row);
  }
  EXPECT_THAT(rows, ElementsAreArray(ExpectedRows("malformed.expected.jsonl", "public.customers")));

  const std::vector<std::string> lines = LinesOf(ReadFixture("malformed.jsonl"));
  std::ifstream file(options.dead_letter_file);
  std::string text;
  JsonTape tape;
  int letters = 0;
  while (std::getline(file, text)) {
    ASSERT_TRUE(tape.Parse(text)) << text.substr(0, 200);
    const int line = std::stoi(std::string(FindMember(tape.root(), "line")->view()));
    std::string record;
    if (const JsonToken* plain = FindMember(tape.root(), "record")) {
      record = plain->view();
    } else {
      ASSERT_TRUE(DecodeBase64(FindMember(tape.root(), "recordBase64")->view(), false, &record));
    }
    EXPECT_EQ(record, lines[line - 1]) << line;
    EXPECT_GT(FindMember(tape.root(), "reason")->length, 0u);
    ++letters;
  }
  EXPECT_EQ(letters, 51);
}

TEST_F(IngestTest, MalformedLinesStopAtTheFirstOne) {
  const TestTable made = Customers();
  IngestReport report;
  EXPECT_THAT(
      RunIngest(made.table, OptionsFor(Fixture("malformed.jsonl")), &report).ToString(),
      HasSubstr("malformed.jsonl, line 4: not JSON: Missing a closing quotation mark in string, at byte 54"));
  EXPECT_EQ(report.lines, 3);
  EXPECT_THAT(RowsOf(made.table), SizeIs(1));
}

TEST_F(IngestTest, ABadRecordStopsWithItsPlaceAndWhatCameBeforeIsCommitted) {
  const TestTable made = Customers();
  const std::string good = Customer(1, "one") + Customer(2, "two");
  const std::string path =
      Write("in.jsonl", good + Customer(3, "three").insert(40, "\"x\":1,") + Customer(4, "four"));
  IngestReport report;
  const Status status = RunIngest(made.table, OptionsFor(path), &report);
  EXPECT_THAT(status.ToString(), HasSubstr("in.jsonl, line 3, field after.x"));
  EXPECT_THAT(RowsOf(made.table), SizeIs(2));
  EXPECT_EQ(report.lines, 2);
  EXPECT_EQ(report.applied, 2);

  // The record mended, the same command goes on with it.
  Write("in.jsonl", good + Customer(3, "three") + Customer(4, "four"));
  IngestReport again;
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(path), &again).ok());
  EXPECT_TRUE(again.resumed);
  EXPECT_EQ(again.lines, 2);
  EXPECT_EQ(again.job_lines, 4);
  EXPECT_THAT(RowsOf(made.table), SizeIs(4));
}

TEST_F(IngestTest, WhatIsIngestedIsNotIngestedAgain) {
  const TestTable made = MakeTestTable("a INT, b STRING", {}, {{"bucket", "-1"}});
  const std::string path = Write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n");
  IngestReport first;
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(path), &first).ok());
  IngestReport second;
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(path), &second).ok());
  EXPECT_TRUE(second.already_ingested);
  EXPECT_EQ(second.last_snapshot, first.last_snapshot);
  EXPECT_EQ(second.commits, 0);
  EXPECT_THAT(RowsOf(made.table), SizeIs(2));

  // New lines at its end are.
  Write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n{\"a\":3}\n");
  IngestReport third;
  ASSERT_TRUE(RunIngest(made.table, OptionsFor(path), &third).ok());
  EXPECT_FALSE(third.already_ingested);
  EXPECT_THAT(RowsOf(made.table), ElementsAre("a=1|b=x", "a=2|b=null", "a=3|b=null"));

  // Other bytes are another input.
  Write("in.jsonl", "{\"a\":9}\n{\"a\":8}\n{\"a\":7}\n{\"a\":6,\"b\":\"padding of some length\"}\n");
  IngestReport changed;
  EXPECT_THAT(RunIngest(made.table, OptionsFor(path), &changed).ToString(), HasSubstr("not the same input"));

  IngestOptions once_more = OptionsFor(path);
  once_more.again = true;
  IngestReport again;
  ASSERT_TRUE(RunIngest(made.table, once_more, &again).ok());
  EXPECT_EQ(again.lines, 4);
  EXPECT_THAT(RowsOf(made.table), SizeIs(7));
}

// Stopped at every operation of the store in turn and started again, the rows are there exactly once: an append table would show a repeat.
TEST_F(IngestTest, AnIngestThatDiesAnywhereIsTakenUpExactlyOnce) {
  std::string lines;
  std::vector<std::string> expected;
  for (int i = 10; i < 30; ++i) {
    lines += i % 7 == 0 ? "bad line\n" : "{\"a\":" + std::to_string(i) + "}\n";
    if (i % 7 != 0) expected.push_back("a=" + std::to_string(i));
  }
  const std::string path = Write("in.jsonl", lines);
  for (const FaultKind kind : {FaultKind::kStop, FaultKind::kPublishDoneAndStop, FaultKind::kPublishUnknown,
                               FaultKind::kPublishUnknownLost}) {
    bool fired = true;
    for (int64_t at = 0; fired; at += kind == FaultKind::kStop ? 1 + at / 30 : 1) {
      const TestTable made = MakeTestTable("a INT", {}, {{"bucket", "-1"}});
      IngestOptions options = OptionsFor(path);
      options.format = EventFormat::kJson;
      options.commit_every.rows = 4;
      options.dead_letter_file =
          folder_ / ("dead-" + std::to_string(static_cast<int>(kind)) + "-" + std::to_string(at));
      auto faults = std::make_shared<FaultStore>(made.store);
      const Table table = Reopened(made.table, faults);
      faults->SetPlan({kind, at});
      IngestReport ended_early;
      const Status first = RunIngest(table, options, &ended_early);
      fired = faults->fired();
      const std::string place =
          std::string(NameOf(kind)) + " at " + std::to_string(at) + ": " + first.ToString();
      IngestReport report;
      const Status status = RunIngest(made.table, options, &report);
      ASSERT_TRUE(status.ok()) << status << " after " << place;
      EXPECT_THAT(RowsOf(made.table), ElementsAreArray(expected)) << place;
      EXPECT_EQ(report.job_dead_letters, 3) << place;
      std::ifstream letters(options.dead_letter_file);
      EXPECT_EQ(std::count(std::istreambuf_iterator<char>(letters), {}, '\n'), 3) << place;
    }
  }
}

TEST_F(IngestTest, ValuesThatWereNotSentComeFromTheTableHoweverOftenItCommits) {
  for (const int64_t every : {1, 2, 3, 5, 100000}) {
    const TestTable made = MakeTestTable(
        "doc_id INT NOT NULL, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, "
        "numbers ARRAY<INT>",
        {"doc_id"}, {{"bucket", "2"}});
    IngestOptions options = OptionsFor(Fixture("pk-change.debezium.jsonl"));
    options.source_table = "public.documents";
    options.modes.binary = BinaryMode::kBase64;
    options.commit_every.rows = every;
    IngestReport report;
    const Status status = RunIngest(made.table, options, &report);
    ASSERT_TRUE(status.ok()) << status << " every " << every;
    EXPECT_THAT(RowsOf(made.table, {"attrs"}),
                ElementsAreArray(ExpectedRows("pk-change.expected.jsonl", "public.documents", {"attrs"})))
        << every;
  }
}

TEST_F(IngestTest, ATruncateDeletesEveryLiveRow) {
  const TestTable made = MakeTestTable("visit_id INT NOT NULL, page STRING", {"visit_id"},
                                       {{"bucket", "1"}, {"changelog-producer", "input"}});
  IngestOptions options = OptionsFor(Fixture("pk-change.debezium.jsonl"));
  options.source_table = "visits";
  IngestReport report;
  const Status status = RunIngest(made.table, options, &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(RowsOf(made.table),
              ElementsAreArray(ExpectedRows("pk-change.expected.jsonl", "public.visits")));
  const std::vector<std::string> changes = ChangesOf(made.table);
  EXPECT_EQ(
      std::count_if(changes.begin(), changes.end(), [](const std::string& c) { return c.starts_with("-D"); }),
      3);

  options.truncate_deletes = false;
  const TestTable other =
      MakeTestTable("visit_id INT NOT NULL, page STRING", {"visit_id"}, {{"bucket", "1"}});
  EXPECT_THAT(RunIngest(other.table, options, &report).ToString(), HasSubstr("is a truncate"));
}

TEST_F(IngestTest, APackedStreamOfManyTablesGivesTheOneChosen) {
  const TestTable made =
      MakeTestTable("aid INT NOT NULL, bid INT, abalance INT, filler STRING", {"aid"}, {{"bucket", "2"}});
  IngestOptions options = OptionsFor(Fixture("pgbench.debezium.jsonl.zst"));
  options.source_table = "accounts";
  options.commit_every.rows = 1000;
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_EQ(report.lines, 20040);
  EXPECT_GT(report.ignored_by_rule["another source table"], 0);
  EXPECT_THAT(RowsOf(made.table),
              ElementsAreArray(ExpectedRows("pgbench.expected.jsonl.zst", "public.accounts")));
}

TEST_F(IngestTest, SeveralSourceTablesWithoutAChoiceAreRefusedByName) {
  const TestTable made = Customers();
  IngestReport report;
  EXPECT_THAT(RunIngest(made.table, OptionsFor(Fixture("multi-table.debezium.jsonl")), &report).ToString(),
              HasSubstr("3 source tables (public.customers, public.orders, archive.orders)"));
  EXPECT_FALSE(Must(ReadLatestSnapshot(made.table)).has_value());
}

TEST_F(IngestTest, ForeignFormsAreRefusedBeforeAnythingIsWritten) {
  const TestTable made = Customers();
  IngestReport report;
  const Status status = RunIngest(made.table, OptionsFor(Fixture("customers.pgoutput.hex")), &report);
  EXPECT_TRUE(IsKind(status, ErrorKind::kUnsupported)) << status;
  EXPECT_FALSE(Must(ReadLatestSnapshot(made.table)).has_value());
}

TEST_F(IngestTest, AFormReadAsAnotherIsRefusedAndTheRightOneNamed) {
  const std::map<std::string, std::string> forms = {
      {"canal-customers.jsonl", "say --format canal-json"},
      {"maxwell-customers.jsonl", "say --format maxwell-json"},
      {"customers.wal2json-v2.jsonl", "say --format wal2json"},
      {"customers.wal2json-v1.jsonl", "say --format wal2json"},
      {"customers.test-decoding.txt", "say --format test-decoding"},
      {"customers.flat.jsonl", "say --format debezium-flat"}};
  for (const auto& [name, advice] : forms) {
    const TestTable made = Customers();
    IngestOptions options = OptionsFor(Fixture(name));
    options.format = EventFormat::kDebeziumJson;
    IngestReport report;
    EXPECT_THAT(RunIngest(made.table, options, &report).ToString(), HasSubstr(advice));
    EXPECT_FALSE(Must(ReadLatestSnapshot(made.table)).has_value());
  }
}

// Each form is known by itself, and its types make the table.
TEST_F(IngestTest, FormsAreKnownByThemselvesAndMakeTheirTables) {
  struct Form {
    const char* fixture;
    const char* source_table;
    std::vector<std::string> key;
    const char* columns;
  };
  const std::vector<Form> forms = {
      {"canal-mixed.jsonl",
       "shop.payments",
       {},
       "id INT, t TINYINT, flag TINYINT, big DECIMAL(20, 0), d DECIMAL(20, 6), f FLOAT, g DOUBLE, b1 BIGINT, "
       "b9 BIGINT, dt STRING, tm STRING, at STRING, ts TIMESTAMP(3), y INT, e STRING, s STRING, j STRING, "
       "raw BYTES, txt STRING"},
      {"maxwell-customers.jsonl",
       "",
       {},
       "customer_id BIGINT, name STRING, email STRING, plan STRING, address STRING"},
      {"pk-change.wal2json-v2.jsonl",
       "order_lines",
       {},
       "line_no INT, order_id BIGINT, sku STRING, quantity INT"},
      {"customers.wal2json-v1.jsonl",
       "",
       {"customer_id"},
       "customer_id BIGINT, name STRING, email STRING, plan STRING, address STRING"},
      {"customers.test-decoding.txt",
       "",
       {"customer_id"},
       "customer_id BIGINT, name STRING, email STRING, plan STRING, address STRING"},
      {"pk-change.test-decoding.txt",
       "documents",
       {"doc_id"},
       "doc_id INT, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, numbers "
       "ARRAY<INT>"},
      {"customers.flat.jsonl",
       "",
       {"customer_id"},
       "customer_id BIGINT, name STRING, email STRING, plan STRING, address STRING"}};
  for (const Form& form : forms) {
    IngestOptions options = OptionsFor(Fixture(form.fixture));
    options.source_table = form.source_table;
    const auto ingestion = Must(Ingestion::Open(options));
    const NewTable table = Must(ingestion->ProposeTable({form.key, {}, {}}));
    std::string columns;
    for (const DataField& field : table.fields)
      columns += (columns.empty() ? "" : ", ") + field.name + " " + ToSql(field.type);
    EXPECT_EQ(columns, form.columns) << form.fixture;
    EXPECT_FALSE(table.primary_keys.empty());
  }
}

TEST_F(IngestTest, JobsAreListedAndDropped) {
  const TestTable made = Customers();
  const std::string path = Write("in.jsonl", Customer(1, "one"));
  IngestOptions options = OptionsFor(path);
  options.job = "nightly";
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_EQ(report.job, "nightly");
  const std::vector<JobInfo> jobs = Must(ListJobs(made.table));
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].job, "nightly");
  EXPECT_EQ(jobs[0].position.lines, 1);
  EXPECT_TRUE(jobs[0].position.finished);

  ASSERT_TRUE(DropJob(made.table, "nightly").ok());
  EXPECT_THAT(Must(ListJobs(made.table)), SizeIs(0));
  EXPECT_FALSE(Must(FindPosition(made.table, "nightly")).has_value());
  EXPECT_TRUE(IsKind(DropJob(made.table, "nightly"), ErrorKind::kNotFound));
  IngestReport again;
  ASSERT_TRUE(RunIngest(made.table, options, &again).ok());
  EXPECT_FALSE(again.resumed);
  EXPECT_EQ(again.lines, 1);
}

TEST_F(IngestTest, TheConsumerKeepsTheSnapshotWithThePositionUntilTheJobEnds) {
  const TestTable made = Customers();
  const std::string path = Write("in.jsonl", Customer(1, "one") + "bad\n");
  IngestOptions options = OptionsFor(path);
  options.job = "j";
  IngestReport report;
  EXPECT_FALSE(RunIngest(made.table, options, &report).ok());
  const std::string consumer = made.table.path + "/consumer/consumer-headrace-j";
  EXPECT_THAT(Must(made.store->ReadAll(consumer)), HasSubstr("\"nextSnapshot\" : 1"));
  Write("in.jsonl", Customer(1, "one"));
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_FALSE(Must(made.store->Stat(consumer)).has_value());
}

TEST_F(IngestTest, CancellingCommitsWhatIsWhole) {
  const TestTable made = Customers();
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += Customer(i, "n");
  IngestOptions options = OptionsFor(Write("in.jsonl", lines));
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  options.progress = [&](const IngestProgress& progress) { cancel = progress.lines_read >= 64; };
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_TRUE(report.cancelled);
  EXPECT_GE(report.lines, 64);
  EXPECT_LT(report.lines, 1000);
  EXPECT_THAT(RowsOf(made.table), SizeIs(report.lines));
  cancel = false;
  options.progress = nullptr;
  IngestReport rest;
  ASSERT_TRUE(RunIngest(made.table, options, &rest).ok());
  EXPECT_TRUE(rest.resumed);
  EXPECT_THAT(RowsOf(made.table), SizeIs(1000));
}

TEST_F(IngestTest, WithASequenceFieldValuesThatWereNotSentComeFromTheRowThatWins) {
  const TestTable made = MakeTestTable("id INT NOT NULL, seq INT, v STRING, big STRING", {"id"},
                                       {{"bucket", "1"}, {"sequence.field", "seq"}});
  const std::string unsent = "\"__debezium_unavailable_value\"";
  const std::string path = Write("in.jsonl", R"({"op":"c","after":{"id":1,"seq":5,"v":"a","big":"winner"}})"
                                             "\n"
                                             R"({"op":"u","after":{"id":1,"seq":3,"v":"late","big":"loser"}})"
                                             "\n"
                                             R"({"op":"u","after":{"id":1,"seq":6,"v":"b","big":)" +
                                                 unsent + "}}\n");
  IngestReport report;
  const Status status = RunIngest(made.table, OptionsFor(path), &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(RowsOf(made.table), ElementsAre("big=winner|id=1|seq=6|v=b"));
}

TEST_F(IngestTest, AProposedTableTakesTheWholeCapture) {
  for (const char* name :
       {"types.precise-adaptive.debezium-schema.jsonl.zst", "types.string-connect.debezium-schema.jsonl.zst",
        "mariadb-types.precise-adaptive.debezium-schema.jsonl.zst", "customers.debezium.jsonl"}) {
    IngestOptions options = OptionsFor(Fixture(name));
    options.dead_letter_file = folder_ / "dead";
    options.modes.binary = BinaryMode::kHex;
    const auto ingestion = Must(Ingestion::Open(options));
    CreateRequest request;
    request.primary_key = {std::string(name).starts_with("customers") ? "customer_id" : "id"};
    request.table_options = {{"bucket", "1"}};
    NewTable proposed = Must(ingestion->ProposeTable(request));
    const auto store = std::make_shared<MemoryStore>();
    const Table table = Must(
        Catalog(store, std::make_shared<ManualClock>(1), "/w").CreateTable({"db", "t"}, std::move(proposed)));
    IngestReport report;
    const Status status = ingestion->Run(table, &report);
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_EQ(report.applied + report.ignored + report.dead_letters, report.lines);
    std::filesystem::remove(options.dead_letter_file);
  }
}

TEST_F(IngestTest, WrongCommandsSayWhatIsWrong) {
  const TestTable made = Customers();
  IngestReport report;
  IngestOptions none = OptionsFor("x");
  none.inputs.clear();
  EXPECT_THAT(RunIngest(made.table, none, &report).ToString(), HasSubstr("no input"));
  EXPECT_THAT(RunIngest(made.table, OptionsFor(folder_ / "nothing.jsonl"), &report).ToString(),
              HasSubstr("there is no such file"));
  const std::string path = Write("text", "plain words\n");
  EXPECT_THAT(RunIngest(made.table, OptionsFor(path), &report).ToString(), HasSubstr("say so by --format"));
  IngestOptions twice = OptionsFor(path);
  twice.inputs.push_back(path);
  EXPECT_THAT(RunIngest(made.table, twice, &report).ToString(), HasSubstr("named twice"));
  IngestOptions job = OptionsFor(path);
  job.job = "a/b";
  EXPECT_THAT(RunIngest(made.table, job, &report).ToString(), HasSubstr("not a job name"));
}

}  // namespace
}  // namespace headrace::ingest
