#include "commit/expiry.h"

#include <algorithm>
#include <map>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/expiry_files.h"
#include "io/store_path.h"

namespace headrace {
namespace {

constexpr int64_t kForAnotherToFinishMs = 50;

// Reads each snapshot or changelog once.
class History {
 public:
  explicit History(const Table& table) : table_(table) {}

  Result<std::optional<Snapshot>> Find(SnapshotId id) {
    const auto known = read_.find(id);
    if (known != read_.end()) return known->second;
    HEADRACE_ASSIGN_OR_RETURN(auto found, FindSnapshotOrChangelog(table_, id));
    read_.emplace(id, found);
    return found;
  }

  TimeOf times() {
    return [this](SnapshotId id) -> Result<std::optional<int64_t>> {
      HEADRACE_ASSIGN_OR_RETURN(const auto found, Find(id));
      if (!found.has_value()) return std::nullopt;
      return found->time_millis;
    };
  }

  // Those that are there.
  Result<std::vector<Snapshot>> Range(IdRange range) {
    std::vector<Snapshot> snapshots;
    for (SnapshotId id = range.begin; id < range.end; ++id.value) {
      HEADRACE_ASSIGN_OR_RETURN(auto found, Find(id));
      if (found.has_value()) snapshots.push_back(*std::move(found));
    }
    return snapshots;
  }

 private:
  const Table& table_;
  std::map<SnapshotId, std::optional<Snapshot>> read_;
};

bool CarriesPositions(const Snapshot& snapshot) {
  return std::any_of(snapshot.properties.begin(), snapshot.properties.end(), [](const auto& property) {
    return property.first.starts_with(kCarriedPrefix) && property.first != kWriterProperty;
  });
}

// The newest snapshot with our mark has all that is carried; when it is among those that are to end, that must not be lost.
Result<std::optional<SnapshotId>> FindPositions(const ExpiryFacts& facts, SnapshotId down_to,
                                                History* history) {
  for (SnapshotId id = facts.latest; id >= down_to; --id.value) {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, history->Find(id));
    if (!found.has_value() || !found->properties.contains(std::string(kWriterProperty))) continue;
    if (!CarriesPositions(*found)) return std::nullopt;
    return id;
  }
  return std::nullopt;
}

Result<std::optional<ExpiryFacts>> ReadFacts(const Table& table, const ExpirySettings& settings,
                                             ExpiryPlan* plan) {
  ExpiryFacts facts;
  facts.now_ms = table.clock->NowMs();
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto earliest, FindEarliestSnapshotId(table));
  if (!latest.has_value() || !earliest.has_value()) return std::nullopt;
  facts.latest = *latest;
  facts.earliest = *earliest;
  if (settings.old_changelogs || settings.retention.changelogs_outlive()) {
    HEADRACE_ASSIGN_OR_RETURN(facts.latest_changelog, FindLatestChangelogId(table));
    HEADRACE_ASSIGN_OR_RETURN(facts.earliest_changelog, FindEarliestChangelogId(table));
  }
  HEADRACE_ASSIGN_OR_RETURN(facts.consumers, ListConsumers(table));
  plan->idle_consumers = PickIdleConsumers(facts.consumers, settings.retention, facts.now_ms);
  std::erase_if(facts.consumers, [&](const Consumer& consumer) {
    return std::any_of(plan->idle_consumers.begin(), plan->idle_consumers.end(),
                       [&](const Consumer& idle) { return idle.id == consumer.id; });
  });
  return facts;
}

std::vector<SnapshotId> IdsOf(const std::vector<Snapshot>& snapshots) {
  std::vector<SnapshotId> ids;
  for (const Snapshot& snapshot : snapshots) ids.push_back(snapshot.id);
  return ids;
}

Result<ExpiryPlan> Plan(const Table& table, const ExpirySettings& settings) {
  ExpiryPlan plan;
  History history(table);
  HEADRACE_ASSIGN_OR_RETURN(auto facts, ReadFacts(table, settings, &plan));
  if (!facts.has_value()) return plan;
  plan.first_changelogs = !facts->earliest_changelog.has_value();
  HEADRACE_ASSIGN_OR_RETURN(plan.choice, PickExpired(*facts, settings.retention, history.times()));
  const IdRange& snapshots = plan.choice.snapshots;
  const IdRange& changelogs = plan.choice.changelogs;
  if (snapshots.empty() && changelogs.empty()) return plan;
  if (settings.patient) {
    HEADRACE_ASSIGN_OR_RETURN(const bool urgent,
                              IsUrgent(*facts, settings.retention, plan.choice, history.times()));
    if (!urgent) {
      plan.choice.snapshots.end = snapshots.begin;
      plan.choice.changelogs.end = changelogs.begin;
      return plan;
    }
  }
  HEADRACE_ASSIGN_OR_RETURN(
      facts->holds_positions,
      FindPositions(*facts,
                    changelogs.empty() ? snapshots.begin : std::min(snapshots.begin, changelogs.begin),
                    &history));
  if (facts->holds_positions.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(plan.choice, PickExpired(*facts, settings.retention, history.times()));
  }

  SnapshotsToEnd ending;
  HEADRACE_ASSIGN_OR_RETURN(ending.snapshots, history.Range(snapshots));
  HEADRACE_ASSIGN_OR_RETURN(ending.changelogs, history.Range(changelogs));
  HEADRACE_ASSIGN_OR_RETURN(const auto first_kept, history.Find(snapshots.end));
  if (!changelogs.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(ending.first_kept_changelog, history.Find(changelogs.end));
  }
  // Another expiry was here meanwhile, and it went further.
  if (!first_kept.has_value()) return ExpiryPlan{};
  ending.first_kept = *first_kept;
  ending.range = snapshots;
  ending.changelog_range = changelogs;
  ending.leave_changelogs = plan.choice.leave_changelogs;
  if (!ending.first_kept_changelog.has_value()) ending.changelogs.clear();
  plan.snapshots = IdsOf(ending.snapshots);
  plan.changelogs = IdsOf(ending.changelogs);
  HEADRACE_RETURN_NOT_OK(FindDoomedFiles(table, ending, &plan));
  return plan;
}

