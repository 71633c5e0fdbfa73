#include "commit/expiry.h"

#include <algorithm>
#include <functional>
#include <map>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/expiry_files.h"
#include "commit/place.h"
#include "io/store_path.h"

namespace headrace {
namespace {

constexpr int64_t kForAnotherToFinishMs = 50;
// Much longer than it takes from a publish to the look at what became of it.
constexpr int64_t kForItsWriterMs = 10 * 60'000;

// Reads each snapshot or changelog once.
class History {
 public:
  explicit History(const Table& table) : table_(table) {}

  Result<std::optional<Snapshot>> FindSnapshot(SnapshotId id) {
    return Once(id, &snapshots_, headrace::FindSnapshot);
  }
  Result<std::optional<Snapshot>> FindChangelog(SnapshotId id) {
    return Once(id, &changelogs_, headrace::FindChangelog);
  }
  // Its snapshot, else its changelog.
  Result<std::optional<Snapshot>> Find(SnapshotId id) {
    HEADRACE_ASSIGN_OR_RETURN(auto found, FindSnapshot(id));
    if (found.has_value()) return found;
    return FindChangelog(id);
  }

  TimeOf times() {
    return [this](SnapshotId id) -> Result<std::optional<int64_t>> {
      HEADRACE_ASSIGN_OR_RETURN(const auto found, Find(id));
      if (!found.has_value()) return std::nullopt;
      return found->time_millis;
    };
  }

  // Those that `find` finds.
  Result<std::vector<Snapshot>> Range(
      IdRange range, const std::function<Result<std::optional<Snapshot>>(SnapshotId)>& find) {
    std::vector<Snapshot> snapshots;
    for (SnapshotId id = range.begin; id < range.end;) {
      HEADRACE_ASSIGN_OR_RETURN(auto found, find(id));
      if (found.has_value()) {
        snapshots.push_back(*std::move(found));
        ++id.value;
      } else {
        HEADRACE_ASSIGN_OR_RETURN(id, After(id));
      }
    }
    return snapshots;
  }

  // The next id that is there after one that is not, the largest when there is none: trying one by one might take for ever. So rare that
  // listing names is no cost.
  Result<SnapshotId> After(SnapshotId missing) {
    HEADRACE_RETURN_NOT_OK(List());
    const auto it = std::upper_bound(listed_->begin(), listed_->end(), missing);
    return it == listed_->end() ? SnapshotId(INT64_MAX) : *it;
  }

  // The one before; nothing when there is none.
  Result<std::optional<SnapshotId>> Before(SnapshotId missing) {
    HEADRACE_RETURN_NOT_OK(List());
    const auto it = std::lower_bound(listed_->begin(), listed_->end(), missing);
    if (it == listed_->begin()) return std::nullopt;
    return *std::prev(it);
  }

  NextThere next_there() {
    return [this](SnapshotId id) { return After(id); };
  }

 private:
  using Known = std::map<SnapshotId, std::optional<Snapshot>>;

  Result<std::optional<Snapshot>> Once(SnapshotId id, Known* known,
                                       Result<std::optional<Snapshot>> (*find)(const Table&, SnapshotId)) {
    const auto it = known->find(id);
    if (it != known->end()) return it->second;
    HEADRACE_ASSIGN_OR_RETURN(auto found, find(table_, id));
    known->emplace(id, found);
    return found;
  }

  Status List() {
    if (listed_.has_value()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(std::vector<SnapshotId> ids, ListSnapshotIds(table_));
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<SnapshotId> changelogs, ListChangelogIds(table_));
    ids.insert(ids.end(), changelogs.begin(), changelogs.end());
    std::sort(ids.begin(), ids.end());
    listed_ = std::move(ids);
    return Status::OK();
  }

