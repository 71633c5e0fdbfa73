// The public expiry over the commit room: options in, what was done and why the rest stays out.
#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "api/open_table.h"
#include "base/error.h"
#include "catalog/snapshots.h"
#include "commit/expiry.h"
#include "format/civil_time.h"
#include "format/data_type.h"
#include "format/value.h"
#include "ingest/position.h"

namespace headrace {
namespace {

// The wall clock of the machine's zone, as Java's procedure takes it.
int64_t LocalToUtcMs(const Timestamp& local) {
  const int64_t days = FloorDiv(local.millis, kMillisPerDay);
  const int64_t of_day = FloorMod(local.millis, kMillisPerDay);
  const CivilDate date = CivilFromDays(days);
  std::tm broken{};
  broken.tm_year = static_cast<int>(date.year - 1900);
  broken.tm_mon = date.month - 1;
  broken.tm_mday = date.day;
  broken.tm_hour = static_cast<int>(of_day / 3600000);
  broken.tm_min = static_cast<int>(of_day / 60000 % 60);
  broken.tm_sec = static_cast<int>(of_day / 1000 % 60);
  broken.tm_isdst = -1;
  return static_cast<int64_t>(std::mktime(&broken)) * 1000 + of_day % 1000;
}

Result<int64_t> AgeFrom(const std::string& text, int64_t now_ms) {
  const Result<int64_t> age = ParseDurationMs(text);
  if (age.ok()) return *age;
  HEADRACE_ASSIGN_OR_RETURN(const DataType type, ParseDataType("TIMESTAMP(3)"));
  const Result<Value> moment = ValueFromText(text, type);
  if (moment.ok()) return now_ms - LocalToUtcMs(std::get<Timestamp>(*moment));
  return Invalid("'", text,
                 "' is neither an age like '2 h' or PT2H nor a moment like '2026-01-31 12:00:00': ",
                 moment.status().message());
}

Result<ExpirySettings> SettingsOf(const Table& table, const ExpireOptions& options) {
  ExpirySettings settings{.retention = table.options.retention, .old_changelogs = true};
  Retention& retention = settings.retention;
  // What is said of snapshots is not said of changelogs that outlive them by the table's own options.
  if (retention.changelogs_outlive()) {
    retention.changelog_min = retention.changelog_min.value_or(retention.snapshot_min);
    retention.changelog_max = retention.changelog_max.value_or(retention.snapshot_max);
    retention.changelog_ms = retention.changelog_ms.value_or(retention.snapshot_ms);
  }
  for (const auto& [given, what] :
       {std::pair{options.retain_min, "at least"}, {options.retain_max, "at most"}})
    if (given.has_value() && *given < 1)
      return Invalid("expiring snapshots of table ", table.name, ": to retain ", what, " ", *given,
                     " snapshots; the newest one always stays, so 1 is the least");
  if (options.retain_min.has_value()) retention.snapshot_min = *options.retain_min;
  if (options.retain_max.has_value()) retention.snapshot_max = *options.retain_max;
  // Whoever says how many stay at most means it, whatever the table's least.
  if (options.retain_max.has_value() && !options.retain_min.has_value())
    retention.snapshot_min = std::min(retention.snapshot_min, retention.snapshot_max);
  if (!options.older_than.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(retention.snapshot_ms, AgeFrom(options.older_than, table.clock->NowMs()));
  }
  if (options.dry_run) retention.limit = std::numeric_limits<int32_t>::max();
  return settings;
}

// "1 h", "90 min": in the largest unit that it is a whole number of.
std::string AgeText(int64_t ms) {
  for (const auto& [unit, unit_ms] :
       {std::pair("d", kMillisPerDay), {"h", 3600000}, {"min", 60000}, {"s", 1000}}) {
    if (ms != 0 && ms % unit_ms == 0) return std::to_string(ms / unit_ms) + " " + unit;
  }
  return std::to_string(ms) + " ms";
}

// A reader that has ended for good holds until somebody ends its consumer.
std::string HowItIsLetGo(const std::string& consumer) {
  const std::string of_jobs = ingest::CommitUserOf("");
  if (consumer.rfind(of_jobs, 0) != 0)
    return "; if it has ended for good, delete consumer/consumer-" + consumer + " in the table's folder";
  return "; if that job has ended for good, `headrace jobs TABLE --drop " + consumer.substr(of_jobs.size()) +
         "` of the table that it writes lets go";
}

std::string WhyOf(const Hold& hold, const Retention& retention) {
  switch (hold.reason) {
    case HoldReason::kNewest:
      return (retention.snapshot_min == 1 ? std::string("the newest is")
                                          : "the newest " + std::to_string(retention.snapshot_min) + " are") +
             " retained (snapshot.num-retained.min)";
    case HoldReason::kYoung:
      return "its successor is younger than " + AgeText(retention.snapshot_ms) + " (snapshot.time-retained)";
    case HoldReason::kConsumer:
      return "consumer '" + hold.consumer + "' reads snapshot " + std::to_string(hold.from.value) + " next" +
             HowItIsLetGo(hold.consumer);
    case HoldReason::kPosition: return "it holds the positions of ingest jobs";
    case HoldReason::kLimit: return "no more than snapshot.expire.limit end at once";
  }
  return {};
}

void Add(const ExpiryPlan& plan, const Retention& retention, ExpireResult* result) {
  const auto add_ids = [](const std::vector<SnapshotId>& ids, std::vector<int64_t>* to) {
    for (const SnapshotId id : ids) to->push_back(id.value);
  };
  add_ids(plan.snapshots, &result->snapshots);
  add_ids(plan.changelogs, &result->changelogs);
  result->changelogs_left = plan.choice.leave_changelogs;
  for (const Consumer& consumer : plan.idle_consumers) result->consumers.push_back(consumer.id);
  for (const DoomedFiles* files : {&plan.of_snapshots, &plan.of_changelogs}) {
    result->files += static_cast<int64_t>(files->paths.size());
    // Sizes are what metadata says, which may be anything.
    result->bytes = result->bytes > INT64_MAX - files->bytes ? INT64_MAX : result->bytes + files->bytes;
  }
  result->files_kept += plan.files_kept;
  for (const std::string& keeper : plan.keepers)
    if (std::find(result->keepers.begin(), result->keepers.end(), keeper) == result->keepers.end())
      result->keepers.push_back(keeper);
  result->holds.clear();
  for (const Hold& hold : plan.choice.holds)
    result->holds.push_back({hold.from.value, WhyOf(hold, retention)});
}

Status TellWhatIsThere(const Table& table, ExpireResult* result) {
  const auto number = [](std::optional<SnapshotId> id) {
    return id.has_value() ? std::optional<int64_t>(id->value) : std::nullopt;
  };
  HEADRACE_ASSIGN_OR_RETURN(const auto earliest, FindEarliestSnapshotId(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto changelog, FindEarliestChangelogId(table));
  result->earliest = number(earliest);
  result->latest = number(latest);
  result->earliest_changelog = number(changelog);
  return Status::OK();
}

}  // namespace

Result<ExpireResult> ExpireTable(const Table& table, const ExpireOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(const ExpirySettings settings, SettingsOf(table, options));
  ExpireResult result;
  if (options.dry_run) {
    HEADRACE_ASSIGN_OR_RETURN(const ExpiryPlan plan, PlanExpiry(table, settings));
    Add(plan, settings.retention, &result);
  } else {
    for (bool more = true; more;) {
      HEADRACE_ASSIGN_OR_RETURN(const ExpiryPlan plan, Expire(table, settings));
      Add(plan, settings.retention, &result);
      more = !plan.snapshots.empty() || !plan.changelogs.empty();
    }
  }
  HEADRACE_RETURN_NOT_OK(TellWhatIsThere(table, &result));
  return result;
}

}  // namespace headrace
