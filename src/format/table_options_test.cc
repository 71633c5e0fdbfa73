#include "format/table_options.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/golden_files.h"
#include "format/option_reader.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Options = std::map<std::string, std::string>;

TableSchema Keyed(Options options) {
  TableSchema schema;
  schema.fields = ParseColumns("k INT NOT NULL, v STRING, t BIGINT").ValueOrDie();
  schema.primary_keys = {"k"};
  options.emplace("bucket", "2");
  schema.options = std::move(options);
  return schema;
}

TEST(ParseTableOptions, DefaultsAreThoseOfPaimon) {
  const TableOptions options = ParseTableOptions(Keyed({}), Access::kWrite).ValueOrDie();
  EXPECT_EQ(options.target_file_bytes, 128LL << 20);
  EXPECT_EQ(options.num_levels, 6);
  EXPECT_EQ(options.stop_trigger, 8);
  EXPECT_EQ(options.max_level(), Level(5));
  EXPECT_EQ(options.stats_mode, (ColumnStatsMode{StatsMode::kTruncate, 16}));
  TableSchema append = Keyed({});
  append.primary_keys.clear();
  append.options = {};
  EXPECT_EQ(ParseTableOptions(append, Access::kRead)->target_file_bytes, 256LL << 20);
  EXPECT_EQ(ParseTableOptions(append, Access::kRead)->bucket, -1);
}

TEST(ParseTableOptions, ReadsEveryOptionOfTheStruct) {
  const auto parsed = ParseTableOptions(Keyed({{"bucket", "7"},
                                               {"bucket-function.type", "MOD"},
                                               {"sequence.field", "t, v"},
                                               {"sequence.field.sort-order", "Descending"},
                                               {"ignore-delete", "TRUE"},
                                               {"changelog-producer", "input"},
                                               {"write-only", "true"},
                                               {"data-file.thin-mode", "true"},
                                               {"data-file.prefix", "d-"},
                                               {"changelog-file.prefix", "c-"},
                                               {"data-file.path-directory", "data/"},
                                               {"partition.default-name", "none"},
                                               {"partition.legacy-name", "false"},
                                               {"file.compression", "LZ4"},
                                               {"file.compression.zstd-level", "3"},
                                               {"changelog-file.compression", "none"},
                                               {"target-file-size", "1 mb"},
                                               {"write-buffer-size", "4 kb"},
                                               {"parquet.enable.dictionary", "false"},
                                               {"num-sorted-run.compaction-trigger", "3"},
                                               {"num-sorted-run.stop-trigger", "2"},
                                               {"num-levels", "4"},
                                               {"compaction.size-ratio", "5"},
                                               {"compaction.max-size-amplification-percent", "150"},
                                               {"compaction.min.file-num", "9"},
                                               {"full-compaction.delta-commits", "6"},
                                               {"manifest.compression", "snappy"},
                                               {"manifest.target-file-size", "1 mb"},
                                               {"manifest.full-compaction-threshold-size", "2 mb"},
                                               {"manifest.merge-min-count", "4"},
                                               {"manifest.delete-file-drop-stats", "true"},
                                               {"metadata.stats-mode", "counts"},
                                               {"fields.v.stats-mode", "truncate(4)"},
                                               {"metadata.stats-mode.per.level", "0:none,5:full"},
                                               {"metadata.stats-dense-store", "false"},
                                               {"metadata.stats-keep-first-n-columns", "2"},
                                               {"commit.max-retries", "3"},
                                               {"commit.timeout", "1 min"},
                                               {"commit.min-retry-wait", "5"},
                                               {"commit.max-retry-wait", "PT1.5S"},
                                               {"snapshot.num-retained.min", "2"},
                                               {"snapshot.num-retained.max", "20"},
                                               {"snapshot.time-retained", "2 h"},
                                               {"snapshot.expire.limit", "5"},
                                               {"changelog.num-retained.min", "3"},
                                               {"changelog.num-retained.max", "30"},
                                               {"changelog.time-retained", "1 d"},
                                               {"consumer.expiration-time", "7 d"},
                                               {"consumer.changelog-only", "true"},
                                               {"snapshot.expire.clean-empty-directories", "true"}}),
                                        Access::kWrite);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableOptions& o = *parsed;
  EXPECT_EQ(o.bucket, 7);
  EXPECT_EQ(o.bucket_function, BucketFunction::kMod);
  EXPECT_THAT(o.sequence_fields, ElementsAre("t", "v"));
  EXPECT_TRUE(o.sequence_descending && o.ignore_delete && o.write_only && o.thin_mode &&
              o.manifest_drop_delete_stats);
  EXPECT_EQ(o.changelog_producer, ChangelogProducer::kInput);
  EXPECT_EQ(
      o.data_file_prefix + o.changelog_file_prefix + o.data_file_path_directory + o.partition_default_name,
      "d-c-datanone");
  EXPECT_FALSE(o.partition_legacy_name || o.stats_dense_store || *o.parquet_dictionary);
  EXPECT_EQ(o.file_compression + o.changelog_compression, "lz4none");
  EXPECT_EQ(o.zstd_level, 3);
  EXPECT_EQ(o.manifest_encoding.codec, AvroCodec::kSnappy);
  EXPECT_EQ(o.manifest_encoding.zstd_level, 3);
  EXPECT_EQ(o.target_file_bytes, 1 << 20);
  EXPECT_EQ(o.write_buffer_bytes, 4096);
  EXPECT_EQ(o.compaction_trigger, 3);
  EXPECT_EQ(o.stop_trigger, 3) << "never below the compaction trigger";
  EXPECT_EQ(o.num_levels, 4);
  EXPECT_EQ(o.full_compaction_delta_commits, 6);
  EXPECT_EQ(o.stats_mode.mode, StatsMode::kCounts);
  EXPECT_EQ(o.field_stats_mode.at("v").length, 4);
  EXPECT_EQ(o.level_stats_mode.at(5).mode, StatsMode::kFull);
  EXPECT_EQ(o.stats_first_columns, 2);
  EXPECT_EQ(o.commit_timeout_ms, 60000);
  EXPECT_EQ(o.commit_min_retry_wait_ms, 5);
  EXPECT_EQ(o.commit_max_retry_wait_ms, 1500);
  const Retention& kept = o.retention;
  EXPECT_EQ(kept.snapshot_min, 2);
  EXPECT_EQ(kept.snapshot_max, 20);
  EXPECT_EQ(kept.snapshot_ms, 2 * 3600000);
  EXPECT_EQ(kept.limit, 5);
  EXPECT_EQ(kept.changelog_min, 3);
  EXPECT_EQ(kept.changelog_max, 30);
  EXPECT_EQ(kept.changelog_ms, 24 * 3600000);
  EXPECT_EQ(kept.consumer_ms, 7 * 24 * 3600000);
  EXPECT_TRUE(kept.consumers_hold_changelogs_only && kept.clean_empty_directories);
  EXPECT_TRUE(kept.changelogs_outlive());
}

