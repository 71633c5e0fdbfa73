// Each function by a table: what steps over values give, nulls, late rows, retractions and overflow included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/array.h>
#include <arrow/json/from_string.h>

#include "lsm/aggregate_column.h"
#include "lsm/roaring_art.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

// One letter a step: '+' add, 'l' late add, '-' retraction, 'k' late retraction, 'w' whole, 's' start.
struct FoldCase {
  std::string column;  // "v INT"
  std::string function;
  std::string steps;
  std::string values;       // one each, a JSON list
  std::string result;       // a JSON value, or "error: …" that the message must hold
  std::string option = "";  // "distinct", "ignore", "delimiter=;", "key=a", "limit=2", "order", "member"
};
std::ostream& operator<<(std::ostream& out, const FoldCase& c) {
  return out << c.function << " " << c.option << " of " << c.column << " " << c.steps << " " << c.values;
}

AggregateFunction FunctionNamed(const std::string& name) {
  static const std::map<std::string, AggregateFunction> kFunctions = {
      {"sum", AggregateFunction::kSum},
      {"product", AggregateFunction::kProduct},
      {"max", AggregateFunction::kMax},
      {"min", AggregateFunction::kMin},
      {"last_value", AggregateFunction::kLastValue},
      {"last_non_null_value", AggregateFunction::kLastNonNullValue},
      {"first_value", AggregateFunction::kFirstValue},
      {"first_non_null_value", AggregateFunction::kFirstNonNullValue},
      {"listagg", AggregateFunction::kListagg},
      {"bool_and", AggregateFunction::kBoolAnd},
      {"bool_or", AggregateFunction::kBoolOr},
      {"collect", AggregateFunction::kCollect},
      {"merge_map", AggregateFunction::kMergeMap},
      {"nested_update", AggregateFunction::kNestedUpdate}};
  return kFunctions.at(name);
}

ColumnRule RuleFor(const FoldCase& c) {
  ColumnRule rule;
  if (c.option == "order") rule.kind = ColumnRule::Kind::kGroupOrder;
  if (c.option == "member") rule.kind = ColumnRule::Kind::kGroupMember;
  if (rule.kind != ColumnRule::Kind::kAggregate) return rule;
  rule.aggregate.function = FunctionNamed(c.function);
  rule.aggregate.name = c.function;
  rule.aggregate.distinct = c.option.find("distinct") != std::string::npos;
  rule.aggregate.ignore_retract = c.option.find("ignore") != std::string::npos;
  if (c.option.find("semicolon") != std::string::npos) rule.aggregate.delimiter = ";";
  if (c.option.find("key") != std::string::npos) rule.aggregate.nested_key = {"k"};
  if (c.option.find("limit2") != std::string::npos) rule.aggregate.count_limit = 2;
  return rule;
}

Step StepOf(char letter) {
  switch (letter) {
    case 'l': return Step::kLateAdd;
    case '-': return Step::kRetract;
    case 'k': return Step::kLateRetract;
    case 'w': return Step::kWhole;
    case 's': return Step::kStart;
    default: return Step::kAdd;
  }
}

class Fold : public testing::TestWithParam<FoldCase> {};

TEST_P(Fold, GivesWhatTheTableSays) {
  const FoldCase& c = GetParam();
  const DataField column = ParseColumns(c.column).ValueOrDie()[0];
  const std::shared_ptr<arrow::DataType> type = ToArrowType(column.type);
  const auto values = arrow::json::ArrayFromJSONString(type, c.values).ValueOrDie();
  // Versions lie in two batches, so that nothing depends on where they lie.
  const std::vector<std::shared_ptr<arrow::Array>> sources = {values, values->Slice(values->length() / 2)};
  Steps steps;
  steps.Begin();
  steps.Begin();
  for (uint32_t i = 0; i < c.steps.size(); ++i) {
    const auto half = static_cast<uint32_t>(values->length() / 2);
    steps.Push(StepOf(c.steps[i]), i < half ? RowRef{0, i} : RowRef{1, i - half});
  }
  const auto reducer = MakeColumnReducer(column, RuleFor(c)).ValueOrDie();
  size_t failed = 99;
  const auto reduced = reducer->Reduce(sources, steps, nullptr, &failed);
  if (c.result.starts_with("error: ")) {
    ASSERT_FALSE(reduced.ok()) << (*reduced)->ToString();
    EXPECT_THAT(reduced.status().message(), testing::HasSubstr(c.result.substr(7)));
    EXPECT_THAT(reduced.status().message(), testing::HasSubstr("'" + column.name + "'"));
    EXPECT_EQ(failed, 1u);
    return;
  }
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  ASSERT_TRUE((*reduced)->ValidateFull().ok()) << (*reduced)->ValidateFull();
  const auto wanted = arrow::json::ArrayFromJSONString(type, "[null, " + c.result + "]").ValueOrDie();
  EXPECT_TRUE((*reduced)->Equals(wanted, arrow::EqualOptions().nans_equal(true)))
      << (*reduced)->ToString() << "\nwanted " << wanted->ToString();
}

