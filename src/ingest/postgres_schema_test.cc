#include "ingest/postgres_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/schema_change.h"
#include "ingest/decoder_test_kit.h"
#include "ingest/encoded_bytes.h"
#include "ingest/pgoutput_rows.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kInt4 = 23, kInt8 = 20, kText = 25;

TableSchema SchemaOf(const std::string& columns, const std::vector<std::string>& keys) {
  NewTable table;
  table.fields = *ParseColumns(columns);
  table.primary_keys = keys;
  return *MakeTableSchema(std::move(table), 0);
}

pgoutput::Relation RelationOf(std::vector<pgoutput::RelationColumn> columns) {
  pgoutput::Relation relation;
  relation.schema = "public";
  relation.name = "t";
  relation.columns = std::move(columns);
  return relation;
}

TEST(ChangesFor, AreNoneWhenTheTableHoldsWhatComes) {
  const PostgresTypes types;
  const auto needed =
      ChangesFor(RelationOf({{true, "id", kInt4, -1}, {false, "v", kInt4, -1}, {false, "t", kInt8, -1}}),
                 types, SchemaOf("id INT, v BIGINT, t STRING", {"id"}));
  EXPECT_THAT(needed.required, IsEmpty());
  EXPECT_THAT(needed.widening, IsEmpty());
}

TEST(ChangesFor, AddColumnsWidenTypesAndAllowNullsForWhatIsGone) {
  const PostgresTypes types;
  const auto needed =
      ChangesFor(RelationOf({{true, "id", kInt4, -1}, {false, "v", kInt8, -1}, {false, "fresh", kText, -1}}),
                 types, SchemaOf("id INT, v INT NOT NULL, gone INT NOT NULL, gone2 INT", {"id"}));
  EXPECT_THAT(needed.required,
              ElementsAre(SchemaChange(AddColumn{{"fresh"}, "STRING"}), SchemaChange(AllowNulls{{"gone"}})));
  EXPECT_THAT(needed.widening, ElementsAre(SchemaChange(RetypeColumn{{"v"}, "BIGINT", true})));
}

TEST(ChangesFor, NarrowerAndOtherTypesAreLeftToTheValues) {
  const PostgresTypes types;
  const auto needed =
      ChangesFor(RelationOf({{true, "id", kInt4, -1}, {false, "v", kInt4, -1}, {false, "w", 1700, -1}}),
                 types, SchemaOf("id INT, v DATE, w BIGINT", {"id"}));
  EXPECT_THAT(needed.required, IsEmpty());
  EXPECT_THAT(
      needed.widening,
      ElementsAre(SchemaChange(RetypeColumn{{"w"}, "STRING", true})));  // integers to text lose nothing
}

TEST(TableFor, MakesOnlyTheKeyNotNull) {
  SourceTable source;
  source.relation = RelationOf({{true, "b", kInt4, -1}, {true, "a", kInt8, -1}, {false, "v", 1043, 44}});
  source.key = {"a", "b"};
  const TableSchema schema = *MakeTableSchema(TableFor(source, {}), 0);
  EXPECT_EQ(schema.primary_keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ToSql(schema.fields[0].type), "INT NOT NULL");
  EXPECT_EQ(ToSql(schema.fields[2].type), "VARCHAR(40)");
}

TEST(KeyMismatch, IsWhatWouldMakeRowsReplaceEachOtherOrStay) {
  pgoutput::Relation relation =
      RelationOf({{true, "id", kInt4, -1}, {true, "v", kInt4, -1}, {false, "w", kInt4, -1}});
  EXPECT_EQ(KeyMismatch({"id"}, relation, {"id"}), "");
  EXPECT_EQ(KeyMismatch({"v", "id"}, relation, {"id", "v"}), "");
  EXPECT_EQ(KeyMismatch({}, relation, {"id"}), "");  // an append table
  EXPECT_THAT(KeyMismatch({"id"}, relation, {"id", "v"}), ::testing::HasSubstr("by column v too"));
  EXPECT_THAT(KeyMismatch({"id", "gone"}, relation, {"id"}), ::testing::HasSubstr("no column gone"));
  EXPECT_THAT(KeyMismatch({"id", "w"}, relation, {"id"}), ::testing::HasSubstr("does not send column w"));
  relation.identity = pgoutput::ReplicaIdentity::kFull;
  EXPECT_EQ(KeyMismatch({"id", "w"}, relation, {"id"}), "");
}

