// Avro messages of a Connect converter: the same rows as the JSON of the same events; what cannot be read; a registry that is away; topics.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "ingest/avro_records.h"
#include "ingest/avro_row_decoder.h"
#include "ingest/avro_test_kit.h"
#include "ingest/infer_table.h"
#include "ingest/ingest_test_kit.h"
#include "ingest/mock_kafka.h"

namespace headrace::ingest {
namespace {

using ::headrace::testing::Must;
using ::headrace::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

AvroReading Reading(const AvroChoices& choices, bool rows = false) {
  return {Must(AvroSchemas::Open(choices)), rows};
}
AvroReading Reading(const TestRegistry& server, bool rows = false) {
  AvroChoices choices;
  choices.registry = server.url();
  return Reading(choices, rows);
}
AvroRecords Records(std::vector<AvroMessage> messages, AvroReading reading) {
  const bool keys = !reading.rows;
  return {std::make_unique<GivenMessages>(std::move(messages)), std::move(reading), "t", keys, nullptr};
}
AvroMessage ValueAlone(std::string value) { return {"t", std::nullopt, std::move(value), {}}; }

// The lines that decoders of events read.
Sample Translated(const TestRegistry& server, const std::string& capture) {
  AvroRecords records = Records(MessagesOf(capture), Reading(server));
  Sample sample;
  while (Must(records.Next()) == RecordSource::Event::kRecord) {
    EXPECT_EQ(records.damage(), "") << records.place().text();
    sample.lines.emplace_back(records.value());
    sample.keys.emplace_back(records.key().value_or(""));
  }
  return sample;
}

std::string ColumnsOf(const std::vector<DataField>& fields) {
  std::string columns;
  for (const DataField& field : fields) columns += field.name + " " + ToSql(field.type) + ", ";
  return columns;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Made {
  NewTable table;
  std::vector<std::string> changes;
  std::vector<std::string> outcomes;
};

Made MakeAndFeed(const Sample& sample, const std::string& source) {
  IngestOptions options;
  options.source_table = source;
  Made made{Must(TableOfDebezium(sample, options, CreateRequest())), {}, {}};
  TableShape shape;
  shape.fields = made.table.fields;
  for (const std::string& key : made.table.primary_keys) {
    for (size_t i = 0; i < shape.fields.size(); ++i)
      if (shape.fields[i].name == key) shape.key_columns.push_back(static_cast<int>(i));
  }
  shape.keep_update_before = true;
  DebeziumOptions events;
  events.source_table = source;
  MapTable table(shape, events);
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    const LineOutcome outcome = table.Feed(sample.lines[i], sample.keys[i]);
    made.outcomes.push_back(std::to_string(static_cast<int>(outcome.fate)) + std::string(outcome.rule) +
                            outcome.field);
  }
  made.changes = table.changes();
  return made;
}

TEST(AvroRecords, GiveTheTypesTheRowsAndTheFatesThatJsonOfTheSameEventsGives) {
  TestRegistry server;
  server.AddFixtures();
  for (const auto& [capture, source] :
       std::vector<std::pair<std::string, std::string>>{{"customers", "customers"},
                                                        {"pk-change", "accounts"},
                                                        {"pk-change", "documents"},
                                                        {"pk-change", "documents_full"},
                                                        {"pk-change", "order_lines"},
                                                        {"orders-evolving", "orders"},
                                                        {"types.precise-adaptive", "all_types"},
                                                        {"mariadb-types.precise-adaptive", "all_types"},
                                                        {"mariadb-evolving", "orders"}}) {
    Sample json;
    const bool packed = !std::ifstream(Fixture(capture + ".debezium-schema.jsonl")).good();
    json.lines = LinesOf(ReadFixture(capture + ".debezium-schema.jsonl" + (packed ? ".zst" : "")));
    json.keys = LinesOf(ReadFixture(capture + ".debezium.keys.jsonl"));
    const Made expected = MakeAndFeed(json, source);
    const Made found = MakeAndFeed(Translated(server, capture), source);
    EXPECT_EQ(ColumnsOf(found.table.fields), ColumnsOf(expected.table.fields)) << capture;
    EXPECT_EQ(found.table.primary_keys, expected.table.primary_keys) << capture;
    ASSERT_EQ(found.changes.size(), expected.changes.size()) << capture << " " << source;
    // The fixtures were made of the JSON, and Connect's reader of that takes the texts of infinite numbers for zero.
    for (size_t i = 0; i < found.changes.size(); ++i)
      EXPECT_EQ(found.changes[i], Replaced(expected.changes[i], "|-Infinity|-Infinity|", "|0.0|0.0|"))
          << capture << " " << source << " change " << i;
    EXPECT_THAT(found.outcomes, ElementsAreArray(expected.outcomes)) << capture << " " << source;
    EXPECT_GT(found.changes.size(), 1U) << capture << " " << source;
  }
}

TEST(AvroRecords, EachSchemaIsAskedForOnce) {
  TestRegistry server;
  server.AddFixtures();
  const std::vector<AvroMessage> messages = MessagesOf("customers");
  EXPECT_THAT(Translated(server, "customers").lines, SizeIs(messages.size()));
  const std::string head = messages[0].value->substr(1, 4);
  const int id = static_cast<uint8_t>(head[3]);
  EXPECT_EQ(server.asked("/schemas/ids/" + std::to_string(id)), 1);
}

TEST(AvroRecords, WhatCannotBeReadIsADamageWithTheMessagesOwnBytes) {
  TestRegistry server;
  server.SetSchema(1, R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})");
  server.SetSchema(2, R"("string")");
  server.SetSchema(3, R"({"type":"record","name":"R","fields":[{"name":"x","type":["int","string"]}]})");
  server.SetSchema(4, "message M {}", R"(,"schemaType":"PROTOBUF")");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {WithId(1, "\x02"), ""},
      {WithId(1, ""), "byte 0 of the Avro datum, field x"},
      {WithId(2, "\x02x"), "is no record"},
      {WithId(3, "\x02x"), "field x: a union of int, string fits no column"},
      {WithId(4, "\x02x"), "of PROTOBUF, not of Avro"},
      {WithId(77, "\x02x"),
       "is of schema 77 of the registry " + server.url() + ", which that registry does not have"},
      {R"({"op":"c"})", "does not begin with a zero byte"},
      {"", "does not begin with a zero byte"},
  };
  std::vector<AvroMessage> messages;
  for (const auto& [bytes, damage] : cases) messages.push_back(ValueAlone(bytes));
  AvroRecords records = Records(messages, Reading(server));
  for (const auto& [bytes, damage] : cases) {
    ASSERT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
    EXPECT_EQ(records.raw(), bytes);
    if (damage.empty()) {
      EXPECT_EQ(records.damage(), "");
    } else {
      EXPECT_THAT(std::string(records.damage()), HasSubstr(damage));
      EXPECT_EQ(records.value(), "");
    }
  }
  EXPECT_EQ(Must(records.Next()), RecordSource::Event::kEnd);
  EXPECT_EQ(server.asked("/schemas/ids/77"), 1);
}

