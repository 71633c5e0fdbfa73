// The captures of nearly every type of PostgreSQL and MariaDB: what arrives in a table made from the events' schema, against what the source held.
// Where they differ the event itself differs: each such cell is listed with its cause.
#include <bit>
#include <cctype>
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/infer_table.h"

namespace headrace::ingest {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

struct TypesRun {
  std::string events;
  std::string expected;
  std::string binary;                           // as the run's binary.handling.mode
  std::map<std::string, std::string> declared;  // columns whose type is said, not taken from the events
  std::string types = {};  // the capture whose schema gives the table, when these events have none
  TimeMode time = TimeMode::kAdaptive;
};

std::string StripZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// PostgreSQL's and MariaDB's own text of a value, as CellText writes the column's type.
std::string Normalised(std::string text, const DataType& type, const std::string& column) {
  if (text == "null") return text;
  switch (type.root) {
    case TypeRoot::kBoolean: return text == "t" || text == "1" ? "true" : "false";
    case TypeRoot::kFloat: return std::to_string(std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)));
    case TypeRoot::kDouble:
      text = Replaced(Replaced(text, ",", ""), "$", "");
      return std::to_string(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)));
    case TypeRoot::kDecimal: return StripZeros(Replaced(Replaced(text, ",", ""), "$", ""));
    case TypeRoot::kVarBinary: {
      std::string hex = text.starts_with("\\x") ? text.substr(2) : text;
      for (char& c : hex) c = static_cast<char>(std::tolower(c));
      return hex;
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      if (text.ends_with("+00")) text.resize(text.size() - 3);
      text = StripZeros(Replaced(text, " ", "T"));
      return type.root == TypeRoot::kTimestampLtz ? text + "+00:00" : text;
    case TypeRoot::kArray: {
      text = Replaced(Replaced(text, "{", "["), "}", "]");
      return Replaced(text, "NULL", "null");
    }
    default:
      if (column == "c_bytea" && text.starts_with("\\x")) return text.substr(2);
      if (column == "c_money") return Replaced(Replaced(text, ",", ""), "$", "");
      return column.starts_with("c_numeric") || column.starts_with("c_decimal") ? StripZeros(text) : text;
  }
}

// The cell the same way round: floats by their bits, so that -0.0 and NaN count.
std::string Shown(const std::string& cell, const DataType& type, const std::string& column) {
  if (cell == "null") return cell;
  if (type.root == TypeRoot::kFloat || type.root == TypeRoot::kDouble || type.root == TypeRoot::kDecimal)
    return Normalised(cell, type, column);
  return column.starts_with("c_numeric") || column.starts_with("c_decimal") ? StripZeros(cell) : cell;
}

struct Outcome {
  std::vector<std::string> different;  // "id.column event|source"
  std::vector<std::string> refused;    // "line field: reason"
  int compared = 0;
};

Outcome Compare(const TypesRun& run, const std::set<std::string>& skipped_columns) {
  IngestOptions options;
  if (run.binary == "hex") options.modes.binary = BinaryMode::kHex;
  if (run.binary == "base64") options.modes.binary = BinaryMode::kBase64;
  CreateRequest request;
  request.primary_key = {"id"};
  const Sample sample{LinesOf(ReadFixture(run.events)), {}};
  const Sample typed{LinesOf(ReadFixture(run.types.empty() ? run.events : run.types)), {}};
  const Result<NewTable> proposed = TableOfDebezium(typed, options, request);
  EXPECT_TRUE(proposed.ok()) << proposed.status();
  Outcome outcome;
  if (!proposed.ok()) return outcome;
  TableShape shape;
  shape.fields = proposed->fields;
  for (DataField& field : shape.fields) {
    if (run.declared.contains(field.name)) field.type = *ParseDataType(run.declared.at(field.name));
  }
  shape.key_columns = {0};
  DebeziumOptions debezium;
  debezium.modes = options.modes;
  debezium.modes.time = run.time;
  if (run.time == TimeMode::kConnect) debezium.modes.decimal = DecimalMode::kString;
  MapTable table(shape, debezium);
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    const LineOutcome fate = table.Feed(sample.lines[i]);
    if (fate.fate == LineFate::kBad)
      outcome.refused.push_back(std::to_string(i + 1) + " " + fate.field + ": " + fate.reason);
  }
  std::map<std::string, std::map<std::string, std::string>> by_id;
  for (const auto& [key, row] : table.rows()) by_id[row.at("id")] = row;

  JsonTape tape;
  for (const std::string& line : LinesOf(ReadFixture(run.expected))) {
    EXPECT_TRUE(tape.Parse(line));
    const JsonToken& row = *FindMember(tape.root(), "row");
    const std::string id(FindMember(row, "id")->view());
    if (!by_id.contains(id)) {
      outcome.different.push_back(id + " is missing");
      continue;
    }
    for (const DataField& field : shape.fields) {
      if (skipped_columns.contains(field.name) || field.type.root == TypeRoot::kRow ||
          field.type.root == TypeRoot::kMap)
        continue;
      const JsonToken* value = FindMember(row, field.name);
      if (value == nullptr) continue;
      const std::string wanted =
          value->is_null() ? "null" : Normalised(std::string(value->view()), field.type, field.name);
      const std::string got = Shown(by_id[id][field.name], field.type, field.name);
      ++outcome.compared;
      if (wanted != got)
        outcome.different.push_back(id + "." + field.name + " " + got.substr(0, 40) + "|" +
                                    wanted.substr(0, 40));
    }
  }
  return outcome;
}