TEST(ParseTableOptions, ChangelogsOutliveTheirSnapshotsWhereAnyOfTheirLimitsIsHigher) {
  const auto outlive = [](Options options) {
    return ParseTableOptions(Keyed(std::move(options)), Access::kWrite)
        .ValueOrDie()
        .retention.changelogs_outlive();
  };
  EXPECT_FALSE(outlive({}));
  EXPECT_FALSE(outlive({{"changelog.time-retained", "1 h"}}));
  EXPECT_TRUE(outlive({{"changelog.time-retained", "61 min"}}));
  EXPECT_TRUE(outlive({{"changelog.num-retained.min", "11"}}));
  EXPECT_TRUE(outlive({{"snapshot.num-retained.max", "20"}, {"changelog.num-retained.max", "21"}}));
  EXPECT_FALSE(outlive({{"snapshot.num-retained.max", "20"}}));
}

TEST(ParseTableOptions, ALeastAboveTheMostCannotBeWrittenWith) {
  for (const Options& options :
       {Options{{"snapshot.num-retained.max", "9"}}, Options{{"changelog.num-retained.max", "9"}}}) {
    EXPECT_TRUE(ParseTableOptions(Keyed(options), Access::kRead).ok());
    const Status status = ParseTableOptions(Keyed(options), Access::kWrite).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid)) << status;
  }
}

