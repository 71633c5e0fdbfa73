// Several topics as one stream, against librdkafka's own mock cluster, and what options go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "catalog/catalog.h"
#include "ingest/event_stream.h"
#include "ingest/ingest_test_kit.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Must;

class Broker {
 public:
  Broker() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    char error[512];
    rd_kafka_conf_set(conf, "log_level", "0", error, sizeof(error));
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
    cluster_ = rd_kafka_mock_cluster_new(producer_, 1);
    rd_kafka_brokers_add(producer_, rd_kafka_mock_cluster_bootstraps(cluster_));
  }
  ~Broker() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(producer_);
  }
  std::string Address(const std::string& topics) const {
    return std::string("kafka://") + rd_kafka_mock_cluster_bootstraps(cluster_) + "/" + topics;
  }
  void Create(const std::string& topic, int partitions) const {
    rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1);
  }
  void Produce(const std::string& topic, int32_t partition, const std::string& value) const {
    ASSERT_EQ(
        rd_kafka_producev(producer_, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()), RD_KAFKA_V_END),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(producer_, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

 private:
  rd_kafka_t* producer_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

std::string Event(const char* table, int id) {
  return std::string(R"({"data":[{"id":")") + std::to_string(id) +
         R"("}],"database":"d","isDdl":false,"mysqlType":{"id":"int"},"old":null,"pkNames":["id"],"table":")" +
         table + R"(","type":"INSERT"})";
}

class EventStreamTest : public IngestTest {
 protected:
  IngestOptions StreamOptions(std::vector<std::string> inputs, EventFormat format = EventFormat::kCanalJson) {
    IngestOptions options;
    options.inputs = std::move(inputs);
    options.format = format;
    options.budget = &budget_;
    return options;
  }
  Result<SyncReport> Sync(const std::string& address) {
    IngestOptions stream_options = StreamOptions({address});
    stream_options.kafka.until_end = true;
    SyncOptions options;
    options.dead_letter_folder = folder_ / "dead";
    options.shared.budget = &budget_;
    options.open = [this](const std::string& name) {
      return catalog_.OpenTable(Must(ParseTableIdentifier(name)), Access::kWrite);
    };
    options.create = [this](const std::string& name, NewTable table) -> Result<std::vector<std::string>> {
      HEADRACE_RETURN_NOT_OK(
          catalog_.CreateTable(Must(ParseTableIdentifier(name)), std::move(table)).status());
      return std::vector<std::string>();
    };
    options.table_options = {{"bucket", "1"}};
    HEADRACE_ASSIGN_OR_RETURN(EventStream stream, OpenEventStream(stream_options));
    EventSync sync(options, std::move(stream), [this]() -> Result<std::vector<std::string>> {
      std::vector<std::string> names;
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> tables, catalog_.ListTables("d"));
      for (const std::string& table : tables) names.push_back("d." + table);
      return names;
    });
    SyncReport report;
    HEADRACE_RETURN_NOT_OK(sync.Run(&report));
    return report;
  }

  Catalog catalog_{std::make_shared<MemoryStore>(), std::make_shared<ManualClock>(1'700'000'000'000), "/w"};
};

TEST_F(EventStreamTest, SeveralTopicsGoToTheTablesOfTheirEventsAndAreContinued) {
  if (!kKafkaThreadsAreSeen) GTEST_SKIP() << "the thread sanitizer cannot follow librdkafka's threads";
  const Broker broker;
  broker.Create("one", 2);
  broker.Create("two", 1);
  ASSERT_TRUE(catalog_.CreateDatabase("d").ok());
  broker.Produce("one", 0, Event("a", 1));
  broker.Produce("one", 1, Event("b", 1));
  broker.Produce("two", 0, Event("a", 2));
  const SyncReport first = Must(Sync(broker.Address("one,two")));
  EXPECT_EQ(first.records, 3);
  broker.Produce("two", 0, Event("b", 2));
  broker.Produce("one", 1, Event("a", 3));
  const SyncReport second = Must(Sync(broker.Address("one,two")));
  EXPECT_EQ(second.records, 2);
  EXPECT_THAT(RowsOf(Must(catalog_.OpenTable({"d", "a"}, Access::kWrite))),
              ElementsAre("id=1", "id=2", "id=3"));
  EXPECT_THAT(RowsOf(Must(catalog_.OpenTable({"d", "b"}, Access::kWrite))), ElementsAre("id=1", "id=2"));
}

TEST_F(EventStreamTest, RefusesWhatDoesNotGoTogether) {
  const std::string file = Write("in.jsonl", Event("a", 1) + "\n");
  const auto refusal = [&](IngestOptions options) { return OpenEventStream(options).status().ToString(); };
  EXPECT_THAT(refusal(StreamOptions({"kafka://h:1/a,a"})), HasSubstr("named twice"));
  EXPECT_THAT(refusal(StreamOptions({"kafka://h:1/a,"})), HasSubstr("not a topic's name"));
  EXPECT_THAT(refusal(StreamOptions({"kafka://h:1/a", file})), HasSubstr("in one address"));
  EXPECT_THAT(refusal(StreamOptions({"kafka://h:1/a"}, EventFormat::kAuto)), HasSubstr("--format"));
  EXPECT_THAT(refusal(StreamOptions({file}, EventFormat::kCsv)), HasSubstr("source tables"));
  EXPECT_THAT(refusal(StreamOptions({"-"})), HasSubstr("--job"));
  EXPECT_THAT(refusal(StreamOptions({file, file})), HasSubstr("named twice"));
  const EventStream stream = Must(OpenEventStream(StreamOptions({file}, EventFormat::kAuto)));
  EXPECT_EQ(stream.format, EventFormat::kCanalJson);
  EXPECT_EQ(stream.sample.lines.size(), 1u);
}

}  // namespace
}  // namespace headrace::ingest
