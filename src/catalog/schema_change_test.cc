// The next schema of a table, against the schemas that Java made of the same changes, and what is refused and why.
#include "catalog/schema_change.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "format/golden_files.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTestTable;
using testing::Must;
using testing::TestTable;

using Changes = std::vector<SchemaChange>;

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ColumnPlace First() { return {ColumnPlace::Where::kFirst, ""}; }
ColumnPlace Behind(const char* column) { return {ColumnPlace::Where::kAfter, column}; }

// What was done to the tables of the fixture, read off their schemas.
std::vector<Changes> ChangesOfTheFixture() {
  return {
      {AddColumn{{"f"}, "BIGINT", "added last"}, AddColumn{{"g"}, "STRING", "", First()},
       AddColumn{{"h"}, "ARRAY<INT>", "", Behind("a")}},
      {RenameColumn{{"d"}, "dd"}, DropColumn{{"e"}}},
      {RetypeColumn{{"a"}, "BIGINT"}, RetypeColumn{{"b"}, "DOUBLE"}, RetypeColumn{{"c"}, "DECIMAL(12, 4)"},
       RetypeColumn{{"t"}, "TIMESTAMP(6)"}},
      {AddColumn{{"n", "z"}, "DOUBLE"}, RenameColumn{{"n", "y"}, "yy"}, RetypeColumn{{"n", "x"}, "BIGINT"}},
      {AddColumn{{"e"}, "STRING", "same name as a dropped column"}, MoveColumn{"dd", First()},
       RetypeColumn{{"a"}, "STRING"}, CommentColumn{{"b"}, "now with a comment"},
       CommentTable{"table comment"}},
      {DropColumn{{"n", "x"}}, SetOption{"snapshot.num-retained.max", "100"}},
  };
}

class GoldenSchemas : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenSchemas, TheSameChangesMakeTheFilesThatJavaWrote) {
  const auto folder = GoldenTable("schema-evolution", GetParam()) / "schema";
  TableSchema schema = Must(ParseTableSchema(BytesOf(folder / "schema-0"), "schema-0"));
  int64_t id = 0;
  for (const Changes& changes : ChangesOfTheFixture()) {
    const std::string name = "schema-" + std::to_string(++id);
    SCOPED_TRACE(name);
    const std::string bytes = BytesOf(folder / name);
    TableSchema expected = Must(ParseTableSchema(bytes, name));
    schema = Must(ApplyChanges(schema, changes, {.table = "t", .now_ms = expected.time_millis}));
    // The last one also sets a default value, which is not built; and options lie in the order of a hash table.
    const bool has_default = expected.fields[1].default_value.has_value();
    for (DataField& field : expected.fields) field.default_value.reset();
    EXPECT_EQ(schema, expected);
    if (has_default) continue;
    EXPECT_EQ(SerializeTableSchema(schema), bytes);
  }
  EXPECT_EQ(id, 6);
}

INSTANTIATE_TEST_SUITE_P(Tables, GoldenSchemas,
                         ::testing::Values("keyed", "appended_parquet", "appended_orc", "appended_avro"));

// A table to alter, and the words of a refusal.
class AlteredSchema : public ::testing::Test {
 protected:
  static TableSchema Orders() {
    NewTable table;
    table.fields = Must(ParseColumns(
        "day DATE, id BIGINT, v INT NOT NULL, name VARCHAR(10), n ROW<x INT, y STRING>, a ARRAY<ROW<z INT>>, "
        "m MAP<STRING, INT>, seq BIGINT"));
    table.primary_keys = {"id", "day"};
    table.partition_keys = {"day"};
    table.options = {{"bucket", "2"},
                     {"bucket-key", "id"},
                     {"sequence.field", "seq"},
                     {"merge-engine", "aggregation"},
                     {"fields.v.aggregate-function", "sum"},
                     {"other.engine.hint", "kept"}};
    return Must(MakeTableSchema(table, 1));
  }
  Result<TableSchema> After(const SchemaChange& change) const {
    return ApplyChanges(schema_, {change}, {.table = "shop.orders", .now_ms = 7});
  }
  std::string Refusal(const SchemaChange& change) const {
    const Status status = After(change).status();
    EXPECT_FALSE(status.ok());
    return std::string(NameOf(KindOf(status))) + ": " + status.message();
  }
  const TableSchema schema_ = Orders();
};