TEST(ParseTableOptions, RefusesByNameForTheAccessThatIsConcerned) {
  struct Case {
    Options options;
    bool readable;
  };
  const Case cases[] = {
      {{{"file.format", "orc"}}, false},
      {{{"branch", "dev"}}, false},
      {{{"type", "format-table"}}, false},
      {{{"scan.snapshot-id", "3"}}, false},
      {{{"record-level.expire-time", "1 d"}}, false},
      {{{"data-evolution.enabled", "true"}}, false},
      {{{"file-index.bloom-filter.columns", "v"}}, true},
      {{{"tag.automatic-creation", "process-time"}}, true},
      {{{"data-file.external-paths", "s3://x"}}, true},
      {{{"row-tracking.enabled", "true"}}, true},
      {{{"manifest.format", "orc"}}, true},
      {{{"write.sequence-number-init-mode", "snapshot"}}, true},
  };
  for (const Case& c : cases) {
    const std::string key = c.options.begin()->first;
    const Status writing = ParseTableOptions(Keyed(c.options), Access::kWrite).status();
    EXPECT_TRUE(IsKind(writing, ErrorKind::kUnsupported)) << key;
    EXPECT_THAT(writing.message(), HasSubstr("'" + key + "'"));
    EXPECT_EQ(ParseTableOptions(Keyed(c.options), Access::kRead).ok(), c.readable) << key;
  }
}

TEST(ParseTableOptions, ReadsHowDeletedRowsAreMarked) {
  const TableOptions options = ParseTableOptions(Keyed({{"deletion-vectors.enabled", "true"},
                                                        {"deletion-vectors.bitmap64", "true"},
                                                        {"deletion-vector.index-file.target-size", "1 kb"},
                                                        {"compaction.delete-ratio-threshold", "0.5"},
                                                        {"index-file-in-data-file-dir", "true"}}),
                                                 Access::kRead)
                                   .ValueOrDie();
  EXPECT_TRUE(options.deletion_vectors && options.deletion_bitmap64 && options.index_beside_data);
  EXPECT_TRUE(options.scans_skip_level_zero() && options.needs_lookup());
  EXPECT_EQ(options.deletion_file_bytes, 1024);
  EXPECT_EQ(options.delete_ratio_threshold, 0.5);
  EXPECT_FALSE(ParseTableOptions(
                   Keyed({{"deletion-vectors.enabled", "true"}, {"deletion-vectors.merge-on-read", "true"}}),
                   Access::kRead)
                   ->scans_skip_level_zero());
  const Status wrong =
      ParseTableOptions(Keyed({{"compaction.delete-ratio-threshold", "1.5"}}), Access::kRead).status();
  EXPECT_TRUE(IsKind(wrong, ErrorKind::kInvalid)) << wrong;
}

TEST(ParseTableOptions, RefusesCompactionsThatCannotMakeTheirChangelog) {
  TableOptions options;
  options.deletion_vectors = true;
  options.changelog_producer = ChangelogProducer::kFullCompaction;
  EXPECT_THAT(CheckCompactionOptions(Keyed({}), options).message(),
              AllOf(HasSubstr("deletion-vectors.enabled"), HasSubstr("full-compaction")));
  options.changelog_producer = ChangelogProducer::kInput;
  EXPECT_TRUE(CheckCompactionOptions(Keyed({}), options).ok());
  options.merge_engine = MergeEngine::kFirstRow;
  EXPECT_THAT(CheckCompactionOptions(Keyed({}), options).message(), HasSubstr("first-row"));
  options.deletion_vectors = false;
  EXPECT_THAT(CheckCompactionOptions(Keyed({}), options).message(), HasSubstr("'none' or 'lookup'"));
  options.changelog_producer = ChangelogProducer::kLookup;
  EXPECT_TRUE(CheckCompactionOptions(Keyed({}), options).ok());
  EXPECT_THAT(ParseTableOptions(Keyed({{"changelog-producer.row-deduplicate-ignore-fields", "v, nowhere"}}),
                                Access::kRead)
                  .status()
                  .message(),
              HasSubstr("'nowhere' does not exist"));
}

TEST(ParseTableOptions, ReadsWhenCompactionsStart) {
  const TableOptions options = *ParseTableOptions(Keyed({{"num-sorted-run.compaction-trigger", "4"},
                                                         {"compaction.optimization-interval", "10 min"},
                                                         {"compaction.total-size-threshold", "1 mb"},
                                                         {"compaction.incremental-size-threshold", "2 mb"},
                                                         {"compaction.offpeak.start.hour", "22"},
                                                         {"compaction.offpeak.end.hour", "6"},
                                                         {"compaction.offpeak-ratio", "30"},
                                                         {"lookup-compact", "GENTLE"},
                                                         {"lookup-compact.max-interval", "3"}}),
                                                  Access::kRead);
  EXPECT_EQ(options.full_compaction_interval_ms, 600000);
  EXPECT_EQ(options.small_bucket_bytes, 1 << 20);
  EXPECT_EQ(options.most_incremental_bytes, 2 << 20);
  EXPECT_EQ(options.offpeak_start_hour, 22);
  EXPECT_EQ(options.offpeak_end_hour, 6);
  EXPECT_EQ(options.offpeak_ratio_percent, 30);
  EXPECT_EQ(options.lookup_compact, LookupCompact::kGentle);
  EXPECT_EQ(options.lookup_compact_max_interval, 4) << "never below the trigger";
  EXPECT_EQ(ParseTableOptions(Keyed({}), Access::kRead)->lookup_compact_max_interval, 10);
}

