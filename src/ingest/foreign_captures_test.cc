// The captures of Canal, Maxwell, wal2json, test_decoding and flattened Debezium end in the rows that the source held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/event_decoders.h"
#include "ingest/json_lines_decoder.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Capture {
  EventFormat format;
  const char* lines;
  const char* source;  // what --source-table says
  const char* columns;
  std::vector<std::string> keys;
  const char* expected;
  const char* expected_table;
  const char* initial = nullptr;
  std::vector<std::string> leave_out = {};
};

// The rows before the first streamed change.
void FeedInitial(MapTable* table, const TableShape& shape, const Capture& capture) {
  ValueModes modes;
  modes.source = ValueSource::kPostgres;  // the initial rows are the server's text as well
  table->UseDecoder(std::make_unique<JsonLinesDecoder>(shape, modes, ""));
  JsonTape tape;
  for (const std::string& line : LinesOf(ReadFixture(capture.initial))) {
    ASSERT_TRUE(tape.Parse(line));
    if (FindMember(tape.root(), "table")->view() != capture.expected_table) continue;
    std::string row = "{";
    const JsonToken& object = *FindMember(tape.root(), "row");
    for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next()) {
      if (std::find(capture.leave_out.begin(), capture.leave_out.end(), name->view()) !=
          capture.leave_out.end())
        continue;
      AppendJsonString(name->view(), &row.append(row.size() > 1 ? "," : ""));
      AppendJson(name[1], &row.append(":"));
    }
    const LineOutcome outcome = table->Feed(row + "}");
    ASSERT_EQ(outcome.fate, LineFate::kApplied) << outcome.field << " " << outcome.reason;
  }
}

std::vector<std::string> RecordsOf(EventFormat format, const std::string& fixture) {
  std::vector<std::string> lines = LinesOf(ReadFixture(fixture));
  return format == EventFormat::kTestDecoding ? JoinTestDecodingLines(lines) : lines;
}

std::vector<std::string> Problems(MapTable* table, EventFormat format, const std::string& fixture) {
  std::vector<std::string> problems;
  int number = 0;
  for (const std::string& line : RecordsOf(format, fixture)) {
    ++number;
    const LineOutcome outcome = table->Feed(line);
    if (outcome.fate == LineFate::kBad || outcome.fate == LineFate::kNeedsRows)
      problems.push_back(std::to_string(number) + " " + outcome.field + ": " + outcome.reason);
  }
  return problems;
}

EventOptions OptionsFor(const Capture& capture) {
  EventOptions options;
  options.source_table = capture.source;
  if (capture.format == EventFormat::kDebeziumFlat) options.modes.decimal = DecimalMode::kPrecise;
  return options;
}

