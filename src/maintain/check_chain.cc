// Snapshots, hints, tags, long-lived changelogs and consumers: each readable, together without a gap.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "catalog/numbered_files.h"
#include "io/store_path.h"
#include "maintain/check_run.h"

namespace headrace {
namespace {

NumberedFolder FolderOf(CheckRun* run, const Root& root, const char* name, std::string_view prefix) {
  return {run->store.get(), root.path + "/" + name, prefix};
}

std::vector<int64_t> Numbers(CheckRun* run, const NumberedFolder& folder, FindingKind unreadable) {
  Result<std::vector<int64_t>> numbers = ListNumbers(folder);
  if (numbers.ok()) return *std::move(numbers);
  run->Add(unreadable, folder.directory, numbers.status().message(), "a folder that can be listed");
  run->referred_is_complete = false;
  return {};
}

// Reads one file of the chain; nothing when it is damaged, or gone since it was listed.
std::optional<Snapshot> ReadState(CheckRun* run, const std::string& file, FindingKind unreadable) {
  const Result<std::string> bytes = ReadBounded(run->store.get(), file, kMostJsonBytes);
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) return std::nullopt;
  Result<Snapshot> snapshot = bytes.ok() ? ParseSnapshot(*bytes, file) : Result<Snapshot>(bytes.status());
  if (snapshot.ok()) return *std::move(snapshot);
  const bool newer = IsKind(snapshot.status(), ErrorKind::kUnsupported);
  run->Add(newer ? FindingKind::kDataNotRead : unreadable, file, snapshot.status().message(),
           "a whole snapshot in JSON");
  run->referred_is_complete = false;
  return std::nullopt;
}

std::vector<NamedState> ReadNumbered(CheckRun* run, const Root& root, const NumberedFolder& folder,
                                     StateKind kind, const std::vector<int64_t>& numbers) {
  const FindingKind unreadable =
      kind == StateKind::kSnapshot ? FindingKind::kSnapshotUnreadable : FindingKind::kChangelogUnreadable;
  std::vector<NamedState> states;
  for (const int64_t number : numbers) {
    std::string file = folder.PathOf(number);
    std::optional<Snapshot> snapshot = ReadState(run, file, unreadable);
    if (!snapshot.has_value()) continue;
    if (snapshot->id.value != number) {
      run->Add(FindingKind::kSnapshotIdMismatch, file, Told("id ", snapshot->id),
               Told("id ", number, ", as its name says"));
      run->referred_is_complete = false;
      continue;
    }
    RequireSchema(run, root, snapshot->schema_id, file, "it");
    states.push_back({kind, std::move(file), *std::move(snapshot)});
  }
  return states;
}

// Holes between neighbouring numbers. A listing is not one moment: a hole counts when it is still there at a second look.
void TellGaps(CheckRun* run, const NumberedFolder& folder, const std::vector<int64_t>& numbers,
              FindingKind kind) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    const int64_t first = numbers[i - 1] + 1;
    const int64_t last = numbers[i] - 1;
    if (first > last) continue;
    const auto now = run->store->Stat(folder.PathOf(first));
    const auto before = run->store->Stat(folder.PathOf(numbers[i - 1]));
    if ((now.ok() && now->has_value()) || (before.ok() && !before->has_value())) continue;
    run->Add(kind, folder.directory,
             first == last ? Told("no ", folder.prefix, first)
                           : Told("no ", folder.prefix, first, " to ", folder.prefix, last),
             Told("all of ", folder.prefix, numbers.front(), " to ", folder.prefix, numbers.back()));
  }
}