TEST(ParseTableOptions, TakesTheHarmlessValueOfARefusedOption) {
  for (const auto& [key, value] : Options{{"deletion-vectors.enabled", "false"},
                                          {"merge-engine", "DEDUPLICATE"},
                                          {"branch", "main"},
                                          {"row-tracking.enabled", "False"},
                                          {"changelog-file.format", "parquet"},
                                          {"type", "TABLE"}}) {
    EXPECT_TRUE(ParseTableOptions(Keyed({{key, value}}), Access::kWrite).ok()) << key;
  }
}

TEST(ParseTableOptions, MalformedValuesAreInvalidAndNamed) {
  for (const auto& [key, value] : Options{{"bucket", "x"},
                                          {"ignore-delete", "yes"},
                                          {"target-file-size", "1 parsec"},
                                          {"commit.timeout", "later"},
                                          {"metadata.stats-mode", "truncate(0)"},
                                          {"num-levels", "1"},
                                          {"metadata.stats-mode.per.level", "none"},
                                          {"target-file-size", "0"},
                                          {"data-file.path-directory", "../elsewhere"},
                                          {"data-file.prefix", "a/b"},
                                          {"partition.default-name", " "},
                                          {"fields.v.stats-mode", "some"}}) {
    const Status status = ParseTableOptions(Keyed({{key, value}}), Access::kRead).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid)) << key;
    EXPECT_THAT(status.message(), HasSubstr("'" + key + "'"));
  }
}

TEST(ParseTableOptions, CollectsKeysThatPaimonDoesNotKnow) {
  std::vector<std::string> unknown;
  ASSERT_TRUE(ParseTableOptions(Keyed({{"my.own", "1"}, {"bucketz", "2"}, {"lookup.cache-rows", "5"}}),
                                Access::kWrite, &unknown)
                  .ok());
  EXPECT_THAT(unknown, ElementsAre("bucketz", "my.own"));
}

TEST(ParseTableOptions, OldNamesCountUnlessTodaysNameIsThere) {
  EXPECT_TRUE(
      ParseTableOptions(Keyed({{"deduplicate.ignore-delete", "true"}}), Access::kRead)->ignore_delete);
  EXPECT_FALSE(ParseTableOptions(Keyed({{"deduplicate.ignore-delete", "true"}, {"ignore-delete", "false"}}),
                                 Access::kRead)
                   ->ignore_delete);
  EXPECT_FALSE(ParseTableOptions(Keyed({{"log.scan", "from-timestamp"}}), Access::kRead).ok());
}

TEST(ParseTableOptions, DefaultValuesOfColumnsAreRefusedForWriting) {
  TableSchema schema = Keyed({});
  schema.fields[1].default_value = "x";
  EXPECT_TRUE(ParseTableOptions(schema, Access::kRead).ok());
  EXPECT_TRUE(IsKind(ParseTableOptions(schema, Access::kWrite).status(), ErrorKind::kUnsupported));
}

TEST(OptionTable, IsSortedAndRowsAreFoundByTheirOwnKeys) {
  const auto table = OptionTable();
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(FindOption(table[i].key), &table[i]) << table[i].key;
    EXPECT_TRUE(table[i].meaning.ends_with('.')) << table[i].key;
  }
  EXPECT_EQ(FindOption("fields.a.b.stats-mode")->key, "fields.<f>.stats-mode");
  EXPECT_EQ(FindOption("file-index.bloom-filter.v.fpp")->key, "file-index.<type>.<f>.<option>");
  EXPECT_EQ(FindOption("tag.num-retained-max")->key, "tag.<option>");
  EXPECT_EQ(FindOption("tag."), nullptr);
}

