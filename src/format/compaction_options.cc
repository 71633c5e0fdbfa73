// Options about compaction and the changelog that it makes.
#include <algorithm>

#include "format/option_reader.h"

namespace headrace {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

Status ReadTriggers(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Int("num-sorted-run.compaction-trigger", &out->compaction_trigger, 1));
  const int64_t trigger = out->compaction_trigger;
  out->stop_trigger = static_cast<int32_t>(std::min(trigger + 3, kMaxInt));
  HEADRACE_RETURN_NOT_OK(options.Int("num-sorted-run.stop-trigger", &out->stop_trigger, 1));
  out->stop_trigger = std::max(out->stop_trigger, out->compaction_trigger);
  out->num_levels = static_cast<int32_t>(std::min(trigger + 1, kMaxInt));
  HEADRACE_RETURN_NOT_OK(options.Int("num-levels", &out->num_levels, 2));
  HEADRACE_RETURN_NOT_OK(options.Int("compaction.size-ratio", &out->size_ratio_percent, 0));
  HEADRACE_RETURN_NOT_OK(
      options.Int("compaction.max-size-amplification-percent", &out->max_size_amplification_percent, 0));
  return options.Int("compaction.min.file-num", &out->append_compaction_min_files, 2);
}

Status ReadFullCompaction(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(
      options.Int("full-compaction.delta-commits", &out->full_compaction_delta_commits, 1));
  HEADRACE_RETURN_NOT_OK(
      options.Read("compaction.optimization-interval", &out->full_compaction_interval_ms, ParseDurationMs));
  HEADRACE_RETURN_NOT_OK(
      options.Read("compaction.total-size-threshold", &out->small_bucket_bytes, ParseMemorySize));
  HEADRACE_RETURN_NOT_OK(
      options.Read("compaction.incremental-size-threshold", &out->most_incremental_bytes, ParseMemorySize));
  HEADRACE_RETURN_NOT_OK(options.Bool("compaction.force-rewrite-all-files", &out->force_rewrite_all_files));
  return options.Bool("commit.force-compact", &out->commit_force_compact);
}

Status ReadOffPeak(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Int("compaction.offpeak.start.hour", &out->offpeak_start_hour, -1, 23));
  HEADRACE_RETURN_NOT_OK(options.Int("compaction.offpeak.end.hour", &out->offpeak_end_hour, -1, 24));
  return options.Int("compaction.offpeak-ratio", &out->offpeak_ratio_percent, 0);
}

Status ReadLookup(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Bool("force-lookup", &out->force_lookup));
  HEADRACE_RETURN_NOT_OK(options.Bool("compaction.force-up-level-0", &out->force_up_level_zero));
  HEADRACE_RETURN_NOT_OK(options.Bool("lookup-wait", &out->lookup_wait));
  HEADRACE_RETURN_NOT_OK(options.Read("lookup-compact", &out->lookup_compact,
                                      [](std::string_view text) -> Result<LookupCompact> {
                                        const std::string name = LowerAscii(TrimAscii(text));
                                        if (name == "radical") return LookupCompact::kRadical;
                                        if (name == "gentle") return LookupCompact::kGentle;
                                        return Invalid("'", text, "'; allowed are radical, gentle");
                                      }));
  const int64_t trigger = out->compaction_trigger;
  out->lookup_compact_max_interval = static_cast<int32_t>(std::min(2 * trigger, kMaxInt));
  HEADRACE_RETURN_NOT_OK(options.Int("lookup-compact.max-interval", &out->lookup_compact_max_interval, 1));
  out->lookup_compact_max_interval = std::max(out->lookup_compact_max_interval, out->compaction_trigger);
  return Status::OK();
}

Status ReadChangelog(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Read(
      "changelog-producer", &out->changelog_producer, [](std::string_view text) -> Result<ChangelogProducer> {
        const std::string name = LowerAscii(TrimAscii(text));
        if (name == "none") return ChangelogProducer::kNone;
        if (name == "input") return ChangelogProducer::kInput;
        if (name == "lookup") return ChangelogProducer::kLookup;
        if (name == "full-compaction") return ChangelogProducer::kFullCompaction;
        return Invalid("'", text, "'; allowed are none, input, lookup, full-compaction");
      }));
  HEADRACE_RETURN_NOT_OK(options.Bool("changelog-producer.row-deduplicate", &out->row_deduplicate));
  const std::string* ignored = options.Find("changelog-producer.row-deduplicate-ignore-fields");
  if (ignored != nullptr) out->row_deduplicate_ignored = SplitList(*ignored);
  return Status::OK();
}

}  // namespace

Status ReadCompactionOptions(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(ReadTriggers(options, out));
  HEADRACE_RETURN_NOT_OK(ReadFullCompaction(options, out));
  HEADRACE_RETURN_NOT_OK(ReadOffPeak(options, out));
  HEADRACE_RETURN_NOT_OK(ReadLookup(options, out));
  return ReadChangelog(options, out);
}

Status CheckCompactionOptions(const TableSchema& schema, const TableOptions& options) {
  for (const std::string& name : options.row_deduplicate_ignored) {
    if (schema.FieldIndex(name) < 0) {
      return Invalid("table option 'changelog-producer.row-deduplicate-ignore-fields': column '", name,
                     "' does not exist");
    }
  }
  if (options.deletion_vectors && options.changelog_producer == ChangelogProducer::kFullCompaction) {
    return Invalid(
        "table option 'deletion-vectors.enabled' = 'true' does not go with 'changelog-producer' = "
        "'full-compaction': a compaction that marks rows deleted leaves the state of the last full "
        "compaction "
        "behind; allowed are none, input, lookup");
  }
  if (options.deletion_vectors && options.merge_engine == MergeEngine::kFirstRow) {
    return Invalid(
        "table option 'deletion-vectors.enabled' = 'true' does not go with 'merge-engine' = 'first-row', "
        "whose "
        "rows are never replaced");
  }
  if (options.merge_engine == MergeEngine::kFirstRow &&
      (options.changelog_producer == ChangelogProducer::kInput ||
       options.changelog_producer == ChangelogProducer::kFullCompaction)) {
    return Invalid(
        "table option 'merge-engine' = 'first-row' goes with 'changelog-producer' = 'none' or 'lookup' "
        "alone");
  }
  return Status::OK();
}

}  // namespace headrace
