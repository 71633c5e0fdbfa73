// The captures of one table whose schema does not change end in the rows that the source held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr const char* kCustomers = "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, address STRING";

struct Counts {
  int applied = 0, ignored = 0, bad = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << c.applied << " applied, " << c.ignored << " ignored, " << c.bad << " bad";
  }
};

Counts FeedAll(MapTable* table, const std::string& fixture, const std::string& keys = {}, std::string* first_problem = nullptr) {
  Counts counts;
  const std::vector<std::string> lines = LinesOf(ReadFixture(fixture));
  const std::vector<std::string> key_lines = keys.empty() ? std::vector<std::string>() : LinesOf(ReadFixture(keys));
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
    EXPECT_THAT(table.Rows(), ElementsAreArray(ExpectedRows(name + ".expected.jsonl", name.starts_with("mariadb") ? "customers" : "public.customers")))
        << name << form;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CustomersCapture,
                         ::testing::Values("customers", "customers-default-identity", "customers-meta", "mariadb-customers"));

TEST(CustomersCapture, GivesTheFourChangesOfCustomer8821InOrder) {
  MapTable table(ShapeOf(kCustomers, {"customer_id"}, /*keep_update_before=*/true));
  FeedAll(&table, "customers.debezium.jsonl");
  std::vector<std::string> changes;
  for (const std::string& change : table.changes()) {
    if (change.find("|8821|") != std::string::npos) changes.push_back(change);
  }
  const std::string who = "|8821|Marina Costa|marina.costa@correio.example|";
  EXPECT_THAT(changes, ElementsAre("+I" + who + "trial|Av. Paulista 1000", "-U" + who + "trial|Av. Paulista 1000",
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
  const Counts counts = FeedAll(&table, std::string(one.capture) + ".debezium.jsonl" + (packed ? ".zst" : ""), {}, &problem);
  EXPECT_EQ(counts.bad, 0) << problem;
  EXPECT_GT(counts.ignored, 0);
  std::vector<std::string> expected = ExpectedRows(std::string(one.capture) + ".expected.jsonl" + (packed ? ".zst" : ""), one.expected_table);
  EXPECT_THAT(table.Rows(), ElementsAreArray(expected));
}

INSTANTIATE_TEST_SUITE_P(
    All, TableOfAMixedCapture,
    ::testing::Values(
        OneTable{"pk-change", "accounts", "account_id INT, owner STRING, balance BIGINT", {"account_id"}, "public.accounts"},
        OneTable{"pk-change", "order_lines", "line_no INT, order_id BIGINT, sku STRING, quantity INT", {"order_id", "line_no"},
                 "public.order_lines"},
        OneTable{"pk-change", "public.visits", "visit_id INT, page STRING", {"visit_id"}, "public.visits"},
        OneTable{"multi-table", "public.orders",
                 "order_id INT, customer_id INT, total DECIMAL(12,2), placed_at TIMESTAMP(6), `Shipped?` BOOLEAN", {"order_id"},
                 "public.orders"},
        OneTable{"pgbench", "accounts", "aid INT, bid INT, abalance INT, filler STRING", {"aid"}, "public.accounts"},
        OneTable{"pgbench", "tellers", "tid INT, bid INT, tbalance INT", {"tid"}, "public.tellers"},
        OneTable{"pgbench", "pgbench.public.branches", "bid INT, bbalance INT", {"bid"}, "public.branches"}));

}  // namespace
}  // namespace headrace::ingest
