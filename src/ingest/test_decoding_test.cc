// The text of test_decoding: how it is quoted, what it leaves out, and what it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/event_decoders.h"
#include "ingest/event_route.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MapTable TableOf(const std::string& columns, std::vector<std::string> keys = {"id"},
                 EventOptions options = {}, bool keep_update_before = false) {
  const TableShape shape = ShapeOf(columns, keys, keep_update_before);
  MapTable table(shape);
  table.UseDecoder(MakeEventDecoder(EventFormat::kTestDecoding, shape, std::move(options)));
  return table;
}

TEST(TestDecodingText, IsQuotedInItsOwnWay) {
  TestDecodingChange change;
  std::string why;
  ASSERT_TRUE(ReadTestDecoding(
      R"(0/1925F28 731 table "My ""s.chema".t: INSERT: "a'[ b"[integer]:-1 b["Type [x]"[]]:'it''s new-tuple: "x" \n')"
      R"( c[bit varying]:B'0101' d[text]:null e[text]:'null' f[jsonb]:unchanged-toast-datum g[double precision]:-Infinity "h""i"[text]:'')",
      &change, &why))
      << why;
  EXPECT_EQ(change.what, TestDecodingChange::What::kInsert);
  ASSERT_EQ(change.tables.size(), 1u);
  EXPECT_EQ(change.tables[0].schema, "My \"s.chema");
  EXPECT_EQ(change.tables[0].table, "t");
  std::vector<std::string> columns;
  for (const auto& column : change.columns) {
    columns.push_back(column.name + "|" + column.type + "|" +
                      (column.is_null  ? "NULL"
                       : column.unsent ? "UNSENT"
                                       : column.text));
  }
  EXPECT_THAT(columns, ElementsAre("a'[ b|integer|-1", R"(b|"Type [x]"[]|it's new-tuple: "x" \n)",
                                   "c|bit varying|0101", "d|text|NULL", "e|text|null", "f|jsonb|UNSENT",
                                   "g|double precision|-Infinity", "h\"i|text|"));
}

TEST(TestDecodingText, IsRefusedWhereItIsCut) {
  TestDecodingChange change;
  std::string why;
  const std::string whole =
      R"(table public."t t": UPDATE: old-key: id[integer]:1 a[text[]]:'x' new-tuple: id[integer]:2 a[text[]]:'it''s')";
  ASSERT_TRUE(ReadTestDecoding(whole, &change, &why)) << why;
  // A text that ends between two columns, or after the first quote of two, cannot be told from a whole one.
  for (size_t length = 0; length < whole.size(); ++length) {
    if (ReadTestDecoding(whole.substr(0, length), &change, &why)) {
      EXPECT_TRUE(whole.substr(0, length).ends_with("id[integer]:2") || length == whole.size() - 3)
          << whole.substr(0, length);
    } else {
      EXPECT_FALSE(why.empty()) << length;
    }
  }
}

TEST(TestDecodingText, KnowsItsLines) {
  for (const char* line :
       {"BEGIN 731", "BEGIN", "COMMIT 731 (at 2026-11-29 14:21:36.010168+00)", "COMMIT",
        "0/1925F28 731 BEGIN 731", "0/1925F28|731|COMMIT 731", "0/1925F28\t731\tBEGIN",
        "table a.b: INSERT: x[integer]:1", "message: transactional: 1 prefix: p, sz: 3 content:abc",
        "table a.b, a.c: TRUNCATE: restart_seqs cascade"})
    EXPECT_TRUE(IsTestDecoding(line)) << line;
  for (const char* line : {"", "BEGINNING", "BEGIN x", "COMMITTED", "table", "table a.b",
                           "table a.b: MERGE: x", "table a.b, a.c: INSERT: x[integer]:1", "0/19 731",
                           "{\"op\":\"c\"}", "a,b", "0/1925F28 731 42000000"})
    EXPECT_FALSE(IsTestDecoding(line)) << line;
}

TEST(TestDecodingText, EndsItsRecordsInTheSamePlaceHoweverItArrives) {
  const std::string text =
      "BEGIN 1\ntable public.t: INSERT: a[text]:'x\n'' \ny' b[integer]:1\nmessage: transactional: 1 prefix: "
      "a, sz: 4 "
      "content:\n'\n'\nCOMMIT 1\n";
  for (size_t step = 1; step < 12; ++step) {
    std::vector<std::string> records;
    size_t begin = 0;
    TestDecodingRecordEnd end;
    for (size_t have = 0; have < text.size() + step; have += step) {
      const std::string_view so_far = std::string_view(text).substr(0, have);
      for (size_t at = 0; (at = end.Find(so_far.substr(begin))) != std::string_view::npos;) {
        records.emplace_back(so_far.substr(begin, at));
        begin += at + 1;
        end.Reset();
      }
    }
    EXPECT_THAT(records, ElementsAre("BEGIN 1", "table public.t: INSERT: a[text]:'x\n'' \ny' b[integer]:1",
                                     "message: transactional: 1 prefix: a, sz: 4 content:\n'\n'", "COMMIT 1"))
        << step;
  }
}