// Written in another way than the source prints them, compared elsewhere or not at all: intervals as microseconds, bits as bytes, text of arrays
// and of hstore, times moved to UTC; a generated column is not in the log; a null that has a default is sent as the default.
const std::set<std::string> kOtherwise = {"c_timetz",    "c_interval", "c_text_array", "c_tstz_array",
                                          "c_hstore",    "c_bit8",     "c_varbit",     "c_bit20",
                                          "c_generated", "c_default",  "c_default_int"};

TEST(TypesCapture, OfPostgresPreciseAdaptive) {
  const Outcome outcome = Compare(
      {"types.precise-adaptive.debezium-schema.jsonl.zst", "types.precise-adaptive.expected.jsonl", "", {}},
      kOtherwise);
  EXPECT_GT(outcome.compared, 700);
  // Before 1582 the connector mixes calendars; years of four digits and BC are printed differently; what is not a number is sent as null.
  EXPECT_THAT(
      outcome.different,
      UnorderedElementsAre(
          "4 is missing", "5 is missing", "9 is missing", "10 is missing", "12 is missing", "104 is missing",
          "105 is missing", "109 is missing", "110 is missing", "112 is missing",
          "6.c_date 1582-10-20|1582-10-10", "6.c_timestamp 1582-10-20T00:00:00|1582-10-10T00:00:00",
          "11.c_date 4713-01-01|4713-01-01 BC", "11.c_timestamp -4713-11-24T00:00:00|4713-01-01T00:00:00TBC",
          "11.c_timestamptz -4713-11-24T00:00:00+00:00|4713-01-01T00:00:00+00TBC+00:00",
          "111.c_date -4712-01-01|4713-01-01 BC",
          "111.c_timestamp -4712-01-01T00:00:00|4713-01-01T00:00:00TBC",
          "111.c_timestamptz -4712-01-01T00:00:00+00:00|4713-01-01T00:00:00+00TBC+00:00",
          "13.c_numeric_10_2 null|NaN", "13.c_numeric null|NaN", "14.c_numeric null|Infinity",
          "15.c_numeric null|-Infinity", "113.c_numeric_10_2 null|NaN", "113.c_numeric null|NaN",
          "114.c_numeric null|Infinity", "115.c_numeric null|-Infinity"));
  EXPECT_THAT(outcome.refused, SizeIs(10));
  EXPECT_THAT(outcome.refused[0], HasSubstr("4 after.c_tstz_array: element 0 is infinity"));
  EXPECT_THAT(outcome.refused[1], HasSubstr("5 after.c_time0: is 86400000 in a column of type TIME(3)"));
}

TEST(TypesCapture, OfPostgresPreciseAdaptiveWithTextWhereValuesAreOutOfRange) {
  const Outcome outcome =
      Compare({"types.precise-adaptive.debezium-schema.jsonl.zst",
               "types.precise-adaptive.expected.jsonl",
               "",
               {{"c_timestamptz", "STRING"}, {"c_tstz_array", "ARRAY<STRING>"}, {"c_time0", "STRING"}}},
              kOtherwise);
  EXPECT_THAT(outcome.refused, IsEmpty());
  EXPECT_THAT(outcome.different, Not(Contains(HasSubstr("missing"))));
}