std::optional<std::string> HintText(CheckRun* run, const NumberedFolder& folder, const char* name) {
  Result<std::string> bytes = ReadBounded(run->store.get(), folder.directory + "/" + name, kMostJsonBytes);
  if (!bytes.ok()) return std::nullopt;
  std::string text = *std::move(bytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

constexpr int kHintLooks = 5;
constexpr int64_t kBetweenLooksMs = 40;

// A hint may be read between a commit and its correction: it is wrong when it stays so for a while.
void CheckHint(CheckRun* run, const NumberedFolder& folder, const char* name, FindingKind kind) {
  std::string text, right;
  for (int look = 0; look < kHintLooks; ++look) {
    if (look > 0) run->clock->SleepMs(kBetweenLooksMs);
    const std::optional<std::string> hint = HintText(run, folder, name);
    const Result<std::vector<int64_t>> numbers = ListNumbers(folder);
    if (!hint.has_value() || !numbers.ok() || numbers->empty()) return;
    text = *hint;
    right = std::to_string(kind == FindingKind::kLatestHintWrong ? numbers->back() : numbers->front());
    if (text == right) return;
  }
  run->Add(kind, folder.directory + "/" + name, "\"" + text + "\"", right);
}

void CheckSnapshots(CheckRun* run, Root* root) {
  const NumberedFolder folder = FolderOf(run, *root, "snapshot", "snapshot-");
  const std::vector<int64_t> numbers = Numbers(run, folder, FindingKind::kSnapshotUnreadable);
  TellGaps(run, folder, numbers, FindingKind::kSnapshotGap);
  root->snapshots = ReadNumbered(run, *root, folder, StateKind::kSnapshot, numbers);
  CheckHint(run, folder, "LATEST", FindingKind::kLatestHintWrong);
  CheckHint(run, folder, "EARLIEST", FindingKind::kEarliestHintWrong);
}

void CheckTotals(CheckRun* run, const Root& root) {
  for (size_t i = 1; i < root.snapshots.size(); ++i) {
    const Snapshot& before = root.snapshots[i - 1].snapshot;
    const Snapshot& after = root.snapshots[i].snapshot;
    if (after.id.value != before.id.value + 1) continue;
    if (!before.total_record_count || !after.total_record_count || !after.delta_record_count) continue;
    int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(*before.total_record_count, *after.delta_record_count, &sum);
    if (!overflow && sum == *after.total_record_count) continue;
    run->Add(FindingKind::kTotalRecordCountWrong, root.snapshots[i].file,
             Told("totalRecordCount ", *after.total_record_count),
             overflow ? std::string("a sum that fits 64 bits")
                      : Told(sum, ", the ", *before.total_record_count,
                             " before it and its deltaRecordCount ", *after.delta_record_count));
  }
}

// Long-lived changelogs stand for expired snapshots, so they must lead up to the first that has not.
void CheckChangelogs(CheckRun* run, Root* root) {
  const NumberedFolder folder = FolderOf(run, *root, "changelog", "changelog-");
  std::vector<int64_t> numbers = Numbers(run, folder, FindingKind::kChangelogUnreadable);
  root->changelogs = ReadNumbered(run, *root, folder, StateKind::kChangelog, numbers);
  if (numbers.empty()) return;
  TellGaps(run, folder, numbers, FindingKind::kChangelogGap);
  CheckHint(run, folder, "LATEST", FindingKind::kLatestHintWrong);
  CheckHint(run, folder, "EARLIEST", FindingKind::kEarliestHintWrong);
  const Result<std::optional<int64_t>> earliest =
      FindEarliestNumber(FolderOf(run, *root, "snapshot", "snapshot-"));
  if (!earliest.ok() || !earliest->has_value() || numbers.back() >= **earliest - 1) return;
  run->Add(FindingKind::kChangelogGap, folder.directory,
           Told("changelogs end at ", numbers.back(), ", snapshots begin at ", **earliest),
           "no gap between them");
}

void CheckTags(CheckRun* run, Root* root) {
  const std::string directory = root->path + "/tag";
  Result<std::vector<FileInfo>> files = run->store->List(directory);
  if (!files.ok()) {
    run->Add(FindingKind::kTagUnreadable, directory, files.status().message(), "a folder that can be listed");
    run->referred_is_complete = false;
    return;
  }
  std::sort(files->begin(), files->end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  for (const FileInfo& file : *files) {
    const std::string_view name = NameIn(file.path);
    // A tag's success file and temporary files are no tags.
    if (file.is_directory || !name.starts_with("tag-") || name.ends_with(".tmp")) continue;
    const Result<std::string> bytes = ReadBounded(run->store.get(), file.path, kMostJsonBytes);
    if (IsKind(bytes.status(), ErrorKind::kNotFound)) continue;
    Result<Tag> tag = bytes.ok() ? ParseTag(*bytes, file.path) : Result<Tag>(bytes.status());
    if (!tag.ok()) {
      run->Add(FindingKind::kTagUnreadable, file.path, tag.status().message(), "a whole tag in JSON");
      run->referred_is_complete = false;
      continue;
    }
    RequireSchema(run, *root, tag->snapshot.schema_id, file.path, "it");
    root->tags.push_back({StateKind::kTag, file.path, std::move(tag->snapshot)});
  }
}

void CheckConsumer(CheckRun* run, const std::string& file, std::optional<int64_t> first,
                   std::optional<int64_t> latest) {
  const Result<std::string> bytes = ReadBounded(run->store.get(), file, kMostJsonBytes);
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) return;
  const Result<nlohmann::json> json =
      bytes.ok() ? ParseJson(*bytes, file) : Result<nlohmann::json>(bytes.status());
  const Result<int64_t> next =
      json.ok() ? GetInt64(*json, "nextSnapshot", file) : Result<int64_t>(json.status());
  if (!next.ok()) {
    run->Add(FindingKind::kConsumerUnreadable, file, next.status().message(), "{\"nextSnapshot\" : N}");
    return;
  }
  if (latest.has_value() && *next > *latest && *next - 1 > *latest) {
    run->Add(FindingKind::kConsumerAhead, file, Told("nextSnapshot ", *next), Told("at most ", *latest + 1));
  }
  if (first.has_value() && *next < *first) {
    run->Add(FindingKind::kConsumerExpired, file, Told("nextSnapshot ", *next),
             Told("at least ", *first, ", the first whose changes are there"));
  }
}

void CheckConsumers(CheckRun* run, const Root& root) {
  const std::string directory = root.path + "/consumer";
  Result<std::vector<FileInfo>> files = run->store->List(directory);
  if (!files.ok()) {
    run->Add(FindingKind::kConsumerUnreadable, directory, files.status().message(),
             "a folder that can be listed");
    return;
  }
  std::sort(files->begin(), files->end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  const NumberedFolder snapshots = FolderOf(run, root, "snapshot", "snapshot-");
  for (const FileInfo& file : *files) {
    if (file.is_directory || !NameIn(file.path).starts_with("consumer-")) continue;
    // Looked up anew for each: commits and expiry go on.
    const auto earliest = FindEarliestNumber(snapshots);
    const auto latest = FindLatestNumber(snapshots);
    std::optional<int64_t> first = earliest.ok() ? *earliest : std::nullopt;
    // Only changelogs that lead up to the snapshots are of use.
    if (first.has_value() && !root.changelogs.empty() &&
        root.changelogs.back().snapshot.id.value >= *first - 1)
      first = std::min(*first, root.changelogs.front().snapshot.id.value);
    CheckConsumer(run, file.path, first, latest.ok() ? *latest : std::nullopt);
  }
}

}  // namespace

void CheckChain(CheckRun* run, Root* root) {
  CheckSnapshots(run, root);
  CheckTotals(run, *root);
  CheckChangelogs(run, root);
  CheckTags(run, root);
  CheckConsumers(run, *root);
}

}  // namespace headrace
