#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/infer_table.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> TypesOf(const NewTable& table) {
  std::vector<std::string> types;
  for (const DataField& field : table.fields) types.push_back(field.name + " " + ToSql(field.type));
  return types;
}

Sample SampleOf(const std::string& fixture, const std::string& keys = {}) {
  Sample sample;
  sample.lines = LinesOf(ReadFixture(fixture));
  if (!keys.empty()) sample.keys = LinesOf(ReadFixture(keys));
  return sample;
}

TEST(TableOfDebezium, TakesExactTypesFromTheEnvelopeAndTheKeyFromTheMessages) {
  const NewTable table = *TableOfDebezium(
      SampleOf("customers.debezium-schema.jsonl", "customers.debezium-schema.keys.jsonl"), {}, {});
  EXPECT_THAT(TypesOf(table), ElementsAre("customer_id BIGINT NOT NULL", "name STRING NOT NULL",
                                          "email STRING", "plan STRING NOT NULL", "address STRING"));
  EXPECT_THAT(table.primary_keys, ElementsAre("customer_id"));
}

TEST(TableOfDebezium, KeepsTheOrderOfTheKey) {
  IngestOptions options;
  options.source_table = "order_lines";
  const NewTable table =
      *TableOfDebezium(SampleOf("pk-change.debezium.jsonl", "pk-change.debezium.keys.jsonl"), options, {});
  EXPECT_THAT(table.primary_keys, ElementsAre("order_id", "line_no"));
  EXPECT_THAT(TypesOf(table),
              ElementsAre("line_no BIGINT", "order_id BIGINT", "sku STRING", "quantity BIGINT"));
}

TEST(TableOfDebezium, PlainEventsNeedNoSource) {
  CreateRequest request;
  request.primary_key = {"device_id"};
  for (const char* source : {"", R"(,"source":null)", R"(,"source":{})"}) {
    const std::string rest = std::string(R"(,"op":"c")") + source + "}";
    const Sample sample{{R"({"before":null,"after":{"device_id":1,"place":null})" + rest,
                         R"({"before":null,"after":{"device_id":2,"place":"hall"})" + rest},
                        {}};
    const auto table = TableOfDebezium(sample, {}, request);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_THAT(TypesOf(*table), ElementsAre("device_id BIGINT", "place STRING"));
    EXPECT_TRUE(SourceTablesOf(sample, EventFormat::kDebeziumJson).empty());
  }
  IngestOptions options;
  options.source_table = "devices";
  EXPECT_THAT(TableOfDebezium({{R"({"before":null,"after":{"device_id":1},"op":"c"})"}, {}}, options, request)
                  .status()
                  .message(),
              HasSubstr("no change event of the source table devices"));
}

TEST(TableOfDebezium, WithoutAKeyIsRefused) {
  EXPECT_THAT(TableOfDebezium(SampleOf("customers.debezium-schema.jsonl"), {}, {}).status().ToString(),
              HasSubstr("--primary-key"));
  IngestOptions options;
  options.source_table = "notes";
  EXPECT_THAT(
      TableOfDebezium(SampleOf("pk-change.debezium.jsonl", "pk-change.debezium.keys.jsonl"), options, {})
          .status()
          .ToString(),
      HasSubstr("--primary-key"));
}

TEST(TableOfDebezium, RefusesPlainDecimalsWhoseScaleIsNotSaid) {
  CreateRequest request;
  request.primary_key = {"order_id"};
  EXPECT_THAT(TableOfDebezium(SampleOf("orders-evolving.debezium.jsonl"), {}, request).status().ToString(),
              HasSubstr("decimals whose scale is not said"));
}

