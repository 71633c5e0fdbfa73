// Manifest lists and manifests of a state, and what they fold to.
#include "maintain/check_states.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/json.h"
#include "file/manifest_file.h"
#include "format/column_stats.h"

namespace headrace {
namespace {

std::string ManifestFile(const CheckRun& run, const std::string& name) {
  return run.path + "/manifest/" + name;
}

size_t Mixed(size_t a, size_t b) { return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2)); }

size_t HashOf(const ManifestFileMeta& manifest) {
  size_t hash = std::hash<std::string>()(manifest.name);
  for (const int64_t number :
       {manifest.size_bytes, manifest.added_files, manifest.deleted_files, manifest.schema_id.value,
        int64_t{manifest.min_bucket.value_or(-9)}, int64_t{manifest.max_bucket.value_or(-9)},
        int64_t{manifest.min_level.value_or(-9)}, int64_t{manifest.max_level.value_or(-9)}}) {
    hash = Mixed(hash, std::hash<int64_t>()(number));
  }
  hash = Mixed(hash, std::hash<std::string>()(manifest.partition_stats.min_values.bytes));
  return Mixed(hash, std::hash<std::string>()(manifest.partition_stats.max_values.bytes));
}

int64_t SaturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

std::string_view WhatOf(StateKind kind) {
  switch (kind) {
    case StateKind::kSnapshot: return "snapshot ";
    case StateKind::kTag: return "the tag of snapshot ";
    case StateKind::kChangelog: return "long-lived changelog ";
  }
  return "";
}

std::string NamedBy(const NamedState& state) {
  return Told(WhatOf(state.kind), state.snapshot.id, " names it");
}

}  // namespace

// The entries of base and delta by identity. Their order means nothing: a file is added once in its life and deleted once.
struct StateChecker::Fold {
  struct Count {
    int32_t adds = 0;
    int32_t deletes = 0;
    const ManifestEntry* entry = nullptr;
  };
  std::unordered_map<std::string, Count> files;

  void Take(const std::vector<ManifestEntry>& entries) {
    for (const ManifestEntry& entry : entries) {
      Count& count = files[IdentityOf(entry)];
      (entry.kind == EntryKind::kAdd ? count.adds : count.deletes) += 1;
      if (count.entry == nullptr || entry.kind == EntryKind::kAdd) count.entry = &entry;
    }
  }
  // The same for the same set of live files, in whatever order; of other sets it differs as hashes do.
  uint64_t LiveHash() const {
    uint64_t sum = 0;
    for (const auto& [identity, count] : files) {
      if (count.adds > 0 && count.deletes == 0) sum += Mixed(std::hash<std::string>()(identity), 1);
    }
    return sum;
  }
};

std::optional<std::vector<ManifestFileMeta>> StateChecker::ReadList(const NamedState& state,
                                                                    const std::string& list,
                                                                    std::optional<int64_t> list_bytes) {
  const std::string path = ManifestFile(*run_, list);
  run_->Refer(path);
  ++run_->looked_at.manifests;
  const Result<std::string> bytes = ReadBounded(run_->store.get(), path, kMostManifestBytes);
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) {
    run_->Add(FindingKind::kManifestListMissing, path, "no such file", NamedBy(state));
    return std::nullopt;
  }
  const bool first_time = checked_lists_.insert(list).second;
  if (bytes.ok() && list_bytes.has_value() && *list_bytes != static_cast<int64_t>(bytes->size()) &&
      first_time) {
    run_->Add(FindingKind::kManifestListSizeWrong, path, Told(bytes->size(), " bytes"),
              Told(*list_bytes, " bytes, as ", WhatOf(state.kind), state.snapshot.id, " says"));
  }
  auto manifests =
      bytes.ok() ? ReadManifestList(*bytes, path) : Result<std::vector<ManifestFileMeta>>(bytes.status());
  if (manifests.ok()) return *std::move(manifests);
  if (first_time)
    run_->Add(FindingKind::kManifestListUnreadable, path, manifests.status().message(), "a manifest list");
  return std::nullopt;
}