TEST(AvroRecords, ARegistryThatIsAwayIsWaitedForWithTheMessageGivenBack) {
  TestRegistry server;
  server.Set("/schemas/ids/1", {503, "restarting"});
  std::vector<std::string> said;
  AvroRecords records(
      std::make_unique<GivenMessages>(std::vector<AvroMessage>{ValueAlone(WithId(1, "\x02"))}),
      Reading(server), "t", true, [&](const std::string& line) { said.push_back(line); });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Must(records.Next()), RecordSource::Event::kIdle);
  server.SetSchema(1, R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})");
  RecordSource::Event event = RecordSource::Event::kIdle;
  for (int i = 0; i < 200 && event == RecordSource::Event::kIdle; ++i) event = Must(records.Next());
  EXPECT_EQ(event, RecordSource::Event::kRecord);
  EXPECT_THAT(std::string(records.value()), HasSubstr(R"("payload":{"x":1}})"));
  EXPECT_THAT(said, ElementsAre(HasSubstr("it is waited for"), HasSubstr("answers again")));
}

TEST(AvroRecords, ARegistryThatRefusesIsAnErrorWithThePlace) {
  TestRegistry server;
  server.Set("/schemas/ids/1", {401, ""});
  AvroRecords records = Records({ValueAlone(WithId(1, "\x02"))}, Reading(server));
  const Status refused = records.Next().status();
  EXPECT_EQ(KindOf(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("topic t, partition 0, offset 0"));
}

TEST(AvroRecords, KeysAndHeadersOfOtherConvertersSayWhatTheySayInJson) {
  TestRegistry server;
  server.SetSchema(1, R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})");
  const auto key_of = [&](std::optional<std::string> key, std::vector<MessageHeader> headers) {
    AvroRecords records =
        Records({{"t", std::move(key), WithId(1, "\x02"), std::move(headers)}}, Reading(server));
    EXPECT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
    EXPECT_EQ(records.damage(), "");
    return std::string(records.key().value_or("none"));
  };
  EXPECT_EQ(key_of(WithId(1, "\x02"), {{"__debezium.oldkey", WithId(1, "\x04")}}),
            R"({"topic":"t","key":{"x":1},"headers":{"__debezium.oldkey":{"x":2}}})");
  EXPECT_EQ(key_of(R"({"x":3})", {{"__debezium.oldkey", R"({"x":4})"}}),
            R"({"topic":"t","key":{"x":3},"headers":{"__debezium.oldkey":{"x":4}}})");
  EXPECT_EQ(key_of("text", {}), R"({"topic":"t","key":null})");
  EXPECT_EQ(key_of(std::nullopt, {}), R"({"topic":"t","key":null})");
}

