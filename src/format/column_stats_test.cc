#include "format/column_stats.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/golden_files.h"
#include "format/manifest.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Optional;

DataType Type(std::string_view text) { return ParseDataType(text).ValueOrDie(); }
Value Text(std::string text) { return Value(std::move(text)); }

ColumnStats Truncated(std::string min, std::string max, int32_t length, const char* type = "STRING") {
  return ApplyStatsMode({Text(std::move(min)), Text(std::move(max)), 0}, {StatsMode::kTruncate, length},
                        Type(type));
}

TEST(TruncateMax, RaisesTheLastCodePointAndCarries) {
  EXPECT_THAT(TruncateMax(std::string(30, 'z'), 16, true),
              Optional(std::string(15, 'z') + "{"));  // as Java wrote it
  EXPECT_THAT(TruncateMax("abc", 3, true), Optional(std::string("abc")));
  EXPECT_THAT(TruncateMax("h\xC3\xA9llo", 2, true), Optional(std::string("h\xC3\xAA")));
  EXPECT_THAT(TruncateMax("a\x7F"
                          "b",
                          2, true),
              Optional(std::string("a\xC2\x80")));
  EXPECT_THAT(TruncateMax("a\xF4\x8F\xBF\xBF"
                          "x",
                          2, true),
              Optional(std::string("b")));  // U+10FFFF carries
  EXPECT_THAT(TruncateMax("\xED\x9F\xBF"
                          "x",
                          1, true),
              Optional(std::string("\xEE\x80\x80")));  // over the surrogates
  EXPECT_EQ(TruncateMax("\xF4\x8F\xBF\xBF"
                        "x",
                        1, true),
            std::nullopt);
  EXPECT_EQ(TruncateMax("a" + std::string(40, '\x80') + "b", 41, true), std::nullopt) << "no text, no bound";
  EXPECT_THAT(TruncateMax("\xFF\x01\xFF\xFF\x05", 4, false), Optional(std::string("\xFF\x02")));
  EXPECT_EQ(TruncateMax("\xFF\xFF\xFF", 2, false), std::nullopt);
}

TEST(ApplyStatsMode, CutsBoundsSoThatTheyStillEncloseTheValues) {  // B104
  const ColumnStats stats = Truncated("a long minimum value", "a long value at the end", 6);
  EXPECT_EQ(stats.min, Text("a long"));
  EXPECT_EQ(stats.max, Text("a lonh"));
  EXPECT_LE(CompareValues(stats.min, Text("a long value at the end")), 0);
  EXPECT_GE(CompareValues(stats.max, Text("a long value at the end")), 0);
  const ColumnStats hopeless = Truncated("a", "\xFF\xFF\xFF", 2, "BYTES");
  EXPECT_TRUE(IsNull(hopeless.min) && IsNull(hopeless.max));
  EXPECT_EQ(hopeless.null_count, 0);
}

TEST(ApplyStatsMode, KeepsWhatTheModeSays) {
  const ColumnStats exact = {Value(int32_t{1}), Value(int32_t{9}), 3};
  const DataType type = Type("INT");
  EXPECT_TRUE(ApplyStatsMode(exact, {StatsMode::kNone, 0}, type).is_none());
  EXPECT_EQ(ApplyStatsMode(exact, {StatsMode::kCounts, 0}, type), (ColumnStats{Value(), Value(), 3}));
  EXPECT_EQ(ApplyStatsMode(exact, {StatsMode::kTruncate, 1}, type), exact);
  EXPECT_EQ(ApplyStatsMode(exact, {StatsMode::kFull, 0}, type), exact);
  EXPECT_TRUE(ApplyStatsMode({Value(), Value(), 3}, {StatsMode::kFull, 0}, Type("ARRAY<INT>")).is_none());
}

