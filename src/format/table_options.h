// The table of options: what Paimon knows, what Headrace does with each, and the options of one table parsed once.
//
// Every option that Paimon knows is one row: supported, harmless (does not change what is read or written), refused for
// writing, or refused for reading, with the reason. Below this header nobody sees a string key. Keys that Paimon does not
// know are kept in the schema and warned about once. `docs/options.md` is generated from the same rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/data_type.h"
#include "format/manifest.h"
#include "format/merge_rules.h"
#include "format/table_schema.h"

namespace headrace {

enum class OptionSupport { kSupported, kHarmless, kRefusedForWriting, kRefusedForReading };

struct OptionRow {
  std::string_view key;  // a word in angle brackets stands for anything, as in fields.<f>.aggregate-function
  std::string_view default_text;
  OptionSupport support;
  // For options of which only some values are built: those values, comma separated; others are refused as `support` says. A refused
  // option without any may not be set at all.
  std::string_view built_values;
  std::string_view meaning;  // one sentence
};

std::span<const OptionRow> OptionTable();
// The row of a key: an exact one before a pattern, a longer pattern before a shorter; nullptr for keys Paimon does not know.
const OptionRow* FindOption(std::string_view key);

enum class MergeEngine { kDeduplicate, kPartialUpdate, kAggregation, kFirstRow };
enum class ChangelogProducer { kNone, kInput, kLookup, kFullCompaction };
enum class LookupCompact { kRadical, kGentle };
enum class BucketFunction { kDefault, kMod };
enum class IntegerEncoding { kPlain, kDelta };
// How a row of a table finds its bucket.
enum class BucketMode {
  kFixed,    // bucket = n: by the hash of its bucket key
  kUnaware,  // bucket = -1, no primary key: all rows lie in bucket 0
  kDynamic,  // bucket = -1, the primary key holds the partition keys: by the HASH index of its partition
  kCrossPartition,  // bucket = -1, it does not: a key lies in one partition and moves when that column changes
  kPostponed,       // bucket = -2: rows wait in bucket -2 until a compaction gives each its bucket
};
enum class SpillCodec { kNone, kLz4, kZstd };
enum class StatsMode { kNone, kCounts, kTruncate, kFull };

struct ColumnStatsMode {
  StatsMode mode = StatsMode::kTruncate;
  int32_t length = 16;  // kTruncate: characters or bytes
  bool operator==(const ColumnStatsMode&) const = default;
};

// How long snapshots, and the changelogs that outlive them, are kept.
struct Retention {
  int32_t snapshot_min = 10;                    // snapshot.num-retained.min: so many newest ones always stay
  int32_t snapshot_max = 2147483647;            // snapshot.num-retained.max: more than that end however young
  int64_t snapshot_ms = 3600000;                // snapshot.time-retained
  int32_t limit = 50;                           // snapshot.expire.limit: at most so many end at once
  std::optional<int32_t> changelog_min;         // changelog.num-retained.min; nothing: the snapshots'
  std::optional<int32_t> changelog_max;         // changelog.num-retained.max; nothing: the snapshots'
  std::optional<int64_t> changelog_ms;          // changelog.time-retained; nothing: the snapshots'
  std::optional<int64_t> consumer_ms;           // consumer.expiration-time; nothing: consumers never end
  bool consumers_hold_changelogs_only = false;  // consumer.changelog-only
  bool clean_empty_directories = false;         // snapshot.clean-empty-directories

