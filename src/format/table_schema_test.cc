#include "format/table_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/table_options.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Json(std::string_view more) {
  return R"({"id": 0, "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 3, "name": "v", "type": "STRING"}],
    "highestFieldId": 5, "partitionKeys": [], "primaryKeys": ["k"], "options": {)" +
         std::string(more);
}

TEST(ParseTableSchema, OldVersionsGetTheirDefaults) {
  auto first = ParseTableSchema(Json("}}"), "schema-0");
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->options.at("bucket"), "1");
  EXPECT_EQ(first->options.at("file.format"), "orc");
  auto second = ParseTableSchema(Json(R"("bucket": "2"}, "version": 2})"), "schema-0");
  EXPECT_EQ(second->options.at("bucket"), "2");
  EXPECT_EQ(second->options.at("file.format"), "orc");
  auto third = ParseTableSchema(Json(R"("x": "1"}, "version": 3, "comment": null})"), "schema-0");
  EXPECT_EQ(third->options, (std::map<std::string, std::string>{{"x", "1"}}));
  EXPECT_EQ(third->comment, std::nullopt);
  EXPECT_TRUE(IsKind(ParseTableSchema(Json(R"(}, "version": 4})"), "s").status(), ErrorKind::kUnsupported));
}

TEST(ParseTableSchema, KeepsUnknownOptionsAndTheirOrder) {
  const std::string json = Json(R"("zeta": "1", "alpha": "2", "mid": "3"}, "version": 3, "timeMillis": 1})");
  TableSchema schema = ParseTableSchema(json, "s").ValueOrDie();
  EXPECT_THAT(schema.option_order, ElementsAre("zeta", "alpha", "mid"));
  schema.options.erase("alpha");
  schema.options["beta"] = "4";
  const std::string text = SerializeTableSchema(schema);
  EXPECT_LT(text.find("zeta"), text.find("mid"));
  EXPECT_LT(text.find("mid"), text.find("beta"));
  EXPECT_EQ(text.find("alpha"), std::string::npos);
  EXPECT_EQ(ParseTableSchema(text, "s").ValueOrDie(), schema);
}

TEST(ParseTableSchema, ContradictionsAreCorruption) {
  const char* cases[] = {
      R"({"id": 0, "fields": [], "highestFieldId": 0, "partitionKeys": [], "primaryKeys": ["k"], "options": {}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 1, "name": "a", "type": "INT"}], "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 0, "name": "b", "type": "INT"}], "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 1, "partitionKeys": ["a"], "primaryKeys": ["a"], "options": {}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {"bucket-key": "zz"}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "IMT"}], "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {}})",
      R"({"id": 0, "fields": {}, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {}})",
      R"({"id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {"a": {}}})",
      "[]",
      "{",
      ""};
  for (const char* json : cases) {
    const Status status = ParseTableSchema(json, "schema-9").status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << json << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("schema-9"));
  }
}

TEST(TableSchema, KeysFollowFromDeclarations) {
  TableSchema schema;
  schema.fields = ParseColumns("a INT, b INT, c INT, p DATE").ValueOrDie();
  schema.primary_keys = {"p", "c", "a"};
  schema.partition_keys = {"p"};
  EXPECT_THAT(schema.TrimmedPrimaryKeys(), ElementsAre("c", "a"));
  EXPECT_THAT(schema.BucketKeys(), ElementsAre("c", "a"));
  schema.options["bucket-key"] = "a";
  EXPECT_THAT(schema.BucketKeys(), ElementsAre("a"));
  EXPECT_EQ(schema.FieldIndex("c"), 2);
  EXPECT_EQ(schema.FieldIndex("zz"), -1);
  EXPECT_EQ(schema.TypesOf({"p"})[0].root, TypeRoot::kDate);
}

struct Wanted {
  const char* columns = "k INT, p DATE, v STRING, t BIGINT";
  std::vector<std::string> primary_keys = {"k"};
  std::vector<std::string> partition_keys = {};
  std::map<std::string, std::string> options = {{"bucket", "2"}};
};

Result<TableSchema> Make(const Wanted& wanted) {
  NewTable table;
  table.fields = ParseColumns(wanted.columns).ValueOrDie();
  table.primary_keys = wanted.primary_keys;
  table.partition_keys = wanted.partition_keys;
  table.options = wanted.options;
  return MakeTableSchema(std::move(table), 42);
}