TEST(OptionTable, OptionsOfEveryFixtureAreKnown) {
  int tables = 0;
  for (const auto& path : GoldenFiles("schema", "schema-")) {
    auto schema = ParseTableSchema(ReadGolden(path), path.string());
    if (!schema.ok()) continue;
    for (const auto& [key, value] : schema->options)
      EXPECT_NE(FindOption(key), nullptr) << path << " " << key;
    for (const Access access : {Access::kRead, Access::kWrite}) {
      const Status status = ParseTableOptions(*schema, access).status();
      EXPECT_TRUE(status.ok() || IsKind(status, ErrorKind::kUnsupported)) << path << status.ToString();
    }
    ++tables;
  }
  EXPECT_GT(tables, 190);
}

TEST(ParseMemorySize, TakesTheUnitsOfPaimon) {
  for (const auto& [text, bytes] : std::map<std::string, int64_t>{{"128 mb", 128LL << 20},
                                                                  {"500 bytes", 500},
                                                                  {"1024", 1024},
                                                                  {"2K", 2048},
                                                                  {" 1 gibibytes ", 1LL << 30},
                                                                  {"3t", 3LL << 40},
                                                                  {"7b", 7}}) {
    EXPECT_EQ(*ParseMemorySize(text), bytes) << text;
  }
  for (const char* text : {"", "mb", "-1 mb", "1 pb", "99999999999 tb", "1.5 gb"})
    EXPECT_FALSE(ParseMemorySize(text).ok()) << text;
}

TEST(ParseDurationMs, TakesTheUnitsOfPaimonAndIso8601) {
  for (const auto& [text, ms] : std::map<std::string, int64_t>{{"1 h", 3600000},
                                                               {"10 s", 10000},
                                                               {"500 ms", 500},
                                                               {"7", 7},
                                                               {"2 days", 172800000},
                                                               {"3min", 180000},
                                                               {"1500 micros", 1},
                                                               {"PT10S", 10000},
                                                               {"P1DT2H3M4.5S", 93784500},
                                                               {"pt0.25s", 250},
                                                               {"5 seconds", 5000}}) {
    EXPECT_EQ(*ParseDurationMs(text), ms) << text;
  }
  for (const char* text :
       {"", "h", "-1 s", "1 fortnight", "P", "PT", "PT5X", "P1H", "PT1.5M", "PT-5S", "999999999999999 d"}) {
    EXPECT_FALSE(ParseDurationMs(text).ok()) << text;
  }
}

TEST(ParseTableOptions, KnowsHowRowsFindTheirBuckets) {
  const auto mode_of = [](const TableSchema& schema) {
    return BucketModeOf(schema, *ParseTableOptions(schema, Access::kRead));
  };
  TableSchema keyed = Keyed({{"bucket", "-1"}});
  EXPECT_EQ(mode_of(keyed), BucketMode::kDynamic);
  keyed.partition_keys = {keyed.fields.back().name};
  EXPECT_EQ(mode_of(keyed), BucketMode::kCrossPartition);
  keyed.primary_keys.push_back(keyed.fields.back().name);
  EXPECT_EQ(mode_of(keyed), BucketMode::kDynamic);
  keyed.options["bucket"] = "3";
  EXPECT_EQ(mode_of(keyed), BucketMode::kFixed);
  keyed.primary_keys.clear();
  keyed.options["bucket"] = "-1";
  EXPECT_EQ(mode_of(keyed), BucketMode::kUnaware);
}

TEST(ParseTableOptions, TakesDynamicBuckets) {
  const auto parsed = ParseTableOptions(Keyed({{"bucket", "-1"},
                                               {"dynamic-bucket.target-row-num", "40"},
                                               {"dynamic-bucket.max-buckets", "100000"}}),
                                        Access::kWrite);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->dynamic_bucket_target_rows, 40);
  EXPECT_EQ(parsed->dynamic_bucket_max, 32767);
  for (const char* wrong : {"0", "-2", "x"}) {
    EXPECT_TRUE(
        IsKind(ParseTableOptions(Keyed({{"dynamic-bucket.max-buckets", wrong}}), Access::kRead).status(),
               ErrorKind::kInvalid))
        << wrong;
  }
}

TEST(OptionsPage, IsTheFileInDocs) {
  const auto path = std::filesystem::path(HEADRACE_FIXTURES) / ".." / ".." / "docs" / "options.md";
  if (std::getenv("HEADRACE_WRITE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << OptionsPage();
  EXPECT_EQ(ReadGolden(path), OptionsPage()) << "run the test once with HEADRACE_WRITE_DOCS=1";
}

}  // namespace
}  // namespace headrace