TEST(ApplyStatsMode, MakesFloatBoundsSafeForEveryOrder) {
  const DataType type = Type("DOUBLE");
  const ColumnStats zeros = ApplyStatsMode({Value(0.0), Value(-0.0), 0}, {StatsMode::kFull, 0}, type);
  EXPECT_TRUE(std::signbit(std::get<double>(zeros.min)));
  EXPECT_FALSE(std::signbit(std::get<double>(zeros.max)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ApplyStatsMode({Value(1.0), Value(nan), 2}, {StatsMode::kFull, 0}, type),
            (ColumnStats{Value(), Value(), 2}));
}

TEST(StatsModesFor, FieldThenFirstColumnsThenLevelThenTable) {
  TableOptions options;
  options.field_stats_mode["c"] = {StatsMode::kFull, 0};
  options.level_stats_mode[5] = {StatsMode::kCounts, 0};
  options.stats_first_columns = 2;
  const std::vector<std::string> columns = {"a", "b", "c", "d"};
  const ColumnStatsMode none = {StatsMode::kNone, 0}, full = {StatsMode::kFull, 0},
                        cut = {StatsMode::kTruncate, 16};
  EXPECT_THAT(StatsModesFor(options, Level(0), columns), ElementsAre(cut, cut, full, none));
  const ColumnStatsMode counts = {StatsMode::kCounts, 0};
  EXPECT_THAT(StatsModesFor(options, Level(5), columns), ElementsAre(counts, counts, full, none));
  const std::vector<std::string> keys = {"a"};
  EXPECT_THAT(StatsModesFor(options, Level(0), columns, keys), ElementsAre(kKeyStatsMode, cut, full, none));
}

std::vector<DataField> Fields() {
  return ParseColumns("a INT NOT NULL, b STRING, c ARRAY<INT>").ValueOrDie();
}

TEST(BuildStats, DenseLeavesOutColumnsWithoutStatisticsAndNamesTheRest) {
  const std::vector<ColumnStats> columns = {
      {Value(int32_t{1}), Value(int32_t{9}), 0}, {Value(), Value(), 4}, {}};
  const StoredStats dense = BuildStats(columns, Fields(), true).ValueOrDie();
  EXPECT_THAT(*dense.columns, ElementsAre("a", "b"));
  EXPECT_EQ(dense.stats.min_values.arity, 2);
  EXPECT_EQ(ReadStats(dense.stats, dense.columns, Fields()).ValueOrDie(), columns);
  const StoredStats wide = BuildStats(columns, Fields(), false).ValueOrDie();
  EXPECT_EQ(wide.columns, std::nullopt);
  EXPECT_EQ(wide.stats.null_counts.size(), 3U);
  EXPECT_EQ(ReadStats(wide.stats, wide.columns, Fields()).ValueOrDie(), columns);
}

TEST(ReadStats, WhatIsMissingIsUnknown) {  // B096
  const StoredStats full =
      BuildStats(
          std::vector<ColumnStats>{{Value(int32_t{1}), Value(int32_t{9}), 0}, {Text("x"), Text("y"), 1}, {}},
          Fields(), false)
          .ValueOrDie();
  SimpleStats short_counts = full.stats;
  short_counts.null_counts.resize(1);
  EXPECT_EQ(ReadStats(short_counts, std::nullopt, Fields()).ValueOrDie()[1].null_count, std::nullopt);
  EXPECT_TRUE(ReadStats(SimpleStats{}, std::nullopt, Fields()).ValueOrDie()[0].is_none());
  EXPECT_TRUE(ReadStats(full.stats, std::vector<std::string>{}, Fields()).ValueOrDie()[0].is_none());
  EXPECT_TRUE(IsKind(ReadStats(full.stats, std::vector<std::string>{"zz"}, Fields()).status(),
                     ErrorKind::kCorruption));
  EXPECT_FALSE(ColumnStats{}.all_null(0));
  EXPECT_TRUE((ColumnStats{Value(), Value(), 5}.all_null(5)));
}

TEST(EvolveStats, KeepsBoundsOnlyThroughCastsThatKeepTheOrder) {  // B070, as far as files go
  const ColumnStats ints = {Value(int32_t{10}), Value(int32_t{99}), 0};
  EXPECT_EQ(EvolveStats(ints, Type("INT"), Type("BIGINT")),
            (ColumnStats{Value(int64_t{10}), Value(int64_t{99}), 0}));
  EXPECT_EQ(EvolveStats(ints, Type("INT NOT NULL"), Type("INT")), ints);
  EXPECT_EQ(EvolveStats(ints, Type("INT"), Type("DOUBLE")), (ColumnStats{Value(10.0), Value(99.0), 0}));
  EXPECT_TRUE(EvolveStats(ints, Type("INT"), Type("SMALLINT")).is_none());
  EXPECT_TRUE(EvolveStats(ints, Type("INT"), Type("STRING")).is_none());
  const ColumnStats texts = {Text("10"), Text("9"), 0};
  EXPECT_TRUE(EvolveStats(texts, Type("STRING"), Type("INT")).is_none());
  EXPECT_EQ(EvolveStats(texts, Type("VARCHAR(5)"), Type("STRING")), texts);
  EXPECT_TRUE(EvolveStats(texts, Type("STRING"), Type("VARCHAR(1)")).is_none());
  const ColumnStats decimals = {Value(arrow::Decimal128(5)), Value(arrow::Decimal128(7)), 0};
  EXPECT_EQ(EvolveStats(decimals, Type("DECIMAL(5, 2)"), Type("DECIMAL(9, 2)")), decimals);
  EXPECT_TRUE(EvolveStats(decimals, Type("DECIMAL(5, 2)"), Type("DECIMAL(9, 3)")).is_none());
}

// The statistics that Java stored, applied again to what it stored, do not change.
TEST(GoldenStats, OfTheFixturesReadWithTheirSchemas) {
  int columns = 0;
  for (const char* table :
       {"none", "counts", "truncate16", "full", "per_field", "sparse_store", "first_two"}) {
    const auto path = GoldenTable("metadata-stats", table);
    const auto schema = ParseTableSchema(ReadGolden(path / "schema" / "schema-0"), "schema-0").ValueOrDie();
    for (const auto& file : std::filesystem::directory_iterator(path / "manifest")) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("manifest-list-") || name.starts_with("index-")) continue;
      for (const ManifestEntry& entry : DecodeManifest(ReadGolden(file.path()), name).ValueOrDie()) {
        auto stats = ReadStats(entry.file.value_stats, entry.file.value_stats_columns, schema.fields);
        ASSERT_TRUE(stats.ok()) << table << stats.status().ToString();
        const bool dense = ParseTableOptions(schema, Access::kRead).ValueOrDie().stats_dense_store;
        const StoredStats again = BuildStats(*stats, schema.fields, dense).ValueOrDie();
        EXPECT_EQ(again.stats, entry.file.value_stats) << table;
        EXPECT_EQ(again.columns, entry.file.value_stats_columns) << table;
        columns += static_cast<int>(stats->size());
      }
    }
  }
  EXPECT_GT(columns, 50);
}

TEST(TruncateMax, OfBytesThatAreNoTextIsAnUpperBoundOrNone) {
  // Found by fuzz_stats: the cut ends in a continuation byte behind one that begins nothing.
  const std::string found("ab\xff\xff\xff\xa2\xbb\xbb\xff\x0e", 10);
  EXPECT_EQ(TruncateMax(found, 3, true), std::nullopt);
  for (const std::string value : {"a\xff\xa2zz", "a\xf8\x88\x80\x80zz", "\xa2\xa2\xa2\xa2", "a\xc3zzz",
                                  "ab\xe2\x28zz", "\xf4\x90\x80\x80zz", "a\xed\xa0\x80zz"}) {
    for (int32_t length = 1; length < 5; ++length) {
      const auto max = TruncateMax(value, length, true);
      EXPECT_TRUE(!max.has_value() || *max >= value) << length;
      EXPECT_LE(TruncateMin(value, length, true), value);
    }
  }
}

}  // namespace
}  // namespace headrace