std::optional<std::vector<ManifestEntry>> StateChecker::ReadOne(const ManifestFileMeta& manifest,
                                                                const std::string& list_path) {
  const bool first_time = checked_manifests_.insert(HashOf(manifest)).second;
  const std::string path = ManifestFile(*run_, manifest.name);
  run_->Refer(path);
  const Result<std::string> bytes = ReadBounded(run_->store.get(), path, kMostManifestBytes);
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) {
    if (first_time)
      run_->Add(FindingKind::kManifestMissing, path, "no such file",
                "manifest list " + list_path + " names it");
    return std::nullopt;
  }
  if (first_time) ++run_->looked_at.manifests;
  if (first_time && bytes.ok() && manifest.size_bytes != static_cast<int64_t>(bytes->size())) {
    run_->Add(FindingKind::kManifestSizeWrong, path, Told(bytes->size(), " bytes"),
              Told(manifest.size_bytes, " bytes, as the list says"));
  }
  auto entries = bytes.ok() ? ReadManifest(*bytes, path) : Result<std::vector<ManifestEntry>>(bytes.status());
  if (!entries.ok()) {
    if (first_time)
      run_->Add(FindingKind::kManifestUnreadable, path, entries.status().message(), "a manifest");
    return std::nullopt;
  }
  if (first_time) CheckManifest(manifest, *entries, path);
  return *std::move(entries);
}

void StateChecker::CheckManifest(const ManifestFileMeta& manifest, const std::vector<ManifestEntry>& entries,
                                 const std::string& path) {
  int64_t added = 0;
  int64_t largest_schema = -1;
  std::optional<int32_t> wrong_bucket, wrong_level;
  for (const ManifestEntry& entry : entries) {
    if (entry.kind == EntryKind::kAdd) ++added;
    largest_schema = std::max(largest_schema, entry.file.schema_id.value);
    const int32_t bucket = entry.bucket.value;
    const int32_t level = entry.file.level.value;
    if (manifest.min_bucket.value_or(bucket) > bucket || manifest.max_bucket.value_or(bucket) < bucket)
      wrong_bucket = bucket;
    if (manifest.min_level.value_or(level) > level || manifest.max_level.value_or(level) < level)
      wrong_level = level;
  }
  const int64_t deleted = static_cast<int64_t>(entries.size()) - added;
  if (added != manifest.added_files || deleted != manifest.deleted_files) {
    run_->Add(FindingKind::kManifestCountsWrong, path, Told(added, " files added, ", deleted, " deleted"),
              Told(manifest.added_files, " added, ", manifest.deleted_files, " deleted, as the list says"));
  }
  if (wrong_bucket.has_value()) {
    run_->Add(FindingKind::kManifestBoundsWrong, path, Told("an entry of bucket ", *wrong_bucket),
              Told("buckets ", manifest.min_bucket.value_or(0), " to ", manifest.max_bucket.value_or(0),
                   ", as the list says"));
  }
  if (wrong_level.has_value()) {
    run_->Add(FindingKind::kManifestBoundsWrong, path, Told("an entry of level ", *wrong_level),
              Told("levels ", manifest.min_level.value_or(0), " to ", manifest.max_level.value_or(0),
                   ", as the list says"));
  }
  if (!entries.empty() && largest_schema != manifest.schema_id.value) {
    run_->Add(FindingKind::kManifestSchemaIdWrong, path, Told("largest schema id ", largest_schema),
              Told(manifest.schema_id, ", as the list says"));
  }
  CheckPartitionStats(manifest, entries, path);
}

void StateChecker::CheckPartitionStats(const ManifestFileMeta& manifest,
                                       const std::vector<ManifestEntry>& entries, const std::string& path) {
  const std::vector<DataField> fields = root_->table.PartitionFields();
  if (fields.empty() || entries.empty()) return;
  const Result<std::vector<ColumnStats>> stats = ReadStats(manifest.partition_stats, std::nullopt, fields);
  if (!stats.ok()) {
    run_->Add(FindingKind::kManifestPartitionStatsWrong, path, stats.status().message(),
              "bounds of the partition columns");
    return;
  }
  const std::vector<DataType> types = root_->table.schema->TypesOf(root_->table.schema->partition_keys);
  std::unordered_set<std::string> seen;
  for (const ManifestEntry& entry : entries) {
    if (!seen.insert(entry.partition.bytes).second) continue;
    const Result<std::vector<Value>> values = DecodeBinaryRow(entry.partition, types);
    if (!values.ok()) continue;  // told where its file is looked at
    for (size_t i = 0; i < values->size(); ++i) {
      const Value& value = (*values)[i];
      const ColumnStats& bounds = (*stats)[i];
      const bool outside = IsNull(value) ? bounds.null_count == 0
                                         : !IsNull(bounds.min) && (CompareValues(value, bounds.min) < 0 ||
                                                                   CompareValues(value, bounds.max) > 0);
      if (!outside) continue;
      run_->Add(FindingKind::kManifestPartitionStatsWrong, path,
                "an entry of partition " + fields[i].name + "=" +
                    (IsNull(value) ? "NULL" : ToText(value, types[i])),
                IsNull(value) ? std::string("no null, as the list says")
                              : ToText(bounds.min, types[i]) + " to " + ToText(bounds.max, types[i]) +
                                    ", as the list says");
      return;
    }
  }
}