TEST(TypesCapture, OfPostgresStringConnect) {
  std::set<std::string> skipped = kOtherwise;
  skipped.insert({"c_time", "c_timestamp", "c_numeric_array"});  // cut to milliseconds; text in the array
  const Outcome outcome = Compare(
      {"types.string-connect.debezium-schema.jsonl.zst", "types.string-connect.expected.jsonl", "hex", {}},
      skipped);
  // As above; here what is not a number has words of its own.
  EXPECT_THAT(
      outcome.different,
      UnorderedElementsAre(
          "4 is missing", "5 is missing", "9 is missing", "10 is missing", "12 is missing", "104 is missing",
          "105 is missing", "109 is missing", "110 is missing", "112 is missing",
          "6.c_date 1582-10-20|1582-10-10", "11.c_date 4713-01-01|4713-01-01 BC",
          "11.c_timestamptz -4713-11-24T00:00:00+00:00|4713-01-01T00:00:00+00TBC+00:00",
          "111.c_date -4712-01-01|4713-01-01 BC",
          "111.c_timestamptz -4712-01-01T00:00:00+00:00|4713-01-01T00:00:00+00TBC+00:00",
          "13.c_numeric_10_2 NAN|NaN", "13.c_numeric NAN|NaN", "14.c_numeric POSITIVE_INFINITY|Infinity",
          "15.c_numeric NEGATIVE_INFINITY|-Infinity", "113.c_numeric_10_2 NAN|NaN", "113.c_numeric NAN|NaN",
          "114.c_numeric POSITIVE_INFINITY|Infinity", "115.c_numeric NEGATIVE_INFINITY|-Infinity"));
  EXPECT_THAT(outcome.refused, SizeIs(10));
}

// Without their schema events say neither scales nor units; the table does.
TEST(TypesCapture, OfPostgresPlainPreciseAdaptive) {
  std::set<std::string> skipped = kOtherwise;
  skipped.insert({"c_numeric_5_m2", "c_time", "c_timestamptz", "c_date", "c_timestamp", "c_time0"});
  const Outcome outcome = Compare({"types.precise-adaptive.debezium.jsonl",
                                   "types.precise-adaptive.expected.jsonl",
                                   "base64",
                                   {{"c_time", "BIGINT"},
                                    {"c_time0", "INT"},
                                    {"c_timestamptz", "STRING"},
                                    {"c_tstz_array", "ARRAY<STRING>"}},
                                   "types.precise-adaptive.debezium-schema.jsonl.zst"},
                                  skipped);
  EXPECT_THAT(outcome.refused, IsEmpty());
  EXPECT_THAT(outcome.different,
              UnorderedElementsAre("4.c_money 92233720368547760|92233720368547758.07",
                                   "13.c_numeric_10_2 null|NaN", "13.c_numeric null|NaN",
                                   "14.c_numeric null|Infinity", "15.c_numeric null|-Infinity",
                                   "113.c_numeric_10_2 null|NaN", "113.c_numeric null|NaN",
                                   "114.c_numeric null|Infinity", "115.c_numeric null|-Infinity"));
}

TEST(TypesCapture, OfPostgresPlainDoubleIsoString) {
  std::set<std::string> skipped = kOtherwise;
  skipped.insert({"c_time", "c_timestamptz", "c_date", "c_timestamp", "c_time0", "c_numeric_array"});
  std::map<std::string, std::string> declared = {{"c_time", "STRING"},
                                                 {"c_time0", "STRING"},
                                                 {"c_time3", "TIME(3)"},
                                                 {"c_date", "STRING"},
                                                 {"c_timestamp", "STRING"},
                                                 {"c_timestamptz", "STRING"},
                                                 {"c_tstz_array", "ARRAY<STRING>"},
                                                 {"c_numeric_array", "ARRAY<DOUBLE>"}};
  for (const char* name :
       {"c_numeric", "c_numeric_10_2", "c_numeric_38_18", "c_numeric_5_m2", "c_numeric_3_5", "c_money"})
    declared[name] = "DOUBLE";
  const Outcome outcome =
      Compare({"types.double-isostring.debezium.jsonl", "types.double-isostring.expected.jsonl", "base64",
               declared, "types.precise-adaptive.debezium-schema.jsonl.zst"},
              skipped);
  EXPECT_THAT(outcome.refused, IsEmpty());
  EXPECT_THAT(outcome.different, IsEmpty());
}

TEST(TypesCapture, OfPostgresPlainStringConnect) {
  std::set<std::string> skipped = kOtherwise;
  skipped.insert({"c_numeric_array", "c_time", "c_time0", "c_timestamp", "c_timestamptz", "c_date"});
  const Outcome outcome = Compare({"types.string-connect.debezium.jsonl",
                                   "types.string-connect.expected.jsonl",
                                   "hex",
                                   {{"c_time", "INT"},
                                    {"c_time0", "INT"},
                                    {"c_timestamptz", "STRING"},
                                    {"c_tstz_array", "ARRAY<STRING>"},
                                    // base64 whatever the mode of bytea is
                                    {"c_bit8", "STRING"},
                                    {"c_varbit", "STRING"},
                                    {"c_bit20", "STRING"},
                                    {"c_point", "ROW<x DOUBLE, y DOUBLE, wkb STRING, srid INT>"}},
                                   "types.string-connect.debezium-schema.jsonl.zst",
                                   TimeMode::kConnect},
                                  skipped);
  EXPECT_THAT(outcome.refused, IsEmpty());
  EXPECT_THAT(
      outcome.different,
      UnorderedElementsAre("4.c_money 9.223372036854776E16|92233720368547758.07", "13.c_numeric_10_2 NAN|NaN",
                           "13.c_numeric NAN|NaN", "14.c_numeric POSITIVE_INFINITY|Infinity",
                           "15.c_numeric NEGATIVE_INFINITY|-Infinity", "113.c_numeric_10_2 NAN|NaN",
                           "113.c_numeric NAN|NaN", "114.c_numeric POSITIVE_INFINITY|Infinity",
                           "115.c_numeric NEGATIVE_INFINITY|-Infinity"));
}