TEST(TableOfDebezium, KnowsEveryTypeOfTheEnvelope) {
  CreateRequest request;
  request.primary_key = {"id"};
  const NewTable table =
      *TableOfDebezium(SampleOf("types.precise-adaptive.debezium-schema.jsonl.zst"), {}, request);
  std::map<std::string, std::string> types;
  for (const DataField& field : table.fields) types[field.name] = ToSql(field.type);
  EXPECT_EQ(types["c_smallint"], "SMALLINT");
  EXPECT_EQ(types["c_numeric_10_2"], "DECIMAL(10, 2)");
  EXPECT_EQ(types["c_numeric_38_18"], "DECIMAL(38, 18)");
  EXPECT_EQ(types["c_numeric_5_m2"], "STRING");
  EXPECT_EQ(types["c_numeric_3_5"], "DECIMAL(5, 5)");
  EXPECT_EQ(types["c_numeric"], "STRING");
  EXPECT_EQ(types["c_money"], "DECIMAL(38, 2)");
  EXPECT_EQ(types["c_real"], "FLOAT");
  EXPECT_EQ(types["c_bytea"], "BYTES");
  EXPECT_EQ(types["c_date"], "DATE");
  EXPECT_EQ(types["c_time"], "STRING");
  EXPECT_EQ(types["c_time3"], "TIME(3)");
  EXPECT_EQ(types["c_timetz"], "STRING");
  EXPECT_EQ(types["c_timestamp"], "TIMESTAMP(6)");
  EXPECT_EQ(types["c_timestamp0"], "TIMESTAMP(3)");
  EXPECT_EQ(types["c_timestamptz"], "TIMESTAMP(6) WITH LOCAL TIME ZONE");
  EXPECT_EQ(types["c_interval"], "BIGINT");
  EXPECT_EQ(types["c_uuid"], "STRING");
  EXPECT_EQ(types["c_bit8"], "BYTES");
  EXPECT_EQ(types["c_required"], "INT NOT NULL");
}

TEST(TableOfJsonLines, GuessesOnlyWhatIsSure) {
  CreateRequest request;
  request.primary_key = {"a"};
  const auto table = [&](std::vector<std::string> lines) {
    return TableOfJsonLines({std::move(lines), {}}, {}, request);
  };
  EXPECT_THAT(TypesOf(*table({R"({"a":1,"b":1.5,"c":"x","d":true,"e":[1,2]})", R"({"a":2,"b":2,"f":null})",
                              R"({"a":3,"f":"y"})"})),
              ElementsAre("a BIGINT", "b DOUBLE", "c STRING", "d BOOLEAN", "e ARRAY<BIGINT>", "f STRING"));
  EXPECT_THAT(table({R"({"a":1,"f":null})"}).status().ToString(), HasSubstr("'f': it is null in all events"));
  EXPECT_THAT(table({R"({"a":1,"f":{"x":1}})"}).status().ToString(), HasSubstr("objects"));
  EXPECT_THAT(table({R"({"a":1})", R"({"a":"x"})"}).status().ToString(), HasSubstr("different kinds"));
  EXPECT_THAT(table({R"({"a":0.12345678901234567890123})"}).status().ToString(), HasSubstr("more digits"));
  EXPECT_THAT(table({}).status().ToString(), HasSubstr("no row"));
}

TEST(TableOfCsv, TakesTheNamesFromTheHeader) {
  CreateRequest request;
  request.primary_key = {"id"};
  const NewTable table =
      *TableOfCsv({{"id,name,zip,price,day,at,empty,on", "1,a,01234,2.5,2024-05-17,2024-05-17T10:00:00,,true",
                    "2,b,99999,3,2024-05-18,2024-05-17 10:00:00.5,,false"},
                   {}},
                  {}, request);
  EXPECT_THAT(TypesOf(table), ElementsAre("id BIGINT", "name STRING", "zip STRING", "price DOUBLE",
                                          "day DATE", "at TIMESTAMP(6)", "empty STRING", "on BOOLEAN"));
}

TEST(SourceTables, AreFoundInAMixedSample) {
  EXPECT_THAT(SourceTablesOf(SampleOf("multi-table.debezium.jsonl"), EventFormat::kDebeziumJson),
              ElementsAre("public.customers", "public.orders", "archive.orders"));
}

}  // namespace
}  // namespace headrace::ingest