TEST(MakeTableSchema, GivesIdsAndMakesKeysNotNull) {
  auto schema = Make({.columns = "v ROW<a INT, b ROW<c INT>>, k INT NULL", .primary_keys = {"k"}});
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  EXPECT_EQ(schema->fields[1].id, 4);
  EXPECT_EQ(schema->highest_field_id, 4);
  EXPECT_FALSE(schema->fields[1].type.nullable);
  EXPECT_EQ(schema->version, 3);
  EXPECT_EQ(schema->id, SchemaId(0));
  EXPECT_EQ(schema->time_millis, 42);
  EXPECT_EQ(ParseTableSchema(SerializeTableSchema(*schema), "s").ValueOrDie(), *schema);
}

TEST(MakeTableSchema, TakesKeysFromOptionsAndLeavesThemOut) {
  auto schema =
      Make({.primary_keys = {}, .options = {{"bucket", "1"}, {"primary-key", " k , p"}, {"partition", "p"}}});
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  EXPECT_THAT(schema->primary_keys, ElementsAre("k", "p"));
  EXPECT_THAT(schema->partition_keys, ElementsAre("p"));
  EXPECT_EQ(schema->options.size(), 1U);
  EXPECT_THAT(Make({.options = {{"bucket", "1"}, {"primary-key", "k"}}}).status().message(),
              HasSubstr("both directly"));
}

TEST(MakeTableSchema, TakesAppendTablesWithAndWithoutBuckets) {
  EXPECT_TRUE(Make({.primary_keys = {}, .options = {}}).ok());
  EXPECT_TRUE(
      Make({.primary_keys = {}, .partition_keys = {"p"}, .options = {{"bucket", "3"}, {"bucket-key", "k,t"}}})
          .ok());
}

TEST(MakeTableSchema, RefusesWhatCannotBeATable) {  // B010 among them
  const std::pair<Wanted, const char*> cases[] = {
      {{.columns = "k INT, _KEY_a INT"}, "'_KEY_a' is reserved"},
      {{.columns = "k INT, rowkind INT"}, "'rowkind' is reserved"},
      {{.columns = "k INT, ` ` INT"}, "has no name"},
      {{.primary_keys = {"zz"}}, "primary key: column 'zz' does not exist"},
      {{.primary_keys = {"k", "k"}}, "named twice"},
      {{.columns = "k ARRAY<INT>"}, "nested type"},
      {{.primary_keys = {"p"}, .partition_keys = {"p"}}, "no column besides the partition keys"},
      {{.partition_keys = {"zz"}}, "partition keys: column 'zz'"},
      {{.options = {{"bucket", "0"}}}, "'bucket' = 0"},
      {{.options = {{"bucket", "two"}}}, "is not an integer"},
      {{.primary_keys = {}, .options = {{"bucket", "3"}}}, "needs 'bucket-key'"},
      {{.primary_keys = {}, .options = {{"bucket-key", "k"}}}, "needs a number of buckets"},
      {{.options = {{"bucket", "2"}, {"bucket-key", "v"}}}, "not in the primary key"},
      {{.primary_keys = {"k", "p"},
        .partition_keys = {"p"},
        .options = {{"bucket", "2"}, {"bucket-key", "p"}}},
       "is a partition key"},
      {{.options = {{"bucket", "2"}, {"sequence.field", "zz"}}}, "column 'zz' does not exist"},
      {{.options = {{"bucket", "2"}, {"sequence.field", "t,t"}}}, "named twice"},
      {{.options = {{"bucket", "2"}, {"sequence.field", "t"}, {"fields.t.aggregate-function", "max"}}},
       "has an aggregate function"},
      {{.options = {{"bucket", "2"}, {"fields.zz.stats-mode", "none"}}}, "column 'zz' does not exist"},
      {{.options = {{"bucket", "2"}, {"snapshot.num-retained.min", "5"}, {"snapshot.num-retained.max", "3"}}},
       "is more than 'snapshot.num-retained.max' = 3"},
      {{.options = {{"bucket", "2"}, {"changelog.time-retained", "soon"}}}, "not a duration"},
      {{.options = {{"bucket", "2"},
                    {"merge-engine", "partial-update"},
                    {"fields.v.aggregate-function", "max"}}},
       "in no sequence group"},
      {{.options = {{"bucket", "2"}, {"changelog-producer", "both"}}}, "allowed are none, input, lookup"},
      {{.primary_keys = {}, .options = {{"changelog-producer", "input"}}}, "needs a primary key"},
      {{.columns = "k INT, p BYTES", .primary_keys = {"k", "p"}, .partition_keys = {"p"}},
       "partition.legacy-name"},
  };
  for (const auto& [wanted, message] : cases) {
    auto schema = Make(wanted);
    EXPECT_FALSE(schema.ok()) << message;
    EXPECT_THAT(schema.status().message(), HasSubstr(message));
  }
  NewTable nothing;
  EXPECT_THAT(MakeTableSchema(nothing, 0).status().message(), HasSubstr("has no columns"));
}

}  // namespace
}  // namespace headrace