// Zero dates come as null, or as the epoch where null is not allowed; the log has all digits of a float, the source prints six.
const std::vector<std::string> kLostOfMariaDb = {
    "5.c_date null|0000-00-00",
    "5.c_datetime null|0000-00-00T00:00:00",
    "5.c_timestamp null|0000-00-00T00:00:00+00:00",
    "6.c_date null|2024-02-00",
    "6.c_datetime null|2024-00-00T00:00:00",
    "103.c_float 4286578687|4286578670",
    "104.c_float 2139095039|2139095022",
    "105.c_date null|0000-00-00",
    "105.c_datetime null|0000-00-00T00:00:00",
    "105.c_timestamp 1970-01-01T00:00:00+00:00|0000-00-00T00:00:00+00:00",
    "106.c_date null|2024-02-00",
    "106.c_datetime null|2024-00-00T00:00:00",
    "205.c_year 1900|0000"};

TEST(TypesCapture, OfMariaDbPlainPreciseAdaptive) {
  std::set<std::string> skipped = kOtherwise;
  // Counts of microseconds, beyond a day too; more digits than a DECIMAL has, so its bytes.
  skipped.insert({"c_time", "c_time6", "c_decimal_65_30"});
  const Outcome outcome = Compare({"mariadb-types.precise-adaptive.debezium.jsonl",
                                   "mariadb-types.precise-adaptive.expected.jsonl",
                                   "base64",
                                   {{"c_time", "BIGINT"}, {"c_time6", "BIGINT"}},
                                   "mariadb-types.precise-adaptive.debezium-schema.jsonl.zst",
                                   TimeMode::kAdaptiveTimeMicroseconds},
                                  skipped);
  EXPECT_THAT(outcome.refused, IsEmpty());
  EXPECT_THAT(outcome.different, UnorderedElementsAreArray(kLostOfMariaDb));
}

TEST(TypesCapture, OfMariaDbPlainStringConnect) {
  std::set<std::string> skipped = kOtherwise;
  skipped.insert({"c_time", "c_time6"});
  const Outcome outcome = Compare({"mariadb-types.string-connect.debezium.jsonl",
                                   "mariadb-types.string-connect.expected.jsonl",
                                   "base64",
                                   {{"c_time", "BIGINT"}, {"c_time6", "BIGINT"}},
                                   "mariadb-types.precise-adaptive.debezium-schema.jsonl.zst",
                                   TimeMode::kConnect},
                                  skipped);
  EXPECT_THAT(outcome.refused, IsEmpty());
  // Unsigned numbers wrap around in the connector, and instants lose what is below a millisecond.
  std::vector<std::string> lost = kLostOfMariaDb;
  lost.insert(lost.end(), {"1.c_ubigint -446744073709551616|18000000000000000000",
                           "4.c_ubigint -1|18446744073709551615", "104.c_ubigint -1|18446744073709551615",
                           "1.c_datetime6 2024-05-17T13:14:15.123|2024-05-17T13:14:15.123456",
                           "4.c_datetime6 9999-12-31T23:59:59.999|9999-12-31T23:59:59.999999",
                           "101.c_datetime6 2024-05-17T13:14:15.123|2024-05-17T13:14:15.123456",
                           "104.c_datetime6 9999-12-31T23:59:59.999|9999-12-31T23:59:59.999999"});
  EXPECT_THAT(outcome.different, UnorderedElementsAreArray(lost));
}

TEST(TypesCapture, OfMariaDbPreciseAdaptive) {
  const Outcome outcome = Compare({"mariadb-types.precise-adaptive.debezium-schema.jsonl.zst",
                                   "mariadb-types.precise-adaptive.expected.jsonl",
                                   "",
                                   {}},
                                  kOtherwise);
  EXPECT_THAT(outcome.different, UnorderedElementsAreArray(kLostOfMariaDb));
  EXPECT_THAT(outcome.refused, IsEmpty());
}

}  // namespace
}  // namespace headrace::ingest