TEST(AvroRecords, KeysThatAreNoAvroOfTheRegistrySayNothingAndTheValueIsRead) {
  TestRegistry server;
  server.SetSchema(1, R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})");
  server.SetSchema(2, "message M {}", R"(,"schemaType":"PROTOBUF")");
  const std::vector<std::string> keys = {
      std::string("\0", 1),
      std::string("\0\0\0\7", 4),          // an Integer
      std::string("\0\0\0\0\0\0\0\7", 8),  // a Long, as of the schema 0
      std::string("\0\0\0\0\1\0\0\7", 8),  // a Long, as of the schema 1 with bytes behind its datum
      std::string("\0\0\0\0\1", 5),        // of the schema 1 without a datum
      std::string("\0\0\0\0\2\2", 6),      // of Protobuf
      std::string("\0text", 5),
  };
  std::vector<AvroMessage> messages;
  for (const std::string& key : keys)
    messages.push_back({"t", key, WithId(1, "\x02"), {{"__debezium.oldkey", key}}});
  AvroRecords records = Records(messages, Reading(server));
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
    EXPECT_EQ(records.damage(), "") << i;
    EXPECT_THAT(std::string(records.value()), HasSubstr(R"("payload":{"x":1}})")) << i;
    EXPECT_EQ(records.key(), R"({"topic":"t","key":null})") << i;
  }
}

TEST(AvroRecords, AKeyThatIsNoneOfTheSchemaGivenForItIsADamage) {
  const std::string path = ::testing::TempDir() + "/headrace-key-" + std::to_string(::getpid()) + ".avsc";
  std::ofstream(path) << R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})";
  AvroChoices choices;
  choices.schema_file = path;
  choices.key_schema_file = path;
  AvroRecords records = Records({{"t", "\x02", "\x02", {}}, {"t", "", "\x02", {}}}, Reading(choices));
  ASSERT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
  EXPECT_EQ(records.key(), R"({"topic":"t","key":{"x":1}})");
  ASSERT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
  EXPECT_THAT(std::string(records.damage()), HasSubstr("the message's key: byte 0 of the Avro datum"));
  std::filesystem::remove(path);
}

TEST(AvroRecords, BareDataAreReadByTheSchemaThatIsGiven) {
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "/headrace-" + std::to_string(::getpid()) + ".avsc";
  std::ofstream(path) << R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})";
  AvroChoices choices;
  choices.schema_file = path;
  AvroRecords records = Records({ValueAlone("\x02")}, Reading(choices));
  EXPECT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
  EXPECT_THAT(std::string(records.value()), HasSubstr(R"("payload":{"x":1}})"));
  std::filesystem::remove(path);
  EXPECT_EQ(KindOf(AvroSchemas::Open(choices).status()), ErrorKind::kNotFound);
}

