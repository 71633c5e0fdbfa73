// What the options of merge engines become, and what is refused by name.
#include "format/merge_engine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using Options = std::map<std::string, std::string>;
using testing::HasSubstr;

TableSchema Schema(Options options) {
  TableSchema schema;
  schema.fields = ParseColumns(
                      "k INT NOT NULL, a INT, b STRING, g INT, h TIMESTAMP(3), c ARRAY<INT>, "
                      "n ARRAY<ROW<x INT, y STRING>>, m MAP<STRING, INT>, r BYTES, t VARCHAR(5), o BOOLEAN")
                      .ValueOrDie();
  schema.primary_keys = {"k"};
  options.emplace("bucket", "1");
  schema.options = std::move(options);
  return schema;
}

Options With(std::string engine, Options more) {
  more["merge-engine"] = std::move(engine);
  return more;
}

TEST(MergeEngineOptions, EveryColumnOutsideTheKeyHasAFunctionInAggregation) {
  const TableOptions options =
      ParseTableOptions(Schema(With("aggregation", {{"fields.a.aggregate-function", "sum"},
                                                    {"fields.a.ignore-retract", "true"},
                                                    {"fields.b.aggregate-function", "listagg"},
                                                    {"fields.b.list-agg-delimiter", "; "},
                                                    {"fields.b.distinct", "true"},
                                                    {"fields.n.aggregate-function", "nested_update"},
                                                    {"fields.n.nested-key", "x, y"},
                                                    {"fields.n.count-limit", "7"},
                                                    {"fields.r.aggregate-function", "rbm64"},
                                                    {"fields.h.aggregate-function", "first_not_null_value"},
                                                    {"sequence.field", "g"}})),
                        Access::kWrite)
          .ValueOrDie();
  const std::map<std::string, AggregateRule>& rules = options.merge_rules.aggregates;
  EXPECT_EQ(rules.size(), 10u);
  EXPECT_EQ(rules.at("a").function, AggregateFunction::kSum);
  EXPECT_TRUE(rules.at("a").ignore_retract);
  EXPECT_EQ(rules.at("b").delimiter, "; ");
  EXPECT_TRUE(rules.at("b").distinct);
  EXPECT_EQ(rules.at("n").nested_key, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(rules.at("n").count_limit, 7);
  EXPECT_EQ(rules.at("r").function, AggregateFunction::kRbm64);
  EXPECT_EQ(rules.at("h").function, AggregateFunction::kFirstNonNullValue);
  EXPECT_EQ(rules.at("g").function, AggregateFunction::kLastValue);
  EXPECT_EQ(rules.at("o").function, AggregateFunction::kLastNonNullValue);
}

TEST(MergeEngineOptions, SequenceGroupsNameOrderAndProtectedColumns) {
  const TableOptions options =
      ParseTableOptions(
          Schema(With("partial-update", {{"fields.g,h.sequence-group", "a, b"},
                                         {"fields.a.aggregate-function", "sum"},
                                         {"fields.o.aggregate-function", "last_non_null_value"},
                                         {"partial-update.remove-record-on-sequence-group", "h"}})),
          Access::kWrite)
          .ValueOrDie();
  EXPECT_EQ(options.merge_engine, MergeEngine::kPartialUpdate);
  EXPECT_EQ(options.merge_rules.groups, (std::vector<SequenceGroup>{{{"g", "h"}, {"a", "b"}, true}}));
  EXPECT_EQ(options.merge_rules.aggregates.size(), 2u);
}

TEST(MergeEngineOptions, WhatDoesNotFitIsRefusedByName) {
  const std::pair<Options, const char*> cases[] = {
      {With("first", {}), "supported: deduplicate"},
      {With("aggregation", {{"fields.a.aggregate-function", "total"}}), "there is no such function"},
      {With("aggregation", {{"fields.b.aggregate-function", "sum"}}), "'b' must have a numeric type"},
      {With("aggregation", {{"fields.c.aggregate-function", "max"}}), "a type with an order"},
      {With("aggregation", {{"fields.t.aggregate-function", "listagg"}}), "'t' must have STRING"},
      {With("aggregation", {{"fields.a.aggregate-function", "bool_or"}}), "BOOLEAN"},
      {With("aggregation", {{"fields.a.aggregate-function", "collect"}}), "an ARRAY"},
      {With("aggregation", {{"fields.c.aggregate-function", "merge_map"}}), "a MAP"},
      {With("aggregation", {{"fields.c.aggregate-function", "nested_update"}}), "an ARRAY of ROW"},
      {With("aggregation", {{"fields.b.aggregate-function", "rbm32"}}), "VARBINARY"},
      {With("aggregation", {{"fields.default-aggregate-function", "sum"}}), "must have a numeric type"},
      {With("aggregation", {{"fields.n.aggregate-function", "nested_update"}, {"fields.n.nested-key", "z"}}),
       "names 'z'"},
      {With("aggregation",
            {{"fields.a.ignore-retract", "true"}, {"aggregation.remove-record-on-delete", "true"}}),
       "contradict"},
      {With("aggregation", {{"sequence.field", "a"}, {"fields.a.aggregate-function", "sum"}}),
       "has an aggregate function"},
      {With("partial-update", {{"fields.a.aggregate-function", "max"}}), "in no sequence group"},
      {With("partial-update", {{"fields.default-aggregate-function", "max"}}), "in no sequence group"},
      {With("partial-update", {{"fields.g.sequence-group", "k"}}), "primary key"},
      {With("partial-update", {{"fields.g.sequence-group", "zz"}}), "'zz' does not exist"},
      {With("partial-update", {{"fields.g.sequence-group", "a"}, {"fields.h.sequence-group", "a"}}),
       "more than one sequence group"},
      {With("partial-update",
            {{"ignore-delete", "true"}, {"partial-update.remove-record-on-delete", "true"}}),
       "contradict"},
      {With("partial-update",
            {{"fields.g.sequence-group", "a"}, {"partial-update.remove-record-on-delete", "true"}}),
       "does not go with sequence groups"},
      {With("partial-update", {{"fields.g.sequence-group", "a"},
                               {"ignore-delete", "true"},
                               {"partial-update.remove-record-on-sequence-group", "g"}}),
       "contradict"},
      {With("partial-update",
            {{"fields.g.sequence-group", "a"}, {"partial-update.remove-record-on-sequence-group", "a"}}),
       "orders no sequence group"},
      {With("first-row", {{"sequence.field", "a"}}), "sequence.field"},
      {{{"rowkind.field", "zz"}}, "'zz' does not exist"},
      {{{"rowkind.field", "a"}}, "must hold text"},
  };
  for (const auto& [options, wanted] : cases) {
    const Status status = ParseTableOptions(Schema(options), Access::kRead).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid) || IsKind(status, ErrorKind::kUnsupported)) << wanted;
    EXPECT_THAT(status.message(), HasSubstr(wanted));
  }
}

TEST(MergeEngineOptions, FunctionsThatAreNotBuiltCanBeReadPast) {
  for (const char* name : {"theta_sketch", "hll_sketch", "nested_partial_update", "merge_map_with_keytime"}) {
    const TableSchema schema = Schema(With("aggregation", {{"fields.r.aggregate-function", name}}));
    const Status writing = ParseTableOptions(schema, Access::kWrite).status();
    EXPECT_TRUE(IsKind(writing, ErrorKind::kUnsupported)) << writing;
    EXPECT_THAT(writing.message(), HasSubstr(name));
    EXPECT_TRUE(ParseTableOptions(schema, Access::kRead).ok());
  }
}

}  // namespace
}  // namespace headrace