TEST(MatchesPattern, TakesStarsForAnything) {
  EXPECT_TRUE(MatchesPattern("public.orders", "public.*"));
  EXPECT_TRUE(MatchesPattern("public.orders", "*.orders"));
  EXPECT_TRUE(MatchesPattern("public.order_lines", "public.order*s"));
  EXPECT_TRUE(MatchesPattern("public.a", "public.a"));
  EXPECT_TRUE(MatchesPattern("public.", "public.**"));
  EXPECT_FALSE(MatchesPattern("public.orders", "public.order"));
  EXPECT_FALSE(MatchesPattern("archive.orders", "public.*"));
  EXPECT_FALSE(MatchesPattern("", "a"));
}

// Eight ALTER TABLEs with rows between: the table follows each of them and ends with the rows that the events alone can give.
TEST(EvolvingPgoutput, FollowsEveryAlterTable) {
  const PostgresTypes types;
  TableSchema schema = SchemaOf(
      "order_id INT, customer VARCHAR(12), amount DECIMAL(8, 2), quantity INT, legacy_code CHAR(3), note "
      "STRING",
      {"order_id"});
  std::map<std::string, std::map<std::string, std::string>> table;
  TableShape shape;
  std::unique_ptr<PgoutputRows> rows;
  int alters = 0;
  const auto fit = [&](const pgoutput::Relation& relation) {
    const NeededChanges needed = ChangesFor(relation, types, schema);
    for (const std::vector<SchemaChange>* changes : {&needed.required, &needed.widening}) {
      if (changes->empty()) continue;
      ++alters;
      const auto altered = ApplyChanges(schema, *changes, {"shop.orders", true, false, 0});
      ASSERT_TRUE(altered.ok()) << altered.status().ToString();
      schema = *altered;
    }
    shape = TableShape();
    shape.fields = schema.fields;
    shape.key_columns = {0};
    rows = std::make_unique<PgoutputRows>(&shape);
    rows->SetRelation(relation);
  };
  for (const std::string& line : LinesOf(ReadFixture("orders-evolving.pgoutput.hex"))) {
    std::string bytes;
    ASSERT_TRUE(DecodeHex(line.substr(line.rfind(' ') + 1), &bytes));
    const pgoutput::Message message = *pgoutput::Decode(bytes);
    if (const auto* relation = std::get_if<pgoutput::Relation>(&message)) fit(*relation);
    RowBuffer out(shape.fields);
    LineOutcome outcome;
    if (const auto* insert = std::get_if<pgoutput::Insert>(&message)) outcome = rows->Insert(*insert, &out);
    if (const auto* update = std::get_if<pgoutput::Update>(&message))
      outcome = rows->Update(*update, nullptr, &out);
    if (const auto* deleted = std::get_if<pgoutput::Delete>(&message)) outcome = rows->Delete(*deleted, &out);
    ASSERT_NE(outcome.fate, LineFate::kBad) << outcome.field << " " << outcome.reason;
    for (int64_t i = 0; i < out.rows(); ++i) {
      std::map<std::string, std::string>& row = table[CellText(out.column(0), i)];
      row.clear();
      for (int c = 0; c < out.num_columns() && out.kind(i) != RowKind::kDelete; ++c)
        row[shape.fields[c].name] = CellText(out.column(c), i);
    }
  }
  // Two columns added, the number of four widened in three steps, and the rename of `note` is one more column. That legacy_code comes back as a
  // number does not matter to a column of text.
  EXPECT_EQ(alters, 6);
  EXPECT_EQ(ToSql(schema.fields[static_cast<size_t>(schema.FieldIndex("priority"))].type), "STRING");
  EXPECT_EQ(ToSql(schema.fields[static_cast<size_t>(schema.FieldIndex("quantity"))].type), "BIGINT");
  EXPECT_EQ(ToSql(schema.fields[static_cast<size_t>(schema.FieldIndex("amount"))].type), "DECIMAL(14, 4)");
  const std::map<std::string, std::string> touched = {{"order_id", "2"},
                                                      {"customer", "otto von und zu langenfeld-am-see"},
                                                      {"amount", "1234567890.1234"},
                                                      {"quantity", "3000000000"},
                                                      {"legacy_code", "77"},
                                                      {"note", "null"},
                                                      {"channel", "web"},
                                                      {"priority", "P1"},
                                                      {"remark", "touched after every change (2) (5) (6)"}};
  EXPECT_EQ(table["2"], touched);
  EXPECT_TRUE(table["4"].empty());  // deleted
}

}  // namespace
}  // namespace headrace::ingest