Status CleanDirectories(const Table& table, const DoomedFiles& files) {
  for (std::string directory : files.directories) {
    while (IsBelow(directory, table.path)) {
      HEADRACE_ASSIGN_OR_RETURN(const bool removed, table.store->DeleteIfEmpty(directory));
      if (!removed) break;
      directory = ParentOf(directory);
    }
  }
  return Status::OK();
}

Status DeleteFiles(const Table& table, const DoomedFiles& files, const ExpirySettings& settings) {
  for (const std::string& path : files.paths) {
    if (!IsBelow(path, table.path))
      return Invalid("expiring snapshots of table ", table.name, ": ", path, " lies outside of it");
    HEADRACE_RETURN_NOT_OK(table.store->Delete(path));
  }
  return settings.retention.clean_empty_directories ? CleanDirectories(table, files) : Status::OK();
}

Status EndSnapshots(const Table& table, const ExpiryPlan& plan, const ExpirySettings& settings) {
  if (plan.snapshots.empty()) return Status::OK();
  HEADRACE_RETURN_NOT_OK(DeleteFiles(table, plan.of_snapshots, settings));
  for (const SnapshotId id : plan.snapshots) {
    if (plan.choice.leave_changelogs) HEADRACE_RETURN_NOT_OK(WriteChangelog(table, id));
    HEADRACE_RETURN_NOT_OK(DeleteSnapshot(table, id));
  }
  if (plan.choice.leave_changelogs) {
    HEADRACE_RETURN_NOT_OK(WriteLatestChangelogHint(table, plan.snapshots.back()));
    if (plan.first_changelogs)
      HEADRACE_RETURN_NOT_OK(WriteEarliestChangelogHint(table, plan.snapshots.front()));
  }
  return WriteEarliestSnapshotHint(table, plan.choice.snapshots.end);
}

Status EndChangelogs(const Table& table, const ExpiryPlan& plan, const ExpirySettings& settings) {
  if (plan.changelogs.empty()) return Status::OK();
  HEADRACE_RETURN_NOT_OK(DeleteFiles(table, plan.of_changelogs, settings));
  for (const SnapshotId id : plan.changelogs) HEADRACE_RETURN_NOT_OK(DeleteChangelog(table, id));
  return WriteEarliestChangelogHint(table, plan.choice.changelogs.end);
}

std::string Expiring(const Table& table) { return "expiring snapshots of table " + table.name; }

}  // namespace

Result<ExpiryPlan> PlanExpiry(const Table& table, const ExpirySettings& settings) {
  Result<ExpiryPlan> plan = Plan(table, settings);
  if (plan.ok()) return plan;
  return WithContext(Expiring(table) + " (nothing was deleted)", plan.status());
}

Status CarryOut(const Table& table, const ExpiryPlan& plan, const ExpirySettings& settings) {
  for (const Consumer& consumer : plan.idle_consumers)
    HEADRACE_RETURN_NOT_OK(
        WithContext(Expiring(table), table.store->Delete(ConsumerPath(table, consumer.id))));
  HEADRACE_RETURN_NOT_OK(WithContext(Expiring(table), EndSnapshots(table, plan, settings)));
  return WithContext(Expiring(table), EndChangelogs(table, plan, settings));
}

Result<ExpiryPlan> Expire(const Table& table, const ExpirySettings& settings) {
  HEADRACE_ASSIGN_OR_RETURN(const auto before, FindEarliestSnapshotId(table));
  Result<ExpiryPlan> plan = PlanExpiry(table, settings);
  if (!plan.ok()) {
    // Files of a snapshot that another expiry ends at this moment are no damage: it deletes the snapshot itself last.
    table.clock->SleepMs(kForAnotherToFinishMs);
    const auto now = FindEarliestSnapshotId(table);
    if (now.ok() && *now != before) return ExpiryPlan{};
    return plan;
  }
  HEADRACE_RETURN_NOT_OK(CarryOut(table, *plan, settings));
  // Without the hint every look for the earliest one, the next expiry's too, lists them all.
  if (plan->snapshots.empty() && before.has_value())
    HEADRACE_RETURN_NOT_OK(EnsureEarliestSnapshotHint(table, *before));
  return plan;
}

}  // namespace headrace