TEST_F(AlteredSchema, GivesAColumnAnIdThatNoColumnEverHad) {
  const TableSchema dropped = Must(After(DropColumn{{"m"}}));
  EXPECT_EQ(dropped.highest_field_id, schema_.highest_field_id);
  const TableSchema added =
      Must(ApplyChanges(dropped, {AddColumn{{"m"}, "ROW<p INT, q ROW<r INT>>"}}, {.table = "t"}));
  EXPECT_EQ(added.fields.back().id, schema_.highest_field_id + 1);
  EXPECT_EQ(added.fields.back().type.fields[0].id, schema_.highest_field_id + 2);
  EXPECT_EQ(added.highest_field_id, schema_.highest_field_id + 4);
}

TEST_F(AlteredSchema, CarriesAlongWhatNoChangeConcerns) {
  const TableSchema altered = Must(After(CommentTable{"all orders"}));
  EXPECT_EQ(altered.id, SchemaId(1));
  EXPECT_EQ(altered.time_millis, 7);
  EXPECT_EQ(altered.options, schema_.options);
  EXPECT_EQ(altered.fields, schema_.fields);
  EXPECT_EQ(altered.comment, "all orders");
}

TEST_F(AlteredSchema, IsTheOldOneWhenNothingChanges) {
  EXPECT_EQ(Must(After(SetOption{"bucket", "2"})).id, SchemaId(0));
  EXPECT_EQ(Must(After(RetypeColumn{{"v"}, "INT NOT NULL"})).id, SchemaId(0));
  EXPECT_EQ(Must(After(UnsetOption{"not.there"})).id, SchemaId(0));
}

TEST_F(AlteredSchema, ReachesIntoRowsArraysAndMaps) {
  const TableSchema altered = Must(
      ApplyChanges(schema_,
                   {AddColumn{{"a", "element", "w"}, "STRING", "", First()}, DropColumn{{"n", "x"}},
                    RetypeColumn{{"a", "element", "z"}, "BIGINT"}, RetypeColumn{{"m", "value"}, "BIGINT"}},
                   {.table = "t"}));
  const DataType& row = *altered.fields[5].type.element;
  EXPECT_EQ(row.fields[0].name, "w");
  EXPECT_EQ(row.fields[0].id, schema_.highest_field_id + 1);
  EXPECT_EQ(row.fields[1].type.root, TypeRoot::kBigInt);
  EXPECT_EQ(altered.fields[6].type.value->root, TypeRoot::kBigInt);
  EXPECT_EQ(altered.fields[4].type.fields.size(), 1u);
  EXPECT_THAT(Refusal(DropColumn{{"v", "x"}}), AllOf(HasSubstr("v is INT"), HasSubstr("holds no 'x'")));
  EXPECT_THAT(Refusal(DropColumn{{"m", "value"}}), HasSubstr("can only get another type"));
  EXPECT_THAT(Refusal(DropColumn{{"n", "q"}}), HasSubstr("no column n.q; there are x, y"));
}

TEST_F(AlteredSchema, KeysAndOptionsFollowARenamedColumn) {
  NewTable table;
  table.fields = Must(ParseColumns("k INT, s1 INT, s2 INT, v INT, w INT"));
  table.primary_keys = {"k"};
  table.options = {{"bucket", "1"},
                   {"bucket-key", "k"},
                   {"merge-engine", "partial-update"},
                   {"fields.s1,s2.sequence-group", "v,w"},
                   {"fields.v.aggregate-function", "sum"},
                   {"fields.v.ignore-retract", "true"}};
  const TableSchema schema = Must(MakeTableSchema(table, 1));
  const TableSchema renamed = Must(
      ApplyChanges(schema, {RenameColumn{{"v"}, "vv"}, RenameColumn{{"s2"}, "t"}, RenameColumn{{"k"}, "kk"}},
                   {.table = "t"}));
  EXPECT_THAT(renamed.primary_keys, ElementsAre("kk"));
  EXPECT_EQ(renamed.options, (std::map<std::string, std::string>{{"bucket", "1"},
                                                                 {"bucket-key", "kk"},
                                                                 {"merge-engine", "partial-update"},
                                                                 {"fields.s1,t.sequence-group", "vv,w"},
                                                                 {"fields.vv.aggregate-function", "sum"},
                                                                 {"fields.vv.ignore-retract", "true"}}));
  EXPECT_EQ(Must(After(RenameColumn{{"seq"}, "version"})).options.at("sequence.field"), "version");
}