TEST(AvroRecords, IdsOfEightBytesAreReadWhereThatIsSaid) {
  TestRegistry server;
  server.SetSchema(5, R"({"type":"record","name":"R","fields":[{"name":"x","type":"int"}]})");
  AvroChoices choices;
  choices.registry = server.url();
  choices.id_bytes = 8;
  AvroRecords records = Records({ValueAlone(std::string("\0\0\0\0\0\0\0\0\5\2", 10))}, Reading(choices));
  EXPECT_EQ(Must(records.Next()), RecordSource::Event::kRecord);
  EXPECT_THAT(std::string(records.value()), HasSubstr(R"("payload":{"x":1}})"));
}

TEST(AvroChoices, ThatDoNotGoTogetherAreRefused) {
  AvroChoices none;
  AvroChoices both;
  both.schema_file = "a.avsc";
  both.registry = "http://h";
  AvroChoices keys = {"", "k.avsc", "http://h", 4};
  AvroChoices bytes = {"", "", "http://h", 5};
  AvroChoices file_bytes = {"a.avsc", "", "", 8};
  for (const AvroChoices& choices : {none, both, keys, bytes, file_bytes})
    EXPECT_FALSE(CheckAvroChoices(choices, EventFormat::kDebeziumAvro, "kafka://h/t").ok());
  const AvroChoices right = {"", "", "http://h", 4};
  EXPECT_TRUE(CheckAvroChoices(right, EventFormat::kDebeziumAvro, "kafka://h/t").ok());
  EXPECT_FALSE(CheckAvroChoices(right, EventFormat::kDebeziumJson, "kafka://h/t").ok());
  EXPECT_TRUE(CheckAvroChoices(none, EventFormat::kDebeziumJson, "kafka://h/t").ok());
}

// Whole ingests of a topic --------------------------------------------------------------------------------------

class AvroTopic : public IngestTest {
 protected:
  void SetUp() override {
    if (!kKafkaThreadsAreSeen) GTEST_SKIP() << "the thread sanitizer cannot follow librdkafka's threads";
    IngestTest::SetUp();
    kafka_ = std::make_unique<MockKafka>();
    kafka_->Create("t", 1);
    server_.AddFixtures();
  }
  IngestOptions Options(EventFormat format) {
    IngestOptions options = OptionsFor(kafka_->Address("t"));
    options.format = format;
    options.kafka.until_end = true;
    options.avro.registry = server_.url();
    return options;
  }
  Table Created(const IngestOptions& options, std::vector<std::string> key = {}) {
    const auto ingestion = Must(Ingestion::Open(options));
    const auto store = std::make_shared<MemoryStore>();
    const auto clock = std::make_shared<ManualClock>(1'700'000'000'000);
    NewTable table = Must(ingestion->ProposeTable({std::move(key), {}, {{"bucket", "2"}}}));
    return Must(Catalog(store, clock, "/w").CreateTable({"db", "t"}, std::move(table)));
  }
  void Produce(const std::string& value) { kafka_->SendMessage("t", 0, std::nullopt, value); }

  std::unique_ptr<MockKafka> kafka_;
  TestRegistry server_;
};

TEST_F(AvroTopic, OfDebeziumMakesItsTableAndFollowsTheSourcesSchema) {
  for (const AvroMessage& message : MessagesOf("orders-evolving"))
    kafka_->SendMessage("t", 0, message.key, message.value, message.headers);
  const IngestOptions options = Options(EventFormat::kDebeziumAvro);
  const Table table = Created(options);
  IngestReport report;
  const Status status = RunIngest(table, options, &report);
  ASSERT_TRUE(status.ok()) << status;
  const Table now = testing::Reopened(table, table.store);
  EXPECT_EQ(
      ColumnsOf(now.schema->fields),
      "order_id INT NOT NULL, customer STRING NOT NULL, amount DECIMAL(14, 4) NOT NULL, quantity BIGINT NOT "
      "NULL, legacy_code STRING, note STRING, channel STRING, priority STRING, remark STRING, ");
  EXPECT_THAT(RowsOf(now), SizeIs(ExpectedRows("orders-evolving.from-stream.jsonl", "public.orders").size()));
  EXPECT_THAT(report.notes, ::testing::Contains("the source's table changed: retype quantity BIGINT"));
}

