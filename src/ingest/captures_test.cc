// The captures of one table whose schema does not change end in the rows that the source held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr const char* kCustomers =
    "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, address STRING";

struct Counts {
  int applied = 0, ignored = 0, bad = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << c.applied << " applied, " << c.ignored << " ignored, " << c.bad << " bad";
  }
};

Counts FeedAll(MapTable* table, const std::string& fixture, const std::string& keys = {},
               std::string* first_problem = nullptr) {
  Counts counts;
  const std::vector<std::string> lines = LinesOf(ReadFixture(fixture));
  const std::vector<std::string> key_lines =
      keys.empty() ? std::vector<std::string>() : LinesOf(ReadFixture(keys));
  for (size_t i = 0; i < lines.size(); ++i) {
    const LineOutcome outcome =
        table->Feed(lines[i], keys.empty() ? std::nullopt : std::optional<std::string_view>(key_lines[i]));
    counts.applied += outcome.fate == LineFate::kApplied || outcome.fate == LineFate::kTruncate;
    counts.ignored += outcome.fate == LineFate::kIgnored;
    counts.bad += outcome.fate == LineFate::kBad;
    if (outcome.fate == LineFate::kBad && first_problem != nullptr && first_problem->empty()) {
      *first_problem = std::to_string(i + 1) + " " + outcome.field + ": " + outcome.reason;
    }
    EXPECT_NE(outcome.fate, LineFate::kNeedsRows);
  }
  return counts;
}

class CustomersCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(CustomersCapture, EndsInTheRowsOfTheSource) {
  const std::string name = GetParam();
  for (const char* form : {".debezium.jsonl", ".debezium-schema.jsonl"}) {
    MapTable table(ShapeOf(kCustomers, {"customer_id"}));
    std::string problem;
    const Counts counts = FeedAll(&table, name + form, {}, &problem);
    EXPECT_EQ(counts.bad, 0) << problem;
    EXPECT_THAT(table.Rows(), ElementsAreArray(ExpectedRows(
                                  name + ".expected.jsonl",
                                  name.starts_with("mariadb") ? "customers" : "public.customers")))
        << name << form;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CustomersCapture,
                         ::testing::Values("customers", "customers-default-identity", "customers-meta",
                                           "mariadb-customers"));

TEST(CustomersCapture, GivesTheFourChangesOfCustomer8821InOrder) {
  MapTable table(ShapeOf(kCustomers, {"customer_id"}, /*keep_update_before=*/true));
  FeedAll(&table, "customers.debezium.jsonl");
  std::vector<std::string> changes;
  for (const std::string& change : table.changes()) {
    if (change.find("|8821|") != std::string::npos) changes.push_back(change);
  }
  const std::string who = "|8821|Marina Costa|marina.costa@correio.example|";
  EXPECT_THAT(changes,
              ElementsAre("+I" + who + "trial|Av. Paulista 1000", "-U" + who + "trial|Av. Paulista 1000",
                          "+U" + who + "pro|Av. Paulista 1000", "-U" + who + "pro|Av. Paulista 1000",
                          "+U" + who + "pro|Rua das Acácias 120", "-D" + who + "pro|Rua das Acácias 120"));
}

TEST(CustomersCapture, WithDefaultIdentityHasNoUpdateBefore) {
  MapTable table(ShapeOf(kCustomers, {"customer_id"}, /*keep_update_before=*/true));
  FeedAll(&table, "customers-default-identity.debezium.jsonl");
  for (const std::string& change : table.changes()) EXPECT_FALSE(change.starts_with("-U")) << change;
}

struct OneTable {
  const char* capture;
  const char* source;
  const char* columns;
  std::vector<std::string> keys;
  const char* expected_table;
};

class TableOfAMixedCapture : public ::testing::TestWithParam<OneTable> {};

TEST_P(TableOfAMixedCapture, EndsInTheRowsOfTheSource) {
  const OneTable& one = GetParam();
  const bool packed = std::string(one.capture) == "pgbench";
  DebeziumOptions options;
  options.modes.decimal = DecimalMode::kPrecise;
  options.modes.binary = BinaryMode::kBase64;
  options.source_table = one.source;
  MapTable table(ShapeOf(one.columns, one.keys), options);
  std::string problem;
  const Counts counts =
      FeedAll(&table, std::string(one.capture) + ".debezium.jsonl" + (packed ? ".zst" : ""), {}, &problem);
  EXPECT_EQ(counts.bad, 0) << problem;
  EXPECT_GT(counts.ignored, 0);
  std::vector<std::string> expected = ExpectedRows(
      std::string(one.capture) + ".expected.jsonl" + (packed ? ".zst" : ""), one.expected_table, {"attrs"});
  EXPECT_THAT(table.Rows({"attrs"}), ElementsAreArray(expected));  // attrs is JSON, printed differently
}

INSTANTIATE_TEST_SUITE_P(
    All, TableOfAMixedCapture,
    ::testing::Values(
        OneTable{"pk-change",
                 "accounts",
                 "account_id INT, owner STRING, balance BIGINT",
                 {"account_id"},
                 "public.accounts"},
        OneTable{"pk-change",
                 "order_lines",
                 "line_no INT, order_id BIGINT, sku STRING, quantity INT",
                 {"order_id", "line_no"},
                 "public.order_lines"},
        OneTable{"pk-change", "public.visits", "visit_id INT, page STRING", {"visit_id"}, "public.visits"},
        OneTable{"pk-change",
                 "public.documents",
                 "doc_id INT, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, "
                 "numbers ARRAY<INT>",
                 {"doc_id"},
                 "public.documents"},
        OneTable{"pk-change",
                 "public.documents_full",
                 "doc_id INT, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, "
                 "numbers ARRAY<INT>",
                 {"doc_id"},
                 "public.documents_full"},
        OneTable{"multi-table",
                 "public.customers",
                 "customer_id BIGINT, name STRING, born DATE, created_at TIMESTAMP_LTZ(6)",
                 {"customer_id"},
                 "public.customers"},
        OneTable{"multi-table",
                 "archive.orders",
                 "order_id BIGINT, reason STRING, `Preço Total` DECIMAL(12,2)",
                 {"order_id"},
                 "archive.orders"},
        OneTable{
            "multi-table",
            "public.orders",
            "order_id INT, customer_id INT, total DECIMAL(12,2), placed_at TIMESTAMP(6), `Shipped?` BOOLEAN",
            {"order_id"},
            "public.orders"},
        OneTable{"pgbench",
                 "accounts",
                 "aid INT, bid INT, abalance INT, filler STRING",
                 {"aid"},
                 "public.accounts"},
        OneTable{"pgbench", "tellers", "tid INT, bid INT, tbalance INT", {"tid"}, "public.tellers"},
        OneTable{"pgbench", "pgbench.public.branches", "bid INT, bbalance INT", {"bid"}, "public.branches"}));

// Line by line what malformed.cases.jsonl says; lines that may be taken or refused are taken or refused as the documentation says.
TEST(MalformedLines, GetTheVerdictsThatTheyDeserve) {
  const std::map<int, LineFate> choices = {
      {65, LineFate::kBad},     {66, LineFate::kApplied}, {67, LineFate::kBad},     {68, LineFate::kApplied},
      {69, LineFate::kApplied}, {70, LineFate::kBad},     {71, LineFate::kApplied}, {72, LineFate::kApplied},
      {73, LineFate::kBad},     {74, LineFate::kBad},     {75, LineFate::kApplied}, {76, LineFate::kBad}};
  MapTable table(ShapeOf(kCustomers, {"customer_id"}));
  const std::vector<std::string> lines = LinesOf(ReadFixture("malformed.jsonl"));
  const std::vector<std::string> cases = LinesOf(ReadFixture("malformed.cases.jsonl"));
  ASSERT_EQ(lines.size(), 77u);
  ASSERT_EQ(cases.size(), 77u);
  JsonTape tape;
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSERT_TRUE(tape.Parse(cases[i]));
    const std::string_view verdict = FindMember(tape.root(), "verdict")->view();
    const std::string_view why = FindMember(tape.root(), "why")->view();
    const LineFate wanted = verdict == "apply"    ? LineFate::kApplied
                            : verdict == "ignore" ? LineFate::kIgnored
                            : verdict == "reject" ? LineFate::kBad
                                                  : choices.at(static_cast<int>(i) + 1);
    const LineOutcome outcome = table.Feed(lines[i]);
    EXPECT_EQ(outcome.fate, wanted) << "line " << i + 1 << " (" << why << "): " << outcome.field << " "
                                    << outcome.reason;
    if (outcome.fate == LineFate::kBad) {
      EXPECT_FALSE(outcome.reason.empty());
      EXPECT_LT(outcome.reason.size(), 300u);
    }
  }
  std::vector<std::string> rows;
  std::vector<std::string> choice_rows;
  for (const std::string& row : table.Rows()) {
    (row.find("customer_id=788") == std::string::npos ? rows : choice_rows).push_back(row);
  }
  EXPECT_THAT(rows, ElementsAreArray(ExpectedRows("malformed.expected.jsonl", "public.customers")));
  EXPECT_THAT(choice_rows,
              ElementsAre("address=x|customer_id=78802|email=null|name=missing column|plan=x",
                          "address=x|customer_id=78804|email=x|name=float key|plan=x",
                          "address=x|customer_id=78805|email=x|name=exponent key|plan=x",
                          std::string("address=x|customer_id=78807|email=x|name=n") + '\0' + "ul|plan=x",
                          "address=x|customer_id=78808|email=x|name=enveloped|plan=x",
                          "address=x|customer_id=78812|email=x|name=moved|plan=x"));
}