TEST_F(AlteredSchema, RefusesWhatWouldBreakKeysAndOptions) {
  EXPECT_THAT(Refusal(DropColumn{{"id"}}),
              HasSubstr("column id cannot be dropped: it is part of the primary key"));
  EXPECT_THAT(Refusal(DropColumn{{"day"}}), HasSubstr("it is a partition key"));
  EXPECT_THAT(Refusal(RenameColumn{{"day"}, "d"}), HasSubstr("day cannot be renamed: it is a partition key"));
  EXPECT_THAT(Refusal(DropColumn{{"seq"}}), HasSubstr("the option 'sequence.field' names it"));
  EXPECT_THAT(Refusal(DropColumn{{"v"}}), HasSubstr("the option 'fields.v.aggregate-function' names it"));
  EXPECT_THAT(Refusal(RetypeColumn{{"id"}, "DECIMAL(20, 0)"}), HasSubstr("part of the primary key"));
  EXPECT_THAT(Refusal(AllowNulls{{"id"}}), HasSubstr("part of the primary key"));
}

TEST_F(AlteredSchema, RefusesATypeThatDoesNotHoldEveryOldValue) {
  EXPECT_THAT(
      Refusal(RetypeColumn{{"v"}, "SMALLINT NOT NULL"}),
      AllOf(HasSubstr("unsupported"), HasSubstr("column v cannot change from INT NOT NULL to SMALLINT")));
  EXPECT_THAT(Refusal(RetypeColumn{{"name"}, "VARCHAR(9)"}), HasSubstr("VARCHAR(10) to VARCHAR(9)"));
  EXPECT_THAT(Refusal(RetypeColumn{{"n"}, "ROW<x BIGINT>"}), HasSubstr("change by their parts"));
  EXPECT_THAT(Refusal(RetypeColumn{{"name"}, "STRING NOT NULL"}), HasSubstr("name cannot become NOT NULL"));
  EXPECT_THAT(Refusal(RetypeColumn{{"name"}, "TEXTUAL"}), HasSubstr("column name"));
  const TableSchema wider = Must(After(RetypeColumn{{"v"}, "BIGINT", /*keep_nullability=*/true}));
  EXPECT_EQ(ToSql(wider.fields[2].type), "BIGINT NOT NULL");
  EXPECT_EQ(ToSql(Must(After(RetypeColumn{{"v"}, "BIGINT"})).fields[2].type), "BIGINT");
}

TEST_F(AlteredSchema, ABucketKeyOfAnAppendTableKeepsItsTypeAndStays) {
  NewTable table;
  table.fields = Must(ParseColumns("k INT, v INT"));
  table.options = {{"bucket", "2"}, {"bucket-key", "k"}};
  const TableSchema schema = Must(MakeTableSchema(table, 1));
  const auto refusal = [&](const SchemaChange& change) {
    return ApplyChanges(schema, {change}, {.table = "t"}).status().message();
  };
  EXPECT_THAT(refusal(RetypeColumn{{"k"}, "BIGINT"}), HasSubstr("it is a bucket key"));
  EXPECT_THAT(refusal(DropColumn{{"k"}}), HasSubstr("the option 'bucket-key' names it"));
}