// Rows that no event touched after the source's ALTER have null where the source has the default.
std::vector<std::string> WithoutDefaults(std::vector<std::string> rows) {
  for (std::string& row : rows) {
    const size_t at = row.find("|score=5");
    if (at != std::string::npos) row.replace(at, 8, "|score=null");
    const size_t since = row.find("since=2024-06-01 10:00:00.250");
    if (since != std::string::npos) row.replace(since, 29, "since=2024-06-01T10:00:00.25");
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

class ForeignCapture : public ::testing::TestWithParam<Capture> {};

TEST_P(ForeignCapture, EndsInTheRowsOfTheSource) {
  const Capture& capture = GetParam();
  const TableShape shape = ShapeOf(capture.columns, capture.keys);
  MapTable table(shape);
  if (capture.initial != nullptr) FeedInitial(&table, shape, capture);
  table.UseDecoder(MakeEventDecoder(capture.format, shape, OptionsFor(capture)));
  EXPECT_THAT(Problems(&table, capture.format, capture.lines), IsEmpty());
  EXPECT_THAT(table.Rows(capture.leave_out),
              ElementsAreArray(
                  WithoutDefaults(ExpectedRows(capture.expected, capture.expected_table, capture.leave_out))))
      << capture.lines;
}

constexpr const char* kCustomers =
    "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, address STRING";
constexpr const char* kDocuments =
    "doc_id INT, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, numbers ARRAY<INT>";
constexpr const char* kOrderLines = "line_no INT, order_id BIGINT, sku STRING, quantity INT";

// The captures that each plugin of PostgreSQL made of the same statements.
std::vector<Capture> OfPlugin(EventFormat format, const std::string& ending) {
  static std::vector<std::string> names;  // kept: a Capture borrows its texts
  names.reserve(64);
  const auto name = [&](const std::string& capture, const std::string& end) {
    return names.emplace_back(capture + end).c_str();
  };
  std::vector<Capture> captures;
  for (const char* customers : {"customers", "customers-default-identity"}) {
    captures.push_back({format,
                        name(customers, ending),
                        "",
                        kCustomers,
                        {"customer_id"},
                        name(customers, ".expected.jsonl"),
                        "public.customers",
                        name(customers, ".initial.jsonl")});
  }
  const auto add = [&](const char* table, const char* expected, const char* columns,
                       std::vector<std::string> keys, std::vector<std::string> leave_out) {
    captures.push_back({format, name("pk-change", ending), table, columns, std::move(keys),
                        "pk-change.expected.jsonl", expected, "pk-change.initial.jsonl",
                        std::move(leave_out)});
  };
  add("accounts", "public.accounts", "account_id INT, owner STRING, balance BIGINT", {"account_id"}, {});
  add("order_lines", "public.order_lines", kOrderLines, {"order_id", "line_no"}, {});
  add("documents", "public.documents", kDocuments, {"doc_id"}, {"attrs"});
  add("documents_full", "public.documents_full", kDocuments, {"doc_id"}, {"attrs"});
  // Version 1 of wal2json does not write a TRUNCATE at all.
  if (ending != ".wal2json-v1.jsonl")
    add("visits", "public.visits", "visit_id INT, page STRING", {"visit_id"}, {});
  return captures;
}

INSTANTIATE_TEST_SUITE_P(
    Canal, ForeignCapture,
    ::testing::Values(
        Capture{EventFormat::kCanalJson,
                "canal-customers.jsonl",
                "customers",
                "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, since TIMESTAMP(3), "
                "address STRING, score BIGINT",
                {"customer_id"},
                "canal-customers.expected.jsonl",
                "customers"},
        Capture{EventFormat::kCanalJson,
                "canal-mixed.jsonl",
                "shop.order_lines",
                kOrderLines,
                {"order_id", "line_no"},
                "canal-mixed.expected.jsonl",
                "shop.order_items"},
        Capture{EventFormat::kCanalJson,
                "canal-mixed.jsonl",
                "elsewhere.order_items",
                kOrderLines,
                {"order_id", "line_no"},
                "canal-mixed.expected.jsonl",
                "elsewhere.order_items"}));

INSTANTIATE_TEST_SUITE_P(
    Maxwell, ForeignCapture,
    ::testing::Values(
        Capture{
            EventFormat::kMaxwellJson,
            "maxwell-customers.jsonl",
            "",
            "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, address STRING, score INT",
            {"customer_id"},
            "maxwell-customers.expected.jsonl",
            "customers"},
        Capture{EventFormat::kMaxwellJson,
                "maxwell-mixed.jsonl",
                "shop.order_lines",
                kOrderLines,
                {"order_id", "line_no"},
                "maxwell-mixed.expected.jsonl",
                "shop.order_lines"},
        Capture{EventFormat::kMaxwellJson,
                "maxwell-mixed.jsonl",
                "elsewhere.order_lines",
                kOrderLines,
                {"order_id", "line_no"},
                "maxwell-mixed.expected.jsonl",
                "elsewhere.order_lines"}));

INSTANTIATE_TEST_SUITE_P(Wal2Json, ForeignCapture,
                         ::testing::ValuesIn(OfPlugin(EventFormat::kWal2Json, ".wal2json-v2.jsonl")));
INSTANTIATE_TEST_SUITE_P(Wal2JsonVersion1, ForeignCapture,
                         ::testing::ValuesIn(OfPlugin(EventFormat::kWal2Json, ".wal2json-v1.jsonl")));
INSTANTIATE_TEST_SUITE_P(TestDecoding, ForeignCapture,
                         ::testing::ValuesIn(OfPlugin(EventFormat::kTestDecoding, ".test-decoding.txt")));

INSTANTIATE_TEST_SUITE_P(Flat, ForeignCapture,
                         ::testing::Values(Capture{EventFormat::kDebeziumFlat,
                                                   "customers.flat.jsonl",
                                                   "",
                                                   kCustomers,
                                                   {"customer_id"},
                                                   "customers.expected.jsonl",
                                                   "public.customers"},
                                           Capture{EventFormat::kDebeziumFlat,
                                                   "customers-default-identity.flat.jsonl",
                                                   "",
                                                   kCustomers,
                                                   {"customer_id"},
                                                   "customers-default-identity.expected.jsonl",
                                                   "public.customers"},
                                           Capture{EventFormat::kDebeziumFlat,
                                                   "mariadb-customers.flat.jsonl",
                                                   "customers",
                                                   kCustomers,
                                                   {"customer_id"},
                                                   "mariadb-customers.expected.jsonl",
                                                   "customers"}));

// What a plugin says of one table, by row and column, and what was refused.
struct Said {
  std::map<std::string, std::map<std::string, std::string>> rows;  // by id
  std::vector<std::string> problems;
};

Said AllTypes(EventFormat format, const std::string& fixture,
              const std::map<std::string, std::string>& typed) {
  std::string columns;
  JsonTape tape;
  EXPECT_TRUE(tape.Parse(LinesOf(ReadFixture("types.precise-adaptive.expected.jsonl")).front()));
  const JsonToken& row = *FindMember(tape.root(), "row");
  for (const JsonToken* name = row.begin(); name != row.end(); name = name[1].next()) {
    const auto found = typed.find(std::string(name->view()));
    columns += (columns.empty() ? "" : ", ") + std::string(name->view()) + " " +
               (found == typed.end() ? "STRING" : found->second);
  }
  const TableShape shape = ShapeOf(columns, {"id"});
  MapTable table(shape);
  table.UseDecoder(MakeEventDecoder(format, shape, {}));
  Said said;
  said.problems = Problems(&table, format, fixture);
  for (const auto& [key, one] : table.rows()) said.rows[one.at("id")] = one;
  return said;
}

struct Plugin {
  EventFormat format;
  const char* fixture;
  const char* typed_ids;  // of the rows that typed columns take
};
// 104: an array of two dimensions; 105: 24:00:00; 109, 110: infinite days; 111: before the year 1; 112: beyond the range; 113: NaN, which
// wal2json makes null. Its version 1 has all fifteen rows in one line, so one refuses them all.
constexpr Plugin kPlugins[] = {
    {EventFormat::kWal2Json, "types.precise-adaptive.wal2json-v2.jsonl",
     "1 101 102 103 106 107 108 113 114 115 3 "},
    {EventFormat::kWal2Json, "types.precise-adaptive.wal2json-v1.jsonl", "1 101 3 "},
    {EventFormat::kTestDecoding, "types.precise-adaptive.test-decoding.txt",
     "1 101 102 103 106 107 108 114 115 3 "}};

// Every type as text: what the server prints, byte for byte, but for what wal2json does not tell.
TEST(TypesByPlugins, AreKeptAsTextExactly) {
  for (const Plugin& plugin : kPlugins) {
    const Said said = AllTypes(plugin.format, plugin.fixture, {{"c_bytea", "BYTES"}});
    EXPECT_THAT(said.problems, IsEmpty()) << plugin.fixture;
    EXPECT_EQ(said.rows.size(), 17u) << plugin.fixture;  // 101 to 115, and two that were updated
    std::vector<std::string> different;
    JsonTape tape;
    for (const std::string& line : LinesOf(ReadFixture("types.precise-adaptive.expected.jsonl"))) {
      ASSERT_TRUE(tape.Parse(line));
      const JsonToken& row = *FindMember(tape.root(), "row");
      const std::string id(FindMember(row, "id")->view());
      if (!said.rows.contains(id)) continue;
      for (const JsonToken* name = row.begin(); name != row.end(); name = name[1].next()) {
        std::string wanted = name[1].is_null() ? "null" : std::string(name[1].view());
        const std::string column(name->view());
        if (column == "c_bool" && wanted != "null") wanted = wanted == "t" ? "true" : "false";
        if (column == "c_bytea" && wanted.starts_with("\\x")) wanted.erase(0, 2);
        const std::string& got = said.rows.at(id).at(column);
        if (got != wanted) different.push_back(id + "." + column + " " + got + "|" + wanted);
      }
    }
    if (plugin.format == EventFormat::kTestDecoding) {
      EXPECT_THAT(different, IsEmpty());
    } else {
      EXPECT_THAT(different,
                  ::testing::UnorderedElementsAre(
                      "113.c_numeric_10_2 null|NaN", "113.c_numeric null|NaN", "109.c_real null|NaN",
                      "109.c_double null|NaN", "110.c_real null|Infinity", "110.c_double null|Infinity",
                      "111.c_real null|-Infinity", "111.c_double null|-Infinity",
                      "114.c_numeric null|Infinity", "115.c_numeric null|-Infinity"))
          << plugin.fixture;
    }
  }
}

// In typed columns all that fits is taken, and what does not is named.
TEST(TypesByPlugins, AreTakenWhereTheyFitAndNamedWhereNot) {
  const std::map<std::string, std::string> typed = {{"c_smallint", "SMALLINT"},
                                                    {"c_int", "INT"},
                                                    {"c_bigint", "BIGINT"},
                                                    {"c_numeric_10_2", "DECIMAL(10, 2)"},
                                                    {"c_numeric_38_18", "DECIMAL(38, 18)"},
                                                    {"c_numeric_5_m2", "DECIMAL(7, 0)"},
                                                    {"c_numeric_3_5", "DECIMAL(5, 5)"},
                                                    {"c_real", "FLOAT"},
                                                    {"c_double", "DOUBLE"},
                                                    {"c_bool", "BOOLEAN"},
                                                    {"c_char", "CHAR(5)"},
                                                    {"c_varchar", "VARCHAR(40)"},
                                                    {"c_bytea", "BYTES"},
                                                    {"c_date", "DATE"},
                                                    {"c_time0", "TIME(0)"},
                                                    {"c_time3", "TIME(3)"},
                                                    {"c_timestamp", "TIMESTAMP(6)"},
                                                    {"c_timestamp3", "TIMESTAMP(3)"},
                                                    {"c_timestamptz", "TIMESTAMP_LTZ(6)"},
                                                    {"c_int_array", "ARRAY<INT>"},
                                                    {"c_text_array", "ARRAY<STRING>"},
                                                    {"c_numeric_array", "ARRAY<DECIMAL(10, 2)>"},
                                                    {"c_tstz_array", "ARRAY<TIMESTAMP_LTZ(6)>"},
                                                    {"c_domain", "INT"},
                                                    {"c_oid", "BIGINT"},
                                                    {"c_default_int", "INT"}};
  for (const Plugin& plugin : kPlugins) {
    const Said said = AllTypes(plugin.format, plugin.fixture, typed);
    std::string problems;
    for (const std::string& problem : said.problems) problems += problem + "\n";
    std::string ids;
    for (const auto& [id, row] : said.rows) ids += id + " ";
    EXPECT_EQ(ids, plugin.typed_ids) << plugin.fixture << "\n" << problems;
  }
}

}  // namespace
}  // namespace headrace::ingest