// The form is one that is not read: said by name, and what to do.
TEST(ForeignForms, AreRefusedByName) {
  const std::map<std::string, std::string> forms = {{"canal-customers.jsonl", "Canal"},
                                                    {"canal-mixed.jsonl", "Canal"},
                                                    {"maxwell-customers.jsonl", "Maxwell"},
                                                    {"maxwell-mixed.jsonl", "Maxwell"},
                                                    {"customers.wal2json-v2.jsonl", "wal2json"},
                                                    {"customers.wal2json-v1.jsonl", "wal2json"},
                                                    {"customers.flat.jsonl", "ExtractNewRecordState"},
                                                    {"mariadb-customers.flat.jsonl", "ExtractNewRecordState"},
                                                    {"customers.pgoutput.hex", "pgoutput"},
                                                    {"customers.test-decoding.txt", "test_decoding"}};
  for (const auto& [fixture, name] : forms) {
    MapTable table(ShapeOf(kCustomers, {"customer_id"}));
    std::vector<std::string> lines = LinesOf(ReadFixture(fixture));
    lines.resize(5);
    for (const std::string& line : lines) {
      const LineOutcome outcome = table.Feed(line);
      if (line == "null" || (fixture.starts_with("mariadb") && line.find("\"ddl\"") != std::string::npos))
        continue;
      EXPECT_EQ(outcome.fate, LineFate::kBad) << fixture << ": " << line.substr(0, 100);
      EXPECT_TRUE(outcome.foreign_form) << fixture << ": " << line.substr(0, 100);
      EXPECT_THAT(outcome.reason, HasSubstr(name));
    }
  }
}

TEST(EvolvingCaptures, AreRefusedAtTheFirstLineOfTheNewShape) {
  MapTable table(ShapeOf(
      "order_id INT, customer STRING, quantity INT, amount DECIMAL(8,2), legacy_code STRING, note STRING",
      {"order_id"}));
  std::string problem;
  const Counts counts = FeedAll(&table, "orders-evolving.debezium-schema.jsonl", {}, &problem);
  EXPECT_GT(counts.bad, 0);
  EXPECT_THAT(problem, HasSubstr("no column of the table"));
}

TEST(EvolvingCaptures, AreRefusedAtTheStatementThatChangesTheTable) {
  DebeziumOptions options;
  options.source_table = "orders";
  MapTable table(
      ShapeOf(
          "order_id INT, customer STRING, quantity INT, amount DECIMAL(8,2), legacy_code STRING, note STRING",
          {"order_id"}),
      options);
  std::string problem;
  FeedAll(&table, "mariadb-evolving.debezium-schema.jsonl", {}, &problem);
  EXPECT_THAT(problem, HasSubstr("19 ddl: the source changed its table"));
}

}  // namespace
}  // namespace headrace::ingest