TEST(TestDecodingDecoder, TellsEveryKindOfChange) {
  MapTable table = TableOf("id INT, a STRING, big STRING", {"id"}, {}, /*keep_update_before=*/true);
  for (const char* line : {"BEGIN 1", "table s.t: INSERT: id[integer]:1 a[text]:'x' big[text]:'long'",
                           "table s.t: UPDATE: id[integer]:1 a[text]:'y' big[text]:unchanged-toast-datum",
                           "table s.t: UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 a[text]:null "
                           "big[text]:unchanged-toast-datum",
                           "table s.t: UPDATE: old-key: id[integer]:2 big[text]:'long' new-tuple: "
                           "id[integer]:2 a[text]:'z' big[text]:'b'",
                           "table s.t: UPDATE: old-key: id[integer]:2 a[text]:'z' big[text]:'b' new-tuple: "
                           "id[integer]:2 a[text]:'w' "
                           "big[text]:'b'",
                           "table s.t: DELETE: id[integer]:2", "COMMIT 1"}) {
    const LineOutcome outcome = table.Feed(line);
    EXPECT_NE(outcome.fate, LineFate::kBad) << line << outcome.field << outcome.reason;
  }
  EXPECT_THAT(table.changes(), ElementsAre("+I|1|x|long", "+U|1|y|long", "-D|1|null|null", "+I|2|null|long",
                                           "+U|2|z|b", "-U|2|z|b", "+U|2|w|b", "-D|2|null|null"));
}

TEST(TestDecodingDecoder, RefusesWhatItCannotFollow) {
  MapTable table = TableOf("id INT, a STRING");
  const std::vector<std::pair<const char*, const char*>> lines = {
      {"table s.t: UPDATE: (no-tuple-data)", "neither a primary key nor another replica identity"},
      {"table s.t: DELETE: (no-tuple-data)", "replica identity"},
      {"PREPARE TRANSACTION 'g', txid 5", "two_phase"},
      {"ROLLBACK PREPARED 'g', txid 5", "two_phase"},
      {"opening a streamed block for transaction TXN 5", "stream-changes"},
      {"table s.t: UPDATE: id[integer]:7 a[text]:unchanged-toast-datum", "no row of that key"},
      {"table s.t: INSERT: id[integer]:7 id[integer]:8", "twice"},
      {"table s.t: INSERT: id[integer]:'x", "ends within"},
      {"table s.t: INSERT: id[integer]:seven", "INT"},
      {"table s.t: INSERT:", "no column"},
      {"table s.t: INSERT: id[integer]:1 \xFF[text]:'x'", "UTF-8"},
      {"hello", "is no change as test_decoding writes it"}};
  for (const auto& [line, reason] : lines) {
    const LineOutcome outcome = table.Feed(line);
    EXPECT_EQ(outcome.fate, LineFate::kBad) << line;
    EXPECT_THAT(outcome.reason, HasSubstr(reason)) << line;
    EXPECT_FALSE(outcome.foreign_form) << line;
  }
  EXPECT_THAT(table.changes(), IsEmpty());
  for (const char* line : {R"({"before":null,"after":{"id":1},"op":"c"})", "0/1925F28 731 42000000000000"})
    EXPECT_TRUE(table.Feed(line).foreign_form) << line;
}

TEST(TestDecodingDecoder, EmptiesItsTableByATruncateOfSeveral) {
  EventOptions options;
  options.source_table = "public.t";
  MapTable table = TableOf("id INT", {"id"}, options);
  table.Feed("table public.t: INSERT: id[integer]:1");
  EXPECT_EQ(table.Feed("table public.a, public.b: TRUNCATE: (no-flags)").fate, LineFate::kIgnored);
  EXPECT_EQ(table.Feed("table public.a, public.t: TRUNCATE: restart_seqs cascade").fate, LineFate::kTruncate);
  EXPECT_THAT(table.Rows(), IsEmpty());
  options.truncate_deletes = false;
  EXPECT_EQ(TableOf("id INT", {"id"}, options).Feed("table public.t: TRUNCATE: (no-flags)").fate,
            LineFate::kBad);

  JsonTape tape;
  JsonTape inner;
  const EventRoute route = RouteOf(EventFormat::kTestDecoding,
                                   "0/1 7 table public.a, \"My s\".t: TRUNCATE: (no-flags)", &tape, &inner);
  EXPECT_THAT(route.tables, ElementsAre("public.a", "My s.t"));
  EXPECT_FALSE(route.has_rows);
}

// A type without its digits: those of the value tell how wide the column must be.
TEST(TestDecodingDecoder, WidensADecimalByItsValues) {
  EventOptions options;
  options.follow_schema = true;
  MapTable table = TableOf("id INT, d DECIMAL(4, 2), v VARCHAR(3)", {"id"}, options);
  EXPECT_EQ(table.Feed("table s.t: INSERT: id[integer]:1 d[numeric]:10.50 v[character varying]:'abc'").fate,
            LineFate::kApplied);
  const auto change = [&](const std::string& line) {
    const LineOutcome outcome = table.Feed(line);
    if (outcome.fate != LineFate::kSchemaChange || outcome.changes.size() != 1) return outcome.reason;
    const auto* retype = std::get_if<RetypeColumn>(&outcome.changes[0]);
    return retype == nullptr ? std::string("another change") : retype->type;
  };
  EXPECT_EQ(change("table s.t: INSERT: id[integer]:2 d[numeric]:-1234.5 v[character varying]:''"),
            "DECIMAL(6, 2)");
  EXPECT_EQ(change("table s.t: INSERT: id[integer]:2 d[numeric]:0.1234 v[character varying]:''"),
            "DECIMAL(6, 4)");
  EXPECT_EQ(change("table s.t: INSERT: id[integer]:2 d[numeric]:1 v[character varying]:'abcd'"), "STRING");
  EXPECT_THAT(change("table s.t: INSERT: id[integer]:2 d[numeric]:NaN"), HasSubstr("NaN"));
}

}  // namespace
}  // namespace headrace::ingest