  const Table& table_;
  Known snapshots_, changelogs_;
  std::optional<std::vector<SnapshotId>> listed_;  // snapshots and changelogs, ascending
};

bool CarriesPositions(const Snapshot& snapshot) {
  return std::any_of(snapshot.properties.begin(), snapshot.properties.end(), [](const auto& property) {
    return property.first.starts_with(kCarriedPrefix) && property.first != kWriterProperty;
  });
}

// The newest snapshot with our mark has all that is carried; when it is among those that are to end, that must not be lost.
Result<std::optional<SnapshotId>> FindPositions(const ExpiryFacts& facts, SnapshotId down_to,
                                                History* history) {
  std::optional<SnapshotId> id = facts.latest;
  while (id.has_value() && *id >= down_to) {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, history->Find(*id));
    if (found.has_value() && found->properties.contains(std::string(kWriterProperty)))
      return CarriesPositions(*found) ? id : std::nullopt;
    if (found.has_value()) {
      --id->value;
    } else {
      HEADRACE_ASSIGN_OR_RETURN(id, history->Before(*id));
    }
  }
  return std::nullopt;
}

Result<std::optional<ExpiryFacts>> ReadFacts(const Table& table, const ExpirySettings& settings,
                                             History* history, ExpiryPlan* plan) {
  ExpiryFacts facts;
  facts.now_ms = table.clock->NowMs();
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, FindLatestSnapshotId(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto earliest, FindEarliestSnapshotId(table));
  if (!latest.has_value() || !earliest.has_value()) return std::nullopt;
  facts.next_there = history->next_there();
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

// What reading a file that is deleted at this moment may answer.
bool MayBeGone(const Status& failure) {
  return IsKind(failure, ErrorKind::kNotFound) || IsKind(failure, ErrorKind::kSnapshotExpired) ||
         IsKind(failure, ErrorKind::kCorruption);
}

// Files of the next one that are gone are being deleted by another expiry, which is then soon done with it, or were deleted by one that was
// interrupted: that one came from history.
Result<bool> IsMisplaced(const Table& table, const Snapshot& snapshot) {
  Result<Place> place = PlaceOf(table, snapshot);
  if (!place.ok() && MayBeGone(place.status())) {
    table.clock->SleepMs(kForAnotherToFinishMs);
    place = PlaceOf(table, snapshot);
    if (!place.ok() && MayBeGone(place.status())) return false;
  }
  HEADRACE_RETURN_NOT_OK(place.status());
  return *place == Place::kBeforeIt;
}

// Whether a writer that put its snapshot before history has had the time to take it out again.
Result<bool> IsLeft(const Table& table, SnapshotId id) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, table.store->Stat(SnapshotPath(table, id)));
  return info.has_value() && table.clock->NowMs() - info->modified_ms > kForItsWriterMs;
}

// Takes out of `snapshots` those that stand before history, and gives those of them that their writers have left there: the others tell their
// writers that they have to commit anew. Only the first ones can stand there.
Result<std::vector<SnapshotId>> TakeMisplaced(const Table& table, std::vector<Snapshot>* snapshots) {
  std::vector<SnapshotId> left;
  auto it = snapshots->begin();
  for (; it != snapshots->end(); ++it) {
    HEADRACE_ASSIGN_OR_RETURN(const bool misplaced, IsMisplaced(table, *it));
    if (!misplaced) break;
    HEADRACE_ASSIGN_OR_RETURN(const bool is_left, IsLeft(table, it->id));
    if (is_left) left.push_back(it->id);
  }
  snapshots->erase(snapshots->begin(), it);
  return left;
}

// Whether another expiry has ended what this one is about to end: then an id may have been taken anew since, by a snapshot that is not of
// history. While the first one stands, all stand.
Result<bool> IsOvertaken(const Table& table, const std::vector<Snapshot>& snapshots) {
  if (snapshots.empty()) return false;
  HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table, snapshots.front().id));
  return found != snapshots.front();
}

