// The captures of PostgreSQL's own plugin, applied on the rows before them, end in the rows that the server held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/encoded_bytes.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/pgoutput_rows.h"
#include "ingest/postgres_values.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// One table of a capture as a map, its rows before the capture, and what became of its messages.
class CapturedTable {
 public:
  CapturedTable(TableShape shape, std::string schema, std::string name)
      : shape_(std::move(shape)),
        schema_(std::move(schema)),
        name_(std::move(name)),
        rows_(&shape_),
        buffer_(shape_.fields),
        current_(&shape_, [](const std::vector<Value>&, RowBuffer*) -> Result<bool> { return false; }) {}

  void LoadInitial(const std::string& fixture) {
    JsonTape tape;
    for (const std::string& line : LinesOf(ReadFixture(fixture))) {
      ASSERT_TRUE(tape.Parse(line)) << tape.error();
      if (FindMember(tape.root(), "table")->view() != schema_ + "." + name_) continue;
      const JsonToken& row = *FindMember(tape.root(), "row");
      for (size_t c = 0; c < shape_.fields.size(); ++c) {
        const JsonToken* value = FindMember(row, shape_.fields[c].name);
        AppendInitial(value, &buffer_.column(static_cast<int>(c)));
      }
      buffer_.CloseRow(RowKind::kInsert);
      Take();
    }
  }

  void Feed(const std::string& fixture) {
    for (const std::string& line : LinesOf(ReadFixture(fixture))) {
      std::string bytes;
      ASSERT_TRUE(DecodeHex(line.substr(line.rfind(' ') + 1), &bytes)) << line;
      const auto message = pgoutput::Decode(bytes);
      ASSERT_TRUE(message.ok()) << message.status().ToString();
      Apply(*message);
    }
  }