TEST_F(AlteredSchema, RefusesNamesThatAreTakenReservedOrMissing) {
  EXPECT_THAT(Refusal(AddColumn{{"v"}, "INT"}),
              HasSubstr("already exists: altering table shop.orders: column v"));
  EXPECT_THAT(Refusal(AddColumn{{"w"}, "INT NOT NULL"}), HasSubstr("cannot be added as NOT NULL"));
  EXPECT_THAT(Refusal(AddColumn{{"_KEY_x"}, "INT"}), HasSubstr("reserved"));
  EXPECT_THAT(Refusal(AddColumn{{"w"}, "INT", "", Behind("no")}), HasSubstr("there is no column no"));
  EXPECT_THAT(Refusal(RenameColumn{{"v"}, "name"}), HasSubstr("there is a column of that name"));
  EXPECT_THAT(Refusal(RenameColumn{{"no"}, "x"}), HasSubstr("there is no column no; there are day, id"));
  EXPECT_THAT(Refusal(MoveColumn{"v", ColumnPlace{ColumnPlace::Where::kBefore, "v"}}),
              HasSubstr("beside itself"));
  EXPECT_THAT(Refusal(AddColumn{{}, "INT"}), HasSubstr("without a name"));
}

TEST_F(AlteredSchema, RefusesOptionsThatAreFixedAndValuesThatMeanNothing) {
  EXPECT_THAT(Refusal(SetOption{"merge-engine", "deduplicate"}), HasSubstr("once the table has a snapshot"));
  EXPECT_THAT(Refusal(UnsetOption{"bucket-key"}), HasSubstr("'bucket-key' cannot change from 'id' to unset"));
  EXPECT_THAT(Refusal(SetOption{"bucket", "4"}), HasSubstr("headrace rescale TABLE --buckets 4"));
  EXPECT_THAT(Refusal(SetOption{"bucket", "-1"}), HasSubstr("make a new table"));
  EXPECT_THAT(Refusal(SetOption{"primary-key", "v"}), HasSubstr("fixed when the table was made"));
  EXPECT_THAT(Refusal(SetOption{"deletion-vectors.enabled", "true"}),
              HasSubstr("deletion-vectors.modifiable"));
  EXPECT_THAT(Refusal(SetOption{"file.format", "orc"}), HasSubstr("file.format"));
  EXPECT_THAT(Refusal(SetOption{"target-file-size", "large"}), HasSubstr("target-file-size"));
  EXPECT_THAT(Refusal(SetOption{"fields.gone.aggregate-function", "sum"}),
              HasSubstr("'gone' does not exist"));
  EXPECT_EQ(Must(After(SetOption{"primary-key", "id,day"})).id, SchemaId(0));
  EXPECT_TRUE(ApplyChanges(schema_, {SetOption{"merge-engine", "deduplicate"}},
                           {.table = "t", .has_snapshots = false})
                  .ok());
}

TEST_F(AlteredSchema, IsAllOfTheChangesOrNone) {
  const auto both = ApplyChanges(schema_, {AddColumn{{"w"}, "INT"}, DropColumn{{"no"}}}, {.table = "t"});
  EXPECT_FALSE(both.ok());
  const TableSchema chained = Must(
      ApplyChanges(schema_, {AddColumn{{"w"}, "INT"}, RenameColumn{{"w"}, "x"}, MoveColumn{"x", First()}},
                   {.table = "t"}));
  EXPECT_EQ(chained.fields[0].name, "x");
}

TEST_F(AlteredSchema, OfATableThatIsNotWrittenHereMayChange) {
  TableSchema orc = schema_;
  orc.options["file.format"] = "orc";
  EXPECT_TRUE(ApplyChanges(orc, {AddColumn{{"w"}, "INT"}}, {.table = "t"}).ok());
}

TEST(AlterSchema, OfManyAtOnceLosesNoChangeAndGivesNoIdTwice) {
  constexpr int kThreads = 4;
  constexpr int kEach = 6;
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string name = "c" + std::to_string(t) + "_" + std::to_string(i);
        if (!AlterSchema(made.table, {AddColumn{{name}, "INT"}}).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  constexpr int kAdded = kThreads * kEach;
  EXPECT_EQ(Must(FindLatestSchemaId(made.store.get(), made.table.path)), SchemaId(kAdded));
  const TableSchema last = Must(ReadSchema(made.store.get(), made.table.path, SchemaId(kAdded)));
  EXPECT_EQ(last.highest_field_id, 1 + kAdded);
  std::set<int32_t> ids;
  for (const DataField& field : last.fields) ids.insert(field.id);
  EXPECT_EQ(ids.size(), 2u + kAdded);
}

}  // namespace
}  // namespace headrace