  // Whether an expired snapshot leaves its changelog behind.
  bool changelogs_outlive() const {
    return changelog_min.value_or(snapshot_min) > snapshot_min ||
           changelog_max.value_or(snapshot_max) > snapshot_max ||
           changelog_ms.value_or(snapshot_ms) > snapshot_ms;
  }
};

struct TableOptions {
  int32_t bucket = -1;                                        // bucket
  BucketFunction bucket_function = BucketFunction::kDefault;  // bucket-function.type
  int64_t dynamic_bucket_target_rows = 2000000;               // dynamic-bucket.target-row-num
  std::optional<int32_t> dynamic_bucket_max;                  // dynamic-bucket.max-buckets; nothing: 32767
  std::optional<int32_t> postpone_buckets;      // postpone.default-bucket-num; nothing: by rows or size
  int64_t postpone_target_bytes = 1LL << 30;    // postpone.target-size-per-bucket
  std::optional<int64_t> postpone_target_rows;  // postpone.target-row-num-per-bucket; nothing: by size
  MergeEngine merge_engine = MergeEngine::kDeduplicate;             // merge-engine
  std::vector<std::string> sequence_fields;                         // sequence.field
  bool sequence_descending = false;                                 // sequence.field.sort-order
  bool ignore_delete = false;                                       // ignore-delete
  MergeRules merge_rules;                                           // of partial-update and aggregation
  bool ignore_update_before = false;                                // ignore-update-before
  std::string kind_column;                                          // rowkind.field; empty: none
  ChangelogProducer changelog_producer = ChangelogProducer::kNone;  // changelog-producer
  bool write_only = false;                                          // write-only
  bool thin_mode = false;                                           // data-file.thin-mode

  std::string data_file_prefix = "data-";            // data-file.prefix
  std::string changelog_file_prefix = "changelog-";  // changelog-file.prefix
  std::string data_file_path_directory;  // data-file.path-directory; below the table's folder, or empty
  std::string partition_default_name = "__DEFAULT_PARTITION__";  // partition.default-name
  bool partition_legacy_name = true;                             // partition.legacy-name

  std::string file_compression = "zstd";       // file.compression
  int32_t zstd_level = 1;                      // file.compression.zstd-level
  std::string changelog_compression;           // changelog-file.compression; empty: as file_compression
  int64_t target_file_bytes = 0;               // target-file-size; default 128 MB with a key, 256 MB without
  int64_t write_buffer_bytes = 256LL << 20;    // write-buffer-size
  bool write_buffer_spillable = true;          // write-buffer-spillable
  int64_t spill_disk_bytes = INT64_MAX;        // write-buffer-spill.max-disk-size, for each bucket
  SpillCodec spill_codec = SpillCodec::kZstd;  // spill-compression
  int32_t spill_zstd_level = 1;                // spill-compression.zstd-level
  int32_t spill_fan_in = 128;                  // local-sort.max-num-file-handles
  std::optional<bool> parquet_dictionary;      // parquet.enable.dictionary
  IntegerEncoding integer_encoding = IntegerEncoding::kDelta;  // headrace.parquet.integer-encoding

  int32_t compaction_trigger = 5;                        // num-sorted-run.compaction-trigger
  int32_t stop_trigger = 8;                              // num-sorted-run.stop-trigger; default trigger + 3
  int32_t num_levels = 6;                                // num-levels; default trigger + 1
  int32_t size_ratio_percent = 1;                        // compaction.size-ratio
  int32_t max_size_amplification_percent = 200;          // compaction.max-size-amplification-percent
  int32_t append_compaction_min_files = 5;               // compaction.min.file-num
  std::optional<int32_t> full_compaction_delta_commits;  // full-compaction.delta-commits
  std::optional<int64_t> full_compaction_interval_ms;    // compaction.optimization-interval
  std::optional<int64_t> small_bucket_bytes;             // compaction.total-size-threshold
  std::optional<int64_t> most_incremental_bytes;         // compaction.incremental-size-threshold
  int32_t offpeak_start_hour = -1;                       // compaction.offpeak.start.hour; -1: none
  int32_t offpeak_end_hour = -1;                         // compaction.offpeak.end.hour, exclusive
  int32_t offpeak_ratio_percent = 0;                     // compaction.offpeak-ratio, on top of the size ratio
  bool force_up_level_zero = false;                      // compaction.force-up-level-0
  bool force_rewrite_all_files = false;                  // compaction.force-rewrite-all-files
  bool commit_force_compact = false;                     // commit.force-compact
  LookupCompact lookup_compact = LookupCompact::kRadical;  // lookup-compact
  int32_t lookup_compact_max_interval =
      10;                        // lookup-compact.max-interval; default 2 * trigger, at least trigger
  bool lookup_wait = true;       // lookup-wait
  bool row_deduplicate = false;  // changelog-producer.row-deduplicate
  std::vector<std::string> row_deduplicate_ignored;  // changelog-producer.row-deduplicate-ignore-fields