const FoldCase kFolds[] = {
    // sum
    {"v INT", "sum", "+++", "[1, null, 2]", "3"},
    {"v INT", "sum", "++", "[null, null]", "null"},
    {"v INT", "sum", "-", "[5]", "-5"},
    {"v INT", "sum", "+-l", "[10, 3, 4]", "11"},
    {"v INT", "sum", "+-", "[10, null]", "10"},
    {"v INT", "sum", "+-", "[10, 4]", "10", "ignore"},
    {"v INT", "sum", "s+", "[7, 1]", "1"},
    {"v INT NOT NULL", "sum", "s+", "[7, 1]", "8"},
    {"v INT", "sum", "w", "[7]", "7"},
    {"v TINYINT", "sum", "++", "[127, 1]", "error: sum 127 + 1 overflows TINYINT"},
    {"v TINYINT", "sum", "+-", "[-128, 1]", "error: sum -128 - 1 overflows TINYINT"},
    {"v TINYINT", "sum", "-", "[-128]", "error: sum 0 - -128 overflows TINYINT"},
    {"v SMALLINT", "sum", "++", "[32767, 1]", "error: overflows SMALLINT"},
    {"v SMALLINT", "sum", "-", "[-32768]", "error: overflows SMALLINT"},
    {"v INT", "sum", "++", "[2147483647, 1]", "error: overflows INT"},
    {"v INT", "sum", "+-", "[-2147483648, 1]", "error: overflows INT"},
    {"v INT", "sum", "-", "[-2147483648]", "error: overflows INT"},
    {"v BIGINT", "sum", "++", "[9223372036854775807, 1]", "error: overflows BIGINT"},
    {"v BIGINT", "sum", "+-", "[-9223372036854775808, 1]", "error: overflows BIGINT"},
    {"v BIGINT", "sum", "-", "[-9223372036854775808]", "error: overflows BIGINT"},
    {"v BIGINT", "sum", "++-", "[9223372036854775806, 1, 7]", "9223372036854775800"},
    {"v DOUBLE", "sum", "+++", "[0.5, 0.25, null]", "0.75"},
    {"v FLOAT", "sum", "-+", "[0.5, 0.25]", "-0.25"},
    {"v DECIMAL(5, 2)", "sum", "++", R"(["999.98", "0.01"])", R"("999.99")"},
    {"v DECIMAL(5, 2)", "sum", "++", R"(["999.99", "0.01"])",
     "error: sum 999.99 + 0.01 overflows DECIMAL(5, 2)"},
    {"v DECIMAL(38, 0)", "sum", "++", R"(["99999999999999999999999999999999999999", "1"])",
     "error: overflows DECIMAL(38, 0)"},
    {"v DECIMAL(20, 2)", "sum", "-", R"(["1.25"])", R"("-1.25")"},
    // product
    {"v INT", "product", "+++", "[2, null, 5]", "10"},
    {"v INT", "product", "+-", "[10, 5]", "2"},
    {"v INT", "product", "+-", "[10, null]", "10"},
    {"v INT", "product", "-+", "[5, 10]", "10"},
    {"v INT", "product", "+-", "[7, 2]", "3"},
    {"v INT", "product", "+-", "[7, 0]", "error: taking a factor back by 7 / 0"},
    {"v TINYINT", "product", "++", "[64, 2]", "error: product 64 * 2 overflows TINYINT"},
    {"v BIGINT", "product", "+-", "[-9223372036854775808, -1]", "error: has no result of type BIGINT"},
    {"v DOUBLE", "product", "+-", "[1.0, 4.0]", "0.25"},
    {"v DECIMAL(10, 2)", "product", "++", R"(["0.15", "0.50"])", R"("0.08")"},
    {"v DECIMAL(10, 2)", "product", "++", R"(["-0.15", "0.50"])", R"("-0.08")"},
    {"v DECIMAL(10, 2)", "product", "+-", R"(["1.00", "8.00"])", R"("0.13")"},
    {"v DECIMAL(10, 2)", "product", "+-", R"(["1.00", "3.00"])", "error: 1.00 / 3.00"},
    {"v DECIMAL(10, 2)", "product", "+-", R"(["9.00", "3.00"])", R"("3.00")"},
    {"v DECIMAL(10, 2)", "product", "+-", R"(["9.00", "0.00"])", "error: 9.00 / 0.00"},
    {"v DECIMAL(4, 2)", "product", "++", R"(["50.00", "2.00"])", "error: overflows DECIMAL(4, 2)"},
    // max, min
    {"v INT", "max", "+++", "[3, null, 2]", "3"},
    {"v INT", "min", "+++", "[3, null, 2]", "2"},
    {"v INT", "max", "+l", "[3, 5]", "5"},
    {"v INT", "max", "+-", "[3, 5]", "error: max cannot take back"},
    {"v INT", "max", "+-", "[3, 5]", "3", "ignore"},
    {"v DOUBLE", "max", "+++", "[1.0, NaN, Inf]", "NaN"},
    {"v DOUBLE", "min", "+++", "[1.0, NaN, -Inf]", "-Inf"},
    {"v DECIMAL(20, 1)", "max", "+++", R"(["-2.0", "10.5", "9.9"])", R"("10.5")"},
    {"v STRING", "min", "+++", R"(["b", "é", "ab"])", R"("ab")"},
    {"v STRING", "max", "+++", R"(["b", "é", "ab"])", R"("é")"},
    {"v DATE", "max", "++", "[19000, 19001]", "19001"},
    {"v TIMESTAMP(6)", "min", "++", "[5, -7]", "-7"},
    {"v BOOLEAN", "max", "++", "[false, true]", "true"},
    // bool
    {"v BOOLEAN", "bool_and", "+++", "[true, null, false]", "false"},
    {"v BOOLEAN", "bool_and", "++", "[true, true]", "true"},
    {"v BOOLEAN", "bool_or", "+++", "[false, null, true]", "true"},
    {"v BOOLEAN", "bool_or", "++", "[null, null]", "null"},
    {"v BOOLEAN", "bool_or", "+-", "[true, true]", "error: bool_or cannot take back"},
    // first, last
    {"v INT", "last_value", "++", "[1, null]", "null"},
    {"v INT", "last_value", "+l", "[1, 2]", "1"},
    {"v INT", "last_value", "+-", "[1, 1]", "null"},
    {"v INT", "last_non_null_value", "++", "[1, null]", "1"},
    {"v INT", "last_non_null_value", "+l", "[1, 2]", "1"},
    {"v INT", "last_non_null_value", "+l", "[null, 2]", "2"},
    {"v INT", "last_non_null_value", "+-", "[1, null]", "1"},
    {"v INT", "last_non_null_value", "+-", "[1, 7]", "null"},
    {"v INT", "first_value", "++", "[null, 1]", "null"},
    {"v INT", "first_value", "++l", "[1, 2, 3]", "3"},
    {"v INT", "first_value", "+-", "[1, 1]", "error: first_value cannot take back"},
    {"v INT", "first_non_null_value", "+++", "[null, 1, 2]", "1"},
    {"v INT", "first_non_null_value", "++l", "[null, 1, 2]", "2"},
    {"v ARRAY<INT>", "last_non_null_value", "+++", "[[1], [2, 3], null]", "[2, 3]"},
    // sequence groups
    {"v INT", "", "+-l", "[1, 2, 3]", "2", "order"},
    {"v INT", "", "++l", "[1, null, 3]", "null", "member"},
    {"v INT", "", "+-", "[1, 2]", "null", "member"},
    {"v INT", "", "+k", "[1, 2]", "1", "member"},
    {"v INT NOT NULL", "", "s", "[7]", "7", "member"},
    {"v INT", "", "s", "[7]", "null", "member"},
    // listagg; B004
    {"v STRING", "listagg", "+++", R"(["a", null, "b"])", R"("a,b")"},
    {"v STRING", "listagg", "+++", R"(["a", " ", "b"])", R"("a,b")"},
    {"v STRING", "listagg", "++", R"(["", "b"])", R"("b")"},
    {"v STRING", "listagg", "++", R"(["a", "b"])", R"("a;b")", "semicolon"},
    {"v STRING", "listagg", "+l", R"(["a", "b"])", R"("b,a")"},
    {"v STRING", "listagg", "++", R"(["a", "a"])", R"("a,a")"},
    {"v STRING", "listagg", "++", R"(["abc,def,asd", "ab,xy"])", R"("abc,def,asd,ab,xy")", "distinct"},
    {"v STRING", "listagg", "++", R"(["abc;def;asd", "ab;xy;def"])", R"("abc;def;asd;ab;xy")",
     "distinct semicolon"},
    {"v STRING", "listagg", "++", R"(["a", "b,,c, ,a"])", R"("a,b,c")", "distinct"},
    {"v STRING", "listagg", "+-", R"(["a", "a"])", "error: listagg cannot take back"},
    // collect
    {"v ARRAY<INT>", "collect", "+++", "[[1, 2], null, [2, null]]", "[1, 2, 2, null]"},
    {"v ARRAY<INT>", "collect", "+++", "[[1, 2], null, [2, null]]", "[1, 2, null]", "distinct"},
    {"v ARRAY<INT>", "collect", "+", "[[1, 1]]", "[1]", "distinct"},
    {"v ARRAY<INT>", "collect", "++", "[null, null]", "null", "distinct"},
    {"v ARRAY<INT>", "collect", "+l", "[[1], [2]]", "[1, 2]"},
    {"v ARRAY<INT>", "collect", "+-", "[[1, 2, 1, 3], [1, 3, 9]]", "[2, 1]"},
    {"v ARRAY<INT>", "collect", "-+", "[[1], [1]]", "[1]"},
    {"v ARRAY<STRING>", "collect", "+++", R"([["x"], ["y", "x"], []])", R"(["x", "y"])", "distinct"},
    {"v ARRAY<ROW<a INT, b STRING>>", "collect", "++",
     R"([[{"a": 1, "b": "x"}], [{"a": 1, "b": "x"}, {"a": 1, "b": null}]])",
     R"([{"a": 1, "b": "x"}, {"a": 1, "b": null}])", "distinct"},
    // merge_map
    {"v MAP<STRING, INT>", "merge_map", "++", R"([[["a", 1], ["b", 2]], [["b", 3], ["c", null]]])",
     R"([["a", 1], ["b", 3], ["c", null]])"},
    {"v MAP<STRING, INT>", "merge_map", "+++", R"([null, [["b", 3]], null])", R"([["b", 3]])"},
    {"v MAP<STRING, INT>", "merge_map", "+l", R"([[["a", 1]], [["a", 9], ["z", 2]]])",
     R"([["a", 1], ["z", 2]])"},
    {"v MAP<STRING, INT>", "merge_map", "+-", R"([[["a", 1], ["b", 2]], [["a", 7]]])", R"([["b", 2]])"},
    {"v MAP<STRING, INT>", "merge_map", "-+", R"([[["a", 1]], [["a", 2]]])", R"([["a", 2]])"},
    // nested_update; B006
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "++",
     R"([[{"k": 1, "v": "a"}, {"k": 2, "v": "b"}], [{"k": 1, "v": "c"}, {"k": 3, "v": "d"}]])",
     R"([{"k": 1, "v": "c"}, {"k": 2, "v": "b"}, {"k": 3, "v": "d"}])", "key"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "++",
     R"([[{"k": 1, "v": "a"}], [{"k": 1, "v": "a"}]])", R"([{"k": 1, "v": "a"}, {"k": 1, "v": "a"}])"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "+-",
     R"([[{"k": 1, "v": "a"}, {"k": 2, "v": "b"}], [{"k": 1, "v": "other"}]])", R"([{"k": 2, "v": "b"}])",
     "key"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "+-",
     R"([[{"k": 1, "v": "a"}, {"k": 1, "v": "b"}], [{"k": 1, "v": "a"}]])", R"([{"k": 1, "v": "b"}])"},
    {"v ARRAY<ROW<k INT, j INT, v STRING>>", "nested_update", "+",
     R"([[{"k":0,"j":1,"v":"B"}, null, {"k":0,"j":1,"v":"b"}, {"k":0,"j":1,"v":"C"}]])",
     R"([{"k":0,"j":1,"v":"B"}, {"k":0,"j":1,"v":"b"}])", "limit2"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "++",
     R"([[{"k": 1, "v": "a"}], [{"k": 2, "v": "b"}, {"k": 3, "v": "c"}]])",
     R"([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])", "limit2"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "++",
     R"([[{"k": 1, "v": "a"}], [{"k": 2, "v": "b"}, {"k": 3, "v": "c"}, {"k": 1, "v": "z"}]])",
     R"([{"k": 1, "v": "z"}, {"k": 2, "v": "b"}])", "key limit2"},
    {"v ARRAY<ROW<k INT, v STRING>>", "nested_update", "+++", R"([null, [{"k": 2, "v": "b"}], null])",
     R"([{"k": 2, "v": "b"}])", "key"},
};
INSTANTIATE_TEST_SUITE_P(Functions, Fold, testing::ValuesIn(kFolds));

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Values of Java Paimon 1.3.1 (tests/fixtures/aggregation).
const char* const kJava64 =
    "0105000000000000000105000200000000004835302b07000000000000000004000000000007dcd22804000000000000000400"
    "000000002b5dd4b1000000000000000004000000000030abee96030000000000000004000000000035a27d2201000000000000"
    "00040000000000482e9aaa020000000000000001000000fe06000000010201000000ce2b01020100000084e401020100000023"
    "6c0102010000004d65010201000000635e0005000000000000000000000004000000";