  std::vector<std::string> Rows(const std::vector<std::string>& leave_out = {}) const {
    std::vector<std::string> texts;
    for (const auto& [key, row] : table_) {
      std::string text;
      for (const auto& [name, value] : row) {
        if (std::find(leave_out.begin(), leave_out.end(), name) == leave_out.end())
          text += (text.empty() ? "" : "|") + name + "=" + value;
      }
      texts.push_back(std::move(text));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  const std::vector<std::string>& changes() const { return changes_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  static void AppendInitial(const JsonToken* value, ColumnBuffer* column) {
    std::string why;
    if (value == nullptr || value->is_null()) {
      column->AppendNull();
      return;
    }
    const bool text = value->kind == JsonKind::kString || value->kind == JsonKind::kNumber;
    std::string json;
    if (value->kind == JsonKind::kObject) AppendJson(*value, &json);
    const bool taken = text            ? AppendPostgresText(value->view(), column, &why)
                       : !json.empty() ? AppendPostgresText(json, column, &why)
                                       : AppendValue(*value, kPlainShape, {}, column, &why);
    EXPECT_TRUE(taken) << why;
  }

  void Apply(const pgoutput::Message& message) {
    if (const auto* relation = std::get_if<pgoutput::Relation>(&message)) {
      if (relation->schema != schema_ || relation->name != name_) return;
      relation_ = relation->id;
      rows_.SetRelation(*relation);
    } else if (const auto* insert = std::get_if<pgoutput::Insert>(&message)) {
      if (insert->relation == relation_) Keep(rows_.Insert(*insert, &buffer_));
    } else if (const auto* update = std::get_if<pgoutput::Update>(&message)) {
      if (update->relation == relation_) Keep(rows_.Update(*update, &current_, &buffer_));
    } else if (const auto* deleted = std::get_if<pgoutput::Delete>(&message)) {
      if (deleted->relation == relation_) Keep(rows_.Delete(*deleted, &buffer_));
    } else if (const auto* truncate = std::get_if<pgoutput::Truncate>(&message)) {
      if (std::count(truncate->relations.begin(), truncate->relations.end(), relation_) == 0) return;
      table_.clear();
      current_.Clear();
    }
  }

  void Keep(const LineOutcome& outcome) {
    EXPECT_NE(outcome.fate, LineFate::kNeedsRows);
    if (outcome.fate == LineFate::kBad) problems_.push_back(outcome.field + ": " + outcome.reason);
    Take();
  }

  void Take() {
    current_.Add(buffer_, 0);
    for (int64_t i = 0; i < buffer_.rows(); ++i) {
      changes_.push_back(RowText(buffer_, i));
      std::string key;
      for (const int column : shape_.key_columns) buffer_.column(column).AppendKeyBytes(i, &key);
      if (shape_.key_columns.empty()) key = std::to_string(changes_.size());
      if (buffer_.kind(i) == RowKind::kDelete) table_.erase(key);
      if (buffer_.kind(i) == RowKind::kDelete || buffer_.kind(i) == RowKind::kUpdateBefore) continue;
      std::map<std::string, std::string> row;
      for (size_t c = 0; c < shape_.fields.size(); ++c)
        row[shape_.fields[c].name] = CellText(buffer_.column(static_cast<int>(c)), i);
      table_[key] = std::move(row);
    }
    buffer_.TruncateTo(0);
  }

  const TableShape shape_;
  const std::string schema_;
  const std::string name_;
  PgoutputRows rows_;
  RowBuffer buffer_;
  UncommittedRows current_;
  uint32_t relation_ = 0;
  std::map<std::string, std::map<std::string, std::string>> table_;
  std::vector<std::string> changes_;
  std::vector<std::string> problems_;
};

struct OneTable {
  const char* capture;
  const char* table;
  const char* columns;
  std::vector<std::string> keys;
};

constexpr const char* kCustomers =
    "customer_id BIGINT, name STRING NOT NULL, email STRING, plan STRING, address STRING";
constexpr const char* kDocuments =
    "doc_id INT, title STRING, body STRING, raw BYTES, attrs STRING, tags ARRAY<STRING>, numbers ARRAY<INT>";

class PgoutputCapture : public ::testing::TestWithParam<OneTable> {};

TEST_P(PgoutputCapture, EndsInTheRowsOfTheServer) {
  const OneTable& one = GetParam();
  CapturedTable table(ShapeOf(one.columns, one.keys), "public", one.table);
  const std::string capture = one.capture;
  table.LoadInitial(capture + ".initial.jsonl");
  table.Feed(capture + ".pgoutput.hex");
  EXPECT_THAT(table.problems(), ElementsAre());
  // attrs is JSON, printed differently
  EXPECT_THAT(table.Rows({"attrs"}),
              ElementsAreArray(
                  ExpectedRows(capture + ".expected.jsonl", "public." + std::string(one.table), {"attrs"})));
}

INSTANTIATE_TEST_SUITE_P(
    All, PgoutputCapture,
    ::testing::Values(
        OneTable{"customers", "customers", kCustomers, {"customer_id"}},
        OneTable{"customers-default-identity", "customers", kCustomers, {"customer_id"}},
        OneTable{"pk-change", "accounts", "account_id INT, owner STRING, balance BIGINT", {"account_id"}},
        OneTable{"pk-change",
                 "order_lines",
                 "line_no INT, order_id BIGINT, sku STRING, quantity INT",
                 {"order_id", "line_no"}},
        OneTable{"pk-change", "visits", "visit_id INT, page STRING", {"visit_id"}},
        OneTable{"pk-change", "documents", kDocuments, {"doc_id"}},
        OneTable{"pk-change", "documents_full", kDocuments, {"doc_id"}}));

// With every old value sent, each change of a row is there with what was before it.
TEST(PgoutputCapture, GivesTheFourChangesOfCustomer8821InOrder) {
  CapturedTable table(ShapeOf(kCustomers, {"customer_id"}, /*keep_update_before=*/true), "public",
                      "customers");
  table.Feed("customers.pgoutput.hex");
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

// The columns of the capture of all types: STRING where `typed` says nothing else.
std::string AllTypes(const std::map<std::string, std::string>& typed) {
  std::string columns;
  JsonTape tape;
  EXPECT_TRUE(tape.Parse(LinesOf(ReadFixture("types.precise-adaptive.expected.jsonl")).front()));
  const JsonToken& row = *FindMember(tape.root(), "row");
  for (const JsonToken* name = row.begin(); name != row.end(); name = name[1].next()) {
    const auto found = typed.find(std::string(name->view()));
    columns += (columns.empty() ? "" : ", ") + std::string(name->view()) + " " +
               (found == typed.end() ? "STRING" : found->second);
  }
  return columns;
}

// All types as text: what the server wrote, byte for byte.
TEST(PgoutputCapture, KeepsEveryTypeAsTextExactly) {
  CapturedTable table(ShapeOf(AllTypes({{"c_bytea", "BYTES"}}), {"id"}), "public", "all_types");
  table.Feed("types.precise-adaptive.pgoutput.hex");
  EXPECT_THAT(table.problems(), ElementsAre());
  // A generated column is not sent.
  const std::vector<std::string> leave_out = {"c_generated"};
  const auto by_snapshot = [](const std::string& row) { return row.size() - row.rfind("|id=") != 7; };
  std::vector<std::string> expected =
      ExpectedRows("types.precise-adaptive.expected.jsonl", "public.all_types", leave_out);
  std::vector<std::string> rows = table.Rows(leave_out);
  std::erase_if(expected, by_snapshot);
  std::erase_if(rows, by_snapshot);
  EXPECT_EQ(expected.size(), 15u);  // what came by the log has the ids 101 to 115
  EXPECT_THAT(rows, ElementsAreArray(expected));
}

// In the column types that a sync makes, all that fits them is taken, and what does not is named.
TEST(PgoutputCapture, TakesTypedValuesAndNamesThoseThatNoTypeHolds) {
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
                                                    {"c_default_int", "INT"}};
  CapturedTable table(ShapeOf(AllTypes(typed), {"id"}), "public", "all_types");
  table.Feed("types.precise-adaptive.pgoutput.hex");
  // 112: beyond 64 bits of microseconds; 104: an array of two dimensions; 105: 24:00:00; 109 and 110: infinite days; 111: before the year 1; 113: NaN
  EXPECT_THAT(table.problems(), ElementsAre(HasSubstr("c_text_array"), HasSubstr("c_time0"),
                                            HasSubstr("c_date"), HasSubstr("c_date"), HasSubstr("c_date"),
                                            HasSubstr("c_timestamp"), HasSubstr("c_numeric_10_2")));
  std::vector<std::string> ids;
  for (const std::string& change : table.changes()) {
    if (change.starts_with("+I|1")) ids.push_back(change.substr(3, 3));
  }
  EXPECT_THAT(ids, ElementsAre("101", "102", "103", "106", "107", "108", "114", "115"));
}

}  // namespace
}  // namespace headrace::ingest
