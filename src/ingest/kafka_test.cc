// A topic as an ingest's input, against librdkafka's own mock cluster: places to start, gaps, coming back, the mirror. What a real broker adds
// (transactions, retention, kill -9) is in tests/interop/test_kafka.py.
#include <chrono>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/ingest_test_kit.h"
#include "ingest/jobs.h"
#include "ingest/kafka_source.h"
#include "ingest/mock_kafka.h"

namespace headrace::ingest {
namespace {

using ::headrace::testing::Must;
using ::headrace::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class KafkaTest : public IngestTest {
 protected:
  void SetUp() override {
    if (!kKafkaThreadsAreSeen) GTEST_SKIP() << "the thread sanitizer cannot follow librdkafka's threads";
    IngestTest::SetUp();
    kafka_ = std::make_unique<MockKafka>();
  }
  IngestOptions TopicOptions(const std::string& topic) {
    IngestOptions options = OptionsFor(kafka_->Address(topic));
    options.format = EventFormat::kDebeziumJson;
    options.kafka.until_end = true;
    return options;
  }
  void ProduceCustomers(const std::string& topic, int32_t partition, int from, int to) const {
    for (int id = from; id < to; ++id) kafka_->Produce(topic, partition, Customer(id, "n"));
  }
  static Status RunTopic(const TestTable& made, const IngestOptions& options, IngestReport* report) {
    return RunIngest(made.table, options, report);
  }

  std::unique_ptr<MockKafka> kafka_;
};

TEST_F(KafkaTest, EveryPartitionIsReadToItsEndAndOnFromThereNextTime) {
  kafka_->Create("t", 3);
  ProduceCustomers("t", 0, 0, 10);
  ProduceCustomers("t", 2, 10, 15);
  const TestTable made = Customers();
  IngestReport report;
  Status status = RunTopic(made, TopicOptions("t"), &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(report.applied, 15);
  EXPECT_EQ(report.lag, 0);
  EXPECT_THAT(RowsOf(made.table), SizeIs(15));

  ProduceCustomers("t", 1, 15, 18);
  ProduceCustomers("t", 2, 18, 20);
  status = RunTopic(made, TopicOptions("t"), &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(report.resumed);
  EXPECT_EQ(report.applied, 5);
  EXPECT_THAT(RowsOf(made.table), SizeIs(20));
  const std::vector<JobInfo> jobs = Must(ListJobs(made.table));
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(PlacesOf(jobs[0].position),
              ElementsAre("t/0 to offset 10", "t/1 to offset 3", "t/2 to offset 7"));
  EXPECT_FALSE(jobs[0].position.cluster.empty());
}

TEST_F(KafkaTest, FollowsUntilItIsStoppedAndCommitsByTime) {
  kafka_->Create("t", 1);
  ProduceCustomers("t", 0, 0, 3);
  const TestTable made = Customers();
  std::atomic<bool> cancel = false;
  IngestOptions options = TopicOptions("t");
  options.kafka.until_end = false;
  options.commit_every.milliseconds = 50;
  options.cancel = &cancel;
  IngestReport report;
  Status status;
  std::thread follower([&] { status = RunTopic(made, options, &report); });
  const auto wait_for = [&](size_t rows) {
    for (int i = 0; i < 300 && RowsOf(made.table).size() < rows; ++i) {
      made.clock->Advance(100);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_THAT(RowsOf(made.table), SizeIs(rows));
  };
  wait_for(3);
  kafka_->BreakConnections(5);
  ProduceCustomers("t", 0, 3, 5);
  wait_for(5);
  cancel = true;
  follower.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(report.cancelled);
  EXPECT_GE(report.commits, 2);
}

TEST_F(KafkaTest, AJobWithoutAPositionBeginsWhereItIsTold) {
  kafka_->Create("t", 2);
  ProduceCustomers("t", 0, 0, 10);
  ProduceCustomers("t", 1, 10, 20);
  for (const auto& [start, rows] :
       std::map<std::string, int>{{"", 20}, {"earliest", 20}, {"latest", 0}, {"offsets:0=9,1=8", 3}}) {
    const TestTable made = Customers();
    IngestOptions options = TopicOptions("t");
    options.kafka.start = start;
    IngestReport report;
    const Status status = RunTopic(made, options, &report);
    ASSERT_TRUE(status.ok()) << start << status;
    EXPECT_EQ(report.applied, rows) << start;
  }
}

TEST_F(KafkaTest, WhereANewJobBeginsIsKeptAlsoWhenNothingComes) {
  kafka_->Create("t", 1);
  ProduceCustomers("t", 0, 0, 4);
  const TestTable made = Customers();
  IngestOptions options = TopicOptions("t");
  options.kafka.start = "latest";
  IngestReport report;
  ASSERT_TRUE(RunTopic(made, options, &report).ok());
  ProduceCustomers("t", 0, 4, 6);  // while the job is down
  ASSERT_TRUE(RunTopic(made, options, &report).ok());
  EXPECT_EQ(report.applied, 2);
}

TEST_F(KafkaTest, AnOffsetThatIsNotThereIsAnErrorThatNamesItAndWhatIs) {
  kafka_->Create("t", 2);
  ProduceCustomers("t", 0, 0, 3);
  const TestTable made = Customers();
  IngestOptions options = TopicOptions("t");
  options.kafka.start = "offsets:0=12,1=0";
  IngestReport report;
  const Status status = RunTopic(made, options, &report);
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalid);
  EXPECT_THAT(status.message(),
              HasSubstr("topic t, partition 0: offset 12 is wanted, the partition has offsets 0 up "
                        "to before 3"));
  options.kafka.start = "offsets:0=1";
  EXPECT_THAT(RunTopic(made, options, &report).message(),
              HasSubstr("partition 1: no offset is given for it"));
  options.kafka.start = "offsets:0=1,1=0,7=3";
  EXPECT_THAT(RunTopic(made, options, &report).message(),
              HasSubstr("for partition 7, but it has 2 partitions"));
}

TEST_F(KafkaTest, ABadRecordIsNamedByItsOffsetAndKeptAsideByIt) {
  kafka_->Create("t", 1);
  ProduceCustomers("t", 0, 0, 2);
  kafka_->Produce("t", 0, "{oops");
  ProduceCustomers("t", 0, 2, 3);
  const TestTable made = Customers();
  IngestReport report;
  IngestOptions options = TopicOptions("t");
  const Status status = RunTopic(made, options, &report);
  EXPECT_THAT(status.message(), HasSubstr("ingesting topic t, partition 0, offset 2: "));
  EXPECT_THAT(RowsOf(made.table), SizeIs(2));

  options.dead_letter_file = folder_ / "bad.jsonl";
  ASSERT_TRUE(RunTopic(made, options, &report).ok());
  EXPECT_EQ(report.dead_letters, 1);
  EXPECT_THAT(RowsOf(made.table), SizeIs(3));
  std::ifstream bad(folder_ / "bad.jsonl");
  std::string line;
  std::getline(bad, line);
  EXPECT_THAT(line, HasSubstr(R"("input":"topic t, partition 0","offset":2,)"));
  EXPECT_THAT(line, HasSubstr(R"("record":"{oops")"));
}

TEST_F(KafkaTest, MessagesOfASchemaRegistryAreRefusedByName) {
  kafka_->Create("t", 1);
  const std::string message("\0\0\0\0\1abc", 8);
  kafka_->Send("t", 0, message.data(), message.size(), "");
  const TestTable made = Customers();
  for (const EventFormat format : {EventFormat::kDebeziumJson, EventFormat::kJson, EventFormat::kCanalJson}) {
    IngestOptions options = TopicOptions("t");
    options.format = format;
    IngestReport report;
    const Status status = RunTopic(made, options, &report);
    EXPECT_FALSE(status.ok());
    if (format == EventFormat::kDebeziumJson) {
      EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << status;
      EXPECT_THAT(status.message(), HasSubstr("schema registry"));
    }
  }
}

TEST_F(KafkaTest, APlaceToStartIsForJobsThatBeginAndTheOthersSaySo) {
  kafka_->Create("t", 1);
  ProduceCustomers("t", 0, 0, 4);
  const TestTable made = Customers();
  IngestReport report;
  ASSERT_TRUE(RunTopic(made, TopicOptions("t"), &report).ok());
  IngestOptions options = TopicOptions("t");
  options.kafka.start = "offsets:0=1";
  ASSERT_TRUE(RunTopic(made, options, &report).ok());
  EXPECT_EQ(report.lines, 0);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("--start is for jobs that begin")));
}

TEST_F(KafkaTest, NullValuesKeysAndHeadersArriveAsADecoderWantsThem) {
  kafka_->Create("t", 1);
  kafka_->Send("t", 0, nullptr, 0, R"({"id":1})");
  kafka_->Send("t", 0, "x", 1, "Struct{id=1}");
  KafkaSourceOptions options;
  options.address = {kafka_->brokers(), "t"};
  options.group = "headrace-test";
  options.until_end = true;
  const std::unique_ptr<RecordSource> source = Must(OpenKafkaSource(options, Position()));
  std::vector<std::string> seen;
  while (true) {
    const RecordSource::Event event = Must(source->Next());
    if (event == RecordSource::Event::kEnd) break;
    if (event == RecordSource::Event::kRecord)
      seen.push_back(std::string(source->value()) + " " + std::string(source->key().value_or("")));
  }
  EXPECT_THAT(seen,
              ElementsAre(R"(null {"topic":"t","key":{"id":1},"headers":{"__debezium.oldkey":{"id":7}}})",
                          R"(x {"topic":"t","key":null,"headers":{"__debezium.oldkey":{"id":7}}})"));
}

TEST_F(KafkaTest, ARecordGivenBackComesAgainAndIsNotInThePosition) {
  kafka_->Create("t", 1);
  ProduceCustomers("t", 0, 0, 2);
  KafkaSourceOptions options;
  options.address = {kafka_->brokers(), "t"};
  options.group = "headrace-test";
  const std::unique_ptr<RecordSource> source = Must(OpenKafkaSource(options, Position()));
  const auto next_of = [&] {
    Position position;
    source->Stamp(&position);
    return position.partitions.at(0).next_offset;
  };
  while (Must(source->Next()) != RecordSource::Event::kRecord) {
  }
  const std::string first(source->value());
  EXPECT_EQ(next_of(), 1);
  source->Unread();
  EXPECT_EQ(next_of(), 0);
  EXPECT_EQ(Must(source->Next()), RecordSource::Event::kRecord);
  EXPECT_EQ(source->value(), first);
  EXPECT_EQ(next_of(), 1);
}

TEST_F(KafkaTest, APositionOfAnotherClusterIsRefused) {
  kafka_->Create("t", 1);
  Position position;
  position.partitions = {{"t", 0, 0}};
  position.cluster = "another";
  KafkaSourceOptions options;
  options.address = {kafka_->brokers(), "t"};
  options.group = "headrace-test";
  EXPECT_THAT(OpenKafkaSource(options, position).status().message(),
              HasSubstr("its position is of the Kafka cluster another"));
}

TEST_F(KafkaTest, WhatCannotBeIsRefusedBeforeAnyBrokerIsAsked) {
  const auto refused = [&](const std::function<void(IngestOptions*)>& change) {
    IngestOptions options = OptionsFor("kafka://127.0.0.1:1/t");
    options.format = EventFormat::kDebeziumJson;
    change(&options);
    const TestTable made = Customers();
    IngestReport report;
    const Status status = RunIngest(made.table, options, &report);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  EXPECT_THAT(refused([](auto* o) { o->inputs.push_back("a.jsonl"); }), HasSubstr("only input"));
  EXPECT_THAT(refused([](auto* o) { o->inputs = {"kafka://h:1/"}; }), HasSubstr("not a topic's name"));
  EXPECT_THAT(refused([](auto* o) { o->inputs = {"kafka://h:1"}; }), HasSubstr("names no topic"));
  EXPECT_THAT(refused([](auto* o) { o->format = EventFormat::kAuto; }), HasSubstr("by --format"));
  EXPECT_THAT(refused([](auto* o) { o->format = EventFormat::kCsv; }), HasSubstr("csv"));
  EXPECT_THAT(refused([](auto* o) { o->commit_every.file = true; }), HasSubstr("every file"));
  EXPECT_THAT(refused([](auto* o) { o->kafka.start = "yesterday"; }), HasSubstr("not a place to start"));
  EXPECT_THAT(refused([](auto* o) { o->kafka.start = "timestamp:noon"; }), HasSubstr("not a time"));
  EXPECT_THAT(refused([](auto* o) { o->kafka.start = "offsets:0=1,0=2"; }), HasSubstr("each partition once"));
  EXPECT_THAT(refused([](auto* o) {
                o->kafka.properties = {{"enable.auto.commit", "true"}};
              }),
              HasSubstr("cannot be chosen"));
  EXPECT_THAT(refused([](auto* o) { o->kafka.properties = {{"no.such", "1"}}; }), HasSubstr("no.such"));
  const std::string secret = refused([](auto* o) { o->kafka.properties = {{"ssl.key.password\n", "hush"}}; });
  EXPECT_EQ(secret.find("hush"), std::string::npos);
  EXPECT_THAT(refused([&](auto* o) {
                o->inputs = {Write("a.jsonl", Customer(1, "n"))};
                o->kafka.until_end = true;
              }),
              HasSubstr("is for topics"));
}

}  // namespace
}  // namespace headrace::ingest