TEST(RoaringArt, EncodesWhatJavaWroteToTheSameBytes) {
  const std::string bytes = FromHex(kJava64);
  auto art = RoaringArt::Decode(bytes);
  ASSERT_TRUE(art.ok()) << art.status();
  EXPECT_EQ(art->Encode(), bytes);
  const std::string small = FromHex("3a300000020000000000020001000100180000001e0000005f442ca02fbe1308633e");
  EXPECT_EQ(EncodeRoaring(DecodeRoaring(small).ValueOrDie().get()), small);
}

TEST(RoaringArt, UnitedWithItselfItStaysTheSame) {
  RoaringArt art = RoaringArt::Decode(FromHex(kJava64)).ValueOrDie();
  art.Unite(RoaringArt::Decode(FromHex(kJava64)).ValueOrDie());
  EXPECT_EQ(art.Encode(), FromHex(kJava64));
}

TEST(RoaringArt, CutOrChangedBytesAreAnErrorOrAnotherBitmapButNeverACrash) {
  Random random(7);
  for (const std::string& bytes :
       {FromHex(kJava64), FromHex("3b30000001000003000100040001000a000a00000014000a00")}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(RoaringArt::Decode(bytes.substr(0, size)).ok() &&
                   DecodeRoaring(bytes.substr(0, size)).ok());
    }
    for (int i = 0; i < 5000; ++i) {
      std::string changed = bytes;
      changed[random.Below(changed.size())] = static_cast<char>(random.Next());
      if (auto art = RoaringArt::Decode(changed); art.ok()) art->Encode();
      if (auto plain = DecodeRoaring(changed); plain.ok()) EncodeRoaring(plain->get());
    }
  }
}

}  // namespace
}  // namespace headrace