// What is to end, read; `end` of the snapshots moves on to one that is there. False: another expiry was here meanwhile, and it went further.
Result<bool> ReadEnding(const Table& table, History* history, ExpiryPlan* plan, SnapshotsToEnd* ending) {
  IdRange& snapshots = plan->choice.snapshots;
  const IdRange& changelogs = plan->choice.changelogs;
  HEADRACE_ASSIGN_OR_RETURN(auto first_kept, history->FindSnapshot(snapshots.end));
  if (!first_kept.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(snapshots.end, history->After(snapshots.end));
    HEADRACE_ASSIGN_OR_RETURN(first_kept, history->FindSnapshot(snapshots.end));
  }
  if (!first_kept.has_value()) return false;
  ending->first_kept = *std::move(first_kept);
  HEADRACE_ASSIGN_OR_RETURN(
      ending->snapshots, history->Range(snapshots, [&](SnapshotId id) { return history->FindSnapshot(id); }));
  HEADRACE_ASSIGN_OR_RETURN(plan->misplaced, TakeMisplaced(table, &ending->snapshots));
  const SnapshotId first = ending->snapshots.empty() ? snapshots.end : ending->snapshots.front().id;
  ending->range = {first, snapshots.end};
  // What ends now becomes a changelog first; before that it is a changelog that counts, not a snapshot that has its id.
  const auto find_change = [&](SnapshotId id) {
    return id < first ? history->FindChangelog(id) : history->Find(id);
  };
  HEADRACE_ASSIGN_OR_RETURN(ending->changelogs, history->Range(changelogs, find_change));
  ending->changelog_range = changelogs;
  if (!changelogs.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(ending->first_kept_changelog, find_change(changelogs.end));
  }
  if (!ending->first_kept_changelog.has_value()) ending->changelogs.clear();
  ending->leave_changelogs = plan->choice.leave_changelogs;
  return true;
}

Result<ExpiryPlan> Plan(const Table& table, const ExpirySettings& settings) {
  ExpiryPlan plan;
  History history(table);
  HEADRACE_ASSIGN_OR_RETURN(auto facts, ReadFacts(table, settings, &history, &plan));
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
  HEADRACE_ASSIGN_OR_RETURN(const bool read, ReadEnding(table, &history, &plan, &ending));
  if (!read) return ExpiryPlan{};
  plan.snapshots = plan.misplaced;
  for (const SnapshotId id : IdsOf(ending.snapshots)) plan.snapshots.push_back(id);
  plan.changelogs = IdsOf(ending.changelogs);
  HEADRACE_RETURN_NOT_OK(FindDoomedFiles(table, ending, &plan));
  HEADRACE_ASSIGN_OR_RETURN(const bool overtaken, IsOvertaken(table, ending.snapshots));
  return overtaken ? ExpiryPlan{} : plan;
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
  const size_t misplaced = plan.misplaced.size();
  for (size_t i = 0; i < plan.snapshots.size(); ++i) {
    if (plan.choice.leave_changelogs && i >= misplaced)
      HEADRACE_RETURN_NOT_OK(WriteChangelog(table, plan.snapshots[i]));
    HEADRACE_RETURN_NOT_OK(DeleteSnapshot(table, plan.snapshots[i]));
  }
  if (plan.choice.leave_changelogs && misplaced < plan.snapshots.size()) {
    HEADRACE_RETURN_NOT_OK(WriteLatestChangelogHint(table, plan.snapshots.back()));
    if (plan.first_changelogs)
      HEADRACE_RETURN_NOT_OK(WriteEarliestChangelogHint(table, plan.snapshots[misplaced]));
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
  if (!plan.ok() && MayBeGone(plan.status())) {
    // Files of a snapshot that another expiry ends at this moment are no damage: it deletes the snapshot itself last.
    table.clock->SleepMs(kForAnotherToFinishMs);
    const auto now = FindEarliestSnapshotId(table);
    if (now.ok() && *now != before) return ExpiryPlan{};
  }
  HEADRACE_RETURN_NOT_OK(plan.status());
  HEADRACE_RETURN_NOT_OK(CarryOut(table, *plan, settings));
  // Without the hint every look for the earliest one, the next expiry's too, lists them all.
  if (plan->snapshots.empty() && before.has_value())
    HEADRACE_RETURN_NOT_OK(EnsureEarliestSnapshotHint(table, *before));
  return plan;
}

}  // namespace headrace