StateChecker::Entries StateChecker::Read(const NamedState& state, const std::string& list,
                                         std::optional<int64_t> list_bytes) {
  Entries result;
  const std::optional<std::vector<ManifestFileMeta>> manifests = ReadList(state, list, list_bytes);
  result.complete = manifests.has_value();
  if (!manifests.has_value()) return result;
  std::set<std::string_view> names;
  for (const ManifestFileMeta& manifest : *manifests) {
    if (!names.insert(manifest.name).second) {
      run_->Add(FindingKind::kManifestListedTwice, ManifestFile(*run_, list),
                "manifest " + manifest.name + " twice", "each once");
      continue;
    }
    std::optional<std::vector<ManifestEntry>> entries = ReadOne(manifest, list);
    result.complete &= entries.has_value();
    if (!entries.has_value()) continue;
    std::move(entries->begin(), entries->end(), std::back_inserter(result.entries));
    run_->Progressed();
  }
  if (!result.complete) run_->referred_is_complete = false;
  return result;
}

void StateChecker::CheckFold(const NamedState& state, const Fold& fold, const Entries& delta) {
  const Snapshot& snapshot = state.snapshot;
  int64_t rows = 0;
  for (const auto& [identity, count] : fold.files) {
    const std::string& name = count.entry->file.name;
    if (count.adds > 1) {
      run_->Add(FindingKind::kAddedTwice, state.file,
                Told("data file ", name, " is added ", count.adds, " times"), "once");
    }
    if (count.deletes > count.adds || count.deletes > 1) {
      run_->Add(FindingKind::kDeletedWithoutAdd, state.file,
                count.adds == 0 ? "data file " + name + " is deleted and was never added"
                                : Told("data file ", name, " is deleted ", count.deletes, " times"),
                "what is deleted was live");
    }
    if (count.adds > 0 && count.deletes == 0) rows = SaturatedSum(rows, count.entry->file.row_count);
  }
  if (snapshot.total_record_count.has_value() && *snapshot.total_record_count != rows) {
    run_->Add(FindingKind::kTotalRecordCountWrong, state.file,
              Told("totalRecordCount ", *snapshot.total_record_count),
              Told(rows, ", the rows of its live files"));
  }
  int64_t change = 0;
  for (const ManifestEntry& entry : delta.entries) {
    const int64_t count = entry.file.row_count;
    change = SaturatedSum(change, entry.kind == EntryKind::kAdd ? count : -count);
  }
  if (snapshot.delta_record_count.has_value() && *snapshot.delta_record_count != change) {
    run_->Add(FindingKind::kDeltaRecordCountWrong, state.file,
              Told("deltaRecordCount ", *snapshot.delta_record_count),
              Told(change, ", the rows its own entries add less those they delete"));
  }
}

void StateChecker::CheckData(const NamedState& state) {
  const Snapshot& snapshot = state.snapshot;
  Entries base = Read(state, snapshot.base_manifest_list, snapshot.base_manifest_list_bytes);
  Entries delta = Read(state, snapshot.delta_manifest_list, snapshot.delta_manifest_list_bytes);
  ReferTo(base.entries);
  ReferTo(delta.entries);
  Fold fold;
  fold.Take(base.entries);
  const uint64_t base_live = fold.LiveHash();
  fold.Take(delta.entries);
  const bool complete = base.complete && delta.complete;
  if (complete) CheckFold(state, fold, delta);
  const bool is_before =
      state.kind == StateKind::kSnapshot && next_.has_value() && next_->id.value - 1 == snapshot.id.value;
  if (is_before && complete && fold.LiveHash() != next_->base_live) {
    run_->Add(FindingKind::kBaseDiffers, next_->file, "its base manifest list adds up to other files",
              Told("the live files of snapshot ", snapshot.id));
  }
  next_.reset();
  if (base.complete && state.kind == StateKind::kSnapshot) next_ = {snapshot.id, state.file, base_live};

  std::vector<ManifestEntry> live;
  for (Entries* part : {&base, &delta}) {
    for (ManifestEntry& entry : part->entries) {
      if (entry.kind != EntryKind::kAdd) continue;
      const Fold::Count& count = fold.files.at(IdentityOf(entry));
      if (count.deletes == 0 && count.entry == &entry) live.push_back(std::move(entry));
    }
  }
  CheckIndexes(run_, *root_, state, live);
  for (const ManifestEntry& entry : live) files_.Check(entry, FileRole::kData);
  CheckBuckets(run_, *root_, state, live);
}