  ManifestEncoding manifest_encoding;                       // manifest.compression
  int64_t manifest_target_bytes = 8LL << 20;                // manifest.target-file-size
  int64_t manifest_full_compaction_bytes = 16LL << 20;      // manifest.full-compaction-threshold-size
  int32_t manifest_merge_min_count = 30;                    // manifest.merge-min-count
  bool manifest_drop_delete_stats = false;                  // manifest.delete-file-drop-stats
  ColumnStatsMode stats_mode;                               // metadata.stats-mode
  std::map<std::string, ColumnStatsMode> field_stats_mode;  // fields.<f>.stats-mode
  std::map<int32_t, ColumnStatsMode> level_stats_mode;      // metadata.stats-mode.per.level
  bool stats_dense_store = true;                            // metadata.stats-dense-store
  int32_t stats_first_columns = -1;                         // metadata.stats-keep-first-n-columns

  int32_t commit_max_retries = 10;           // commit.max-retries
  int64_t commit_timeout_ms = -1;            // commit.timeout; -1: none
  int64_t commit_min_retry_wait_ms = 10;     // commit.min-retry-wait
  int64_t commit_max_retry_wait_ms = 10000;  // commit.max-retry-wait

  Retention retention;

  bool deletion_vectors = false;            // deletion-vectors.enabled
  bool deletion_bitmap64 = false;           // deletion-vectors.bitmap64
  bool deletion_merge_on_read = false;      // deletion-vectors.merge-on-read
  int64_t deletion_file_bytes = 2LL << 20;  // deletion-vector.index-file.target-size
  double delete_ratio_threshold = 0.2;      // compaction.delete-ratio-threshold
  bool index_beside_data = false;           // index-file-in-data-file-dir
  bool force_lookup = false;                // force-lookup

  // Whether compactions look at what deeper levels hold of a key, and take every level-0 file along.
  bool needs_lookup() const {
    return merge_engine == MergeEngine::kFirstRow || changelog_producer == ChangelogProducer::kLookup ||
           deletion_vectors || force_lookup;
  }
  // Whether compactions take all of level 0 along even where the tree's shape asks for none.
  bool takes_level_zero() const { return needs_lookup() || force_up_level_zero; }
  // Whether a commit waits until all of level 0 is compacted.
  bool waits_for_lookup() const { return needs_lookup() && lookup_wait; }
  // Whether a scan passes over level 0: its rows are shown once a compaction has set them against those deeper.
  bool scans_skip_level_zero() const {
    return deletion_vectors ? !deletion_merge_on_read : merge_engine == MergeEngine::kFirstRow;
  }
  Level max_level() const { return Level(num_levels - 1); }
};

BucketMode BucketModeOf(const TableSchema& schema, const TableOptions& options);

enum class Access { kRead, kWrite };

// The options of a table for an access. Refused options and values give kUnsupported naming option, value and reason;
// malformed values give kInvalid. `unknown` (optional) collects keys that Paimon does not know.
Result<TableOptions> ParseTableOptions(const TableSchema& schema, Access access,
                                       std::vector<std::string>* unknown = nullptr);

// What a table's schema must be besides: names, keys and what options say of columns (MakeTableSchema).
Status CheckTableSchema(const TableSchema& schema, Access access);

// "128 mb", "500 bytes", "1024"; "1 h", "10 s", "500 ms", ISO-8601 "PT10S".
Result<int64_t> ParseMemorySize(std::string_view text);
Result<int64_t> ParseDurationMs(std::string_view text);

// The Markdown of docs/options.md.
std::string OptionsPage();

}  // namespace headrace