TEST_F(AvroTopic, OfRowsIsUpsertedByKeyAndItsWriterMayChange) {
  server_.SetSchema(
      1001,
      R"({"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"n","type":"int"}]})");
  server_.SetSchema(
      1002,
      R"({"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"n","type":"long"},{"name":"s","type":["null","string"]}]})");
  Produce(WithId(1001, "\x02\x02"));
  Produce(WithId(1001, "\x04\x04"));
  const IngestOptions options = Options(EventFormat::kAvro);
  const Table table = Created(options, {"id"});
  EXPECT_EQ(ColumnsOf(table.schema->fields), "id BIGINT NOT NULL, n INT NOT NULL, ");
  Produce(WithId(1002, "\x02\xFE\xFF\xFF\xFF\x1F\x02\x02x"));
  IngestReport report;
  const Status status = RunIngest(table, options, &report);
  ASSERT_TRUE(status.ok()) << status;
  const Table now = testing::Reopened(table, table.store);
  EXPECT_EQ(ColumnsOf(now.schema->fields), "id BIGINT NOT NULL, n BIGINT NOT NULL, s STRING, ");
  EXPECT_THAT(RowsOf(now), ElementsAre("id=1|n=4294967295|s=x", "id=2|n=2|s=null"));
}

TEST_F(AvroTopic, ABadRecordNamesItsPlaceAndIsKeptAsideByItsBytes) {
  server_.SetSchema(
      1001,
      R"({"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"n","type":"int"}]})");
  server_.SetSchema(
      1002,
      R"({"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"n","type":{"type":"array","items":"int"}}]})");
  Produce(WithId(1001, "\x02\x02"));
  Produce(WithId(99999, "\x02"));
  Produce(WithId(1002, std::string("\4\2\2\0", 4)));
  kafka_->SendMessage("t", 0, "k", std::nullopt);
  Produce(WithId(1001, "\x06\x06"));
  IngestOptions options = Options(EventFormat::kAvro);
  const TestTable made =
      testing::MakeTestTable("id BIGINT NOT NULL, n INT NOT NULL", {"id"}, {{"bucket", "1"}});
  IngestReport report;
  const Status status = RunIngest(made.table, options, &report);
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("topic t, partition 0, offset 1: the message is of schema 99999"));
  EXPECT_THAT(RowsOf(made.table), ElementsAre("id=1|n=1"));

  options.dead_letter_file = folder_ / "bad.jsonl";
  const Status on = RunIngest(made.table, options, &report);
  ASSERT_TRUE(on.ok()) << on;
  EXPECT_EQ(report.dead_letters, 3);
  EXPECT_THAT(RowsOf(made.table), ElementsAre("id=1|n=1", "id=3|n=3"));
  std::ifstream bad(options.dead_letter_file);
  std::vector<std::string> letters;
  for (std::string line; std::getline(bad, line);) letters.push_back(line);
  ASSERT_THAT(letters, SizeIs(3));
  EXPECT_THAT(letters[0], HasSubstr(R"("offset":1,)"));
  EXPECT_THAT(letters[1], HasSubstr(R"("field":"n")"));
  EXPECT_THAT(letters[1], HasSubstr(R"("recordBase64":"AAAAA+oEAgIA")"));
  EXPECT_THAT(letters[2], HasSubstr("a tombstone"));
}

TEST_F(AvroTopic, FormatsAndChoicesThatDoNotGoTogetherAreRefused) {
  IngestOptions options = Options(EventFormat::kAvro);
  options.kind_column = "k";
  EXPECT_FALSE(Ingestion::Open(options).ok());
  options = Options(EventFormat::kAvro);
  options.source_table = "public.t";
  EXPECT_FALSE(Ingestion::Open(options).ok());
  options = Options(EventFormat::kDebeziumJson);
  EXPECT_FALSE(Ingestion::Open(options).ok());
  options = OptionsFor(Write("a.avro", "x"));
  options.format = EventFormat::kAvro;
  options.avro.registry = server_.url();
  EXPECT_EQ(KindOf(Ingestion::Open(options).status()), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace headrace::ingest