void StateChecker::CheckChangelog(const NamedState& state) {
  const Snapshot& snapshot = state.snapshot;
  if (!snapshot.changelog_manifest_list.has_value()) return;
  const Entries changelog =
      Read(state, *snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_bytes);
  ReferTo(changelog.entries);
  int64_t rows = 0;
  std::unordered_set<std::string> seen;
  for (const ManifestEntry& entry : changelog.entries) {
    if (entry.kind != EntryKind::kAdd) {
      run_->Add(FindingKind::kDeletedWithoutAdd, state.file,
                "changelog file " + entry.file.name + " is deleted", "changelog files are only ever added");
      continue;
    }
    if (!seen.insert(IdentityOf(entry)).second) {
      run_->Add(FindingKind::kAddedTwice, state.file, "changelog file " + entry.file.name + " is added twice",
                "once");
    }
    rows = SaturatedSum(rows, entry.file.row_count);
    files_.Check(entry, FileRole::kChangelog);
  }
  if (changelog.complete && snapshot.changelog_record_count.has_value() &&
      *snapshot.changelog_record_count != rows) {
    run_->Add(FindingKind::kChangelogRecordCountWrong, state.file,
              Told("changelogRecordCount ", *snapshot.changelog_record_count),
              Told(rows, ", the changes in its changelog files"));
  }
}

void StateChecker::CheckStatistics(const NamedState& state) {
  if (!state.snapshot.statistics.has_value()) return;
  const std::string& name = *state.snapshot.statistics;
  const std::string path = run_->path + "/statistics/" + name;
  run_->Refer(path);
  const Result<std::string> bytes = ReadBounded(run_->store.get(), path, kMostJsonBytes);
  const Status readable = bytes.ok() ? ParseJson(*bytes, path).status() : bytes.status();
  if (!readable.ok()) run_->Add(FindingKind::kStatisticsMissing, path, readable.message(), NamedBy(state));
}

// Deleted files too: whether a file that is there is an orphan is not for the state that deleted it to say.
void StateChecker::ReferTo(const std::vector<ManifestEntry>& entries) {
  if (!run_->options.all) return;
  for (const ManifestEntry& entry : entries) {
    const Result<std::string> path = root_->table.PathOf(entry);
    if (!path.ok()) continue;
    const std::string directory = path->substr(0, path->rfind('/') + 1);
    run_->Refer(*path);
    for (const std::string& extra : entry.file.extra_files) run_->Refer(directory + extra);
  }
}

// What is no part of a state any more, as far as it is still there: nothing is demanded of it.
void StateChecker::ReferToList(const std::string& list) {
  if (!run_->options.all) return;
  const std::string path = ManifestFile(*run_, list);
  run_->Refer(path);
  const Result<std::string> bytes = ReadBounded(run_->store.get(), path, kMostManifestBytes);
  const auto manifests =
      bytes.ok() ? ReadManifestList(*bytes, path) : Result<std::vector<ManifestFileMeta>>(bytes.status());
  if (!manifests.ok()) return;
  for (const ManifestFileMeta& manifest : *manifests) {
    const std::string file = ManifestFile(*run_, manifest.name);
    run_->Refer(file);
    const Result<std::string> content = ReadBounded(run_->store.get(), file, kMostManifestBytes);
    const auto entries =
        content.ok() ? ReadManifest(*content, file) : Result<std::vector<ManifestEntry>>(content.status());
    if (entries.ok()) ReferTo(*entries);
  }
}

void StateChecker::Check(const NamedState& state) {
  const int number = run_->findings.BeginState();
  ++run_->looked_at.snapshots;
  run_->Progressed();
  // What an expired snapshot left is for its changes alone; a tag is for its rows alone.
  if (state.kind != StateKind::kChangelog) {
    CheckData(state);
    CheckStatistics(state);
  }
  if (state.kind != StateKind::kTag) CheckChangelog(state);
  if (state.kind == StateKind::kChangelog) {
    ReferToList(state.snapshot.base_manifest_list);
    ReferToList(state.snapshot.delta_manifest_list);
  } else if (state.kind == StateKind::kTag && state.snapshot.changelog_manifest_list.has_value()) {
    ReferToList(*state.snapshot.changelog_manifest_list);
  }
  // Expiry deletes files before the snapshot that names them: whether it is gone is asked when everything else is done.
  if (run_->findings.EndState()) run_->doubtful.push_back({number, state.file});
}

}  // namespace headrace
