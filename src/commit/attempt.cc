#include "commit/attempt.h"

#include <algorithm>

#include "base/json.h"
#include "base/uuid.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "commit/conflict.h"
#include "commit/manifest_merge.h"
#include "commit/manifest_writer.h"
#include "commit/place.h"
#include "commit/same_table.h"
#include "commit/settle.h"

namespace headrace {
namespace {

Result<SchemaId> LatestSchemaId(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const auto id, FindLatestSchemaId(table.store.get(), table.path));
  if (!id.has_value())
    return NotFound("committing to table ", table.name, ": it has been dropped, no schema in ", table.path);
  return *id;
}

// What the part makes of the index of `latest`.
struct NewIndex {
  std::optional<std::string> carried;  // the manifest as it is
  std::vector<IndexManifestEntry> entries;
};

bool MayRemoveFiles(const CommitPart& part) { return part.kind != CommitKind::kAppend; }

// Carried by name where nothing changes: without it all deletion vectors would vanish.
Result<NewIndex> IndexOf(const Table& table, const CommitPart& part, const std::optional<Snapshot>& latest) {
  NewIndex index;
  if (latest.has_value()) index.carried = latest->index_manifest;
  if (!part.touches_index() && !(index.carried.has_value() && MayRemoveFiles(part))) return index;
  std::vector<IndexManifestEntry> before;
  if (index.carried.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(before, ReadIndexManifest(table, *index.carried));
  }
  HEADRACE_ASSIGN_OR_RETURN(index.entries, CombineIndex(table, before, part.index_changes));
  if (part.kind == CommitKind::kOverwrite) DropVectorsOfRemoved(part.delta, &index.entries);
  if (part.touches_index() || index.entries != before) index.carried.reset();
  return index;
}

Status CheckAgainstTable(const Table& table, const CommitPart& part, const std::optional<Snapshot>& latest,
                         const NewIndex& index) {
  HEADRACE_RETURN_NOT_OK(CheckDelta(table, part.delta, part.kind));
  if (!MayRemoveFiles(part) || (part.delta.empty() && !part.touches_index())) return Status::OK();
  std::vector<ManifestEntry> live;
  if (latest.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(live,
                              LiveFiles(table, *latest, {.partitions = part.Partitions(), .bucket = {}}));
  }
  HEADRACE_RETURN_NOT_OK(CheckConflicts(table, live, part.delta, part.kind));
  return CheckDeletionVectors(table, live, part.delta, index.entries, part.index_changes);
}

int64_t RowsOf(const std::vector<ManifestEntry>& entries) {
  int64_t rows = 0;
  for (const ManifestEntry& entry : entries)
    rows += entry.kind == EntryKind::kAdd ? entry.file.row_count : -entry.file.row_count;
  return rows;
}

Result<int64_t> TotalRows(const Table& table, const Snapshot& snapshot) {
  if (snapshot.total_record_count.has_value()) return *snapshot.total_record_count;
  // Very old snapshots do not tell.
  HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, snapshot));
  return RowsOf(live);
}

// Statistics are of one schema: with a newer one they no longer describe the table.
Result<std::optional<std::string>> KeptStatistics(const Table& table, const Snapshot& latest,
                                                  SchemaId schema_id) {
  if (!latest.statistics.has_value()) return std::nullopt;
  const std::string path = table.path + "/statistics/" + *latest.statistics;
  HEADRACE_ASSIGN_OR_RETURN(const auto bytes, UnlessGone(table.store->ReadAll(path)));
  if (!bytes.has_value()) return std::nullopt;
  HEADRACE_ASSIGN_OR_RETURN(const auto json, ParseJson(*bytes, path));
  HEADRACE_ASSIGN_OR_RETURN(const auto of_schema, FindInt64(json, "schemaId", path));
  if (of_schema != schema_id.value) return std::nullopt;
  return latest.statistics;
}

Result<std::optional<std::string>> WriteIndex(const NewIndex& index, ManifestWriter* writer) {
  if (index.carried.has_value()) return index.carried;
  if (index.entries.empty()) return std::nullopt;
  HEADRACE_ASSIGN_OR_RETURN(const WrittenFile file, writer->WriteIndexManifest(index.entries));
  return file.name;
}

// The manifests that `latest` made of, merged where it pays.
Result<std::vector<ManifestFileMeta>> BaseManifests(const Table& table, const std::optional<Snapshot>& latest,
                                                    ManifestWriter* writer) {
  if (!latest.has_value()) return std::vector<ManifestFileMeta>{};
  HEADRACE_ASSIGN_OR_RETURN(
      auto manifests, ReadManifestList(table, latest->base_manifest_list, latest->base_manifest_list_bytes));
  HEADRACE_ASSIGN_OR_RETURN(
      auto delta, ReadManifestList(table, latest->delta_manifest_list, latest->delta_manifest_list_bytes));
  std::move(delta.begin(), delta.end(), std::back_inserter(manifests));
  return MergeManifests(table, std::move(manifests), writer);
}

Status WriteLists(const Table& table, const CommitPart& part, const std::optional<Snapshot>& latest,
                  ManifestWriter* writer, Snapshot* snapshot) {
  HEADRACE_ASSIGN_OR_RETURN(const auto base, BaseManifests(table, latest, writer));
  HEADRACE_ASSIGN_OR_RETURN(const WrittenFile base_list, writer->WriteList(base));
  snapshot->base_manifest_list = base_list.name;
  snapshot->base_manifest_list_bytes = base_list.size_bytes;

  HEADRACE_ASSIGN_OR_RETURN(const auto delta, writer->WriteManifests(part.delta));
  HEADRACE_ASSIGN_OR_RETURN(const WrittenFile delta_list, writer->WriteList(delta));
  snapshot->delta_manifest_list = delta_list.name;
  snapshot->delta_manifest_list_bytes = delta_list.size_bytes;

  if (part.changelog.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto changelog, writer->WriteManifests(part.changelog));
  HEADRACE_ASSIGN_OR_RETURN(const WrittenFile changelog_list, writer->WriteList(changelog));
  snapshot->changelog_manifest_list = changelog_list.name;
  snapshot->changelog_manifest_list_bytes = changelog_list.size_bytes;
  return Status::OK();
}

std::optional<int64_t> Later(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return std::max(*a, *b);
}

Result<Snapshot> PrepareSnapshot(const Table& table, const CommitPart& part, const SnapshotFacts& facts,
                                 const std::optional<Snapshot>& latest, const NewIndex& index,
                                 ManifestWriter* writer) {
  if (latest.has_value() && latest->id.value == INT64_MAX)
    return Unsupported("committing to table ", table.name,
                       ": its latest snapshot has the largest id there is, ", latest->id,
                       "; no snapshot can follow it");
  Snapshot snapshot;
  snapshot.uuid = NewUuid();
  snapshot.id = SnapshotId(latest.has_value() ? latest->id.value + 1 : 1);
  HEADRACE_ASSIGN_OR_RETURN(snapshot.schema_id, LatestSchemaId(table));
  HEADRACE_RETURN_NOT_OK(WriteLists(table, part, latest, writer, &snapshot));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.index_manifest, WriteIndex(index, writer));
  snapshot.commit_user = facts.user;
  snapshot.commit_identifier = facts.identifier;
  snapshot.commit_kind = part.kind;
  snapshot.time_millis = table.clock->NowMs();
  snapshot.delta_record_count = RowsOf(part.delta);
  snapshot.changelog_record_count = RowsOf(part.changelog);
  snapshot.total_record_count = *snapshot.delta_record_count;
  snapshot.watermark = facts.watermark;
  snapshot.properties = facts.properties;
  snapshot.next_row_id = 0;
  if (latest.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t before, TotalRows(table, *latest));
    *snapshot.total_record_count += before;
    // Time travel looks for the last snapshot before a time: a clock set back must not hide the newer ones.
    snapshot.time_millis = std::max(snapshot.time_millis, latest->time_millis);
    snapshot.watermark = Later(latest->watermark, facts.watermark);
    snapshot.next_row_id = latest->next_row_id.value_or(0);
    HEADRACE_ASSIGN_OR_RETURN(snapshot.statistics, KeptStatistics(table, *latest, snapshot.schema_id));
  }
  return snapshot;
}

// Whether what the attempt was built on is still what stands there: rolled back or replaced meanwhile, it must not be built upon.
Result<bool> StillStands(const Table& table, const std::optional<Snapshot>& base) {
  if (!base.has_value()) return true;
  HEADRACE_ASSIGN_OR_RETURN(const auto found, FindSnapshot(table, base->id));
  return found == base;
}

// A snapshot that got into another table than it was made for is taken out again, unless somebody has built upon it.
void TakeBack(const Table& table, const Snapshot& snapshot, ManifestWriter* writer) {
  const auto newest = FindLatestSnapshotId(table);
  if (!newest.ok() || !newest->has_value() || **newest != snapshot.id) return;
  if (table.store->Delete(SnapshotPath(table, snapshot.id)).ok()) writer->DeleteWritten();
}

// While what it was built on stands it cannot have got into the past, for snapshots end in order.
Result<Place> PlaceOn(const Table& table, const std::optional<Snapshot>& base, const Snapshot& snapshot,
                      const CommitPart& part) {
  HEADRACE_ASSIGN_OR_RETURN(const bool stands, StillStands(table, base));
  if (base.has_value() && stands) return Place::kInHistory;
  return PlaceOf(table, snapshot, &part.delta);
}

AttemptResult Unknown(Snapshot snapshot, Status cause) {
  AttemptResult result;
  result.outcome = Outcome::kUnknown;
  result.snapshot = std::move(snapshot);
  result.cause = std::move(cause);
  return result;
}

AttemptResult Lost(Snapshot snapshot, LostTo to) {
  AttemptResult result;
  result.snapshot = std::move(snapshot);
  result.lost_to = to;
  return result;
}

// Into the past: it goes, and then what only it names.
AttemptResult TakeOut(const Table& table, Snapshot snapshot, ManifestWriter* writer) {
  const Status deleted = table.store->Delete(SnapshotPath(table, snapshot.id));
  if (deleted.ok()) {
    writer->DeleteWritten();
    return Lost(std::move(snapshot), LostTo::kExpiry);
  }
  Status cause = CommitUnknown("snapshot ", snapshot.id, " of table ", table.name,
                               " was published after the snapshots around it had expired, and could not be "
                               "deleted: ",
                               deleted.message());
  AttemptResult result = Unknown(std::move(snapshot), std::move(cause));
  result.unplaced = true;
  return result;
}

// After a publish that reported success. The files of a replaced snapshot stay: somebody may have read it.
Result<AttemptResult> Acknowledge(const Table& table, Snapshot snapshot, const std::optional<Snapshot>& base,
                                  const CommitPart& part, ManifestWriter* writer) {
  if (const Status same = CheckSameTable(table); IsKind(same, ErrorKind::kNotFound)) {
    TakeBack(table, snapshot, writer);
    return same;
  }
  const Result<Place> place = PlaceOn(table, base, snapshot, part);
  if (place.ok() && *place == Place::kBeforeIt) return TakeOut(table, std::move(snapshot), writer);
  if (!place.ok() || *place == Place::kUnknown) {
    Status cause = CommitUnknown("snapshot ", snapshot.id, " of table ", table.name,
                                 " was published, but those around it have ended meanwhile",
                                 place.ok() ? "" : ": " + place.status().message());
    AttemptResult result = Unknown(std::move(snapshot), std::move(cause));
    result.unplaced = true;
    return result;
  }
  const Result<bool> there = StaysThere(table, snapshot);
  if (!there.ok()) {
    Status cause = CommitUnknown("snapshot ", snapshot.id, " of table ", table.name,
                                 " was published, but could not be read again: ", there.status().message());
    return Unknown(std::move(snapshot), std::move(cause));
  }
  if (*there) {
    AttemptResult result;
    result.outcome = Outcome::kPublished;
    result.snapshot = std::move(snapshot);
    return result;
  }
  Status cause = CommitUnknown("snapshot ", snapshot.id, " of table ", table.name,
                               " was published and then replaced by another writer");
  AttemptResult result = Unknown(std::move(snapshot), std::move(cause));
  result.replaced = true;
  return result;
}

// Right before the publish, since writing the manifests takes a while. False: another attempt is needed.
Result<bool> MayPublish(const Table& table, const std::optional<Snapshot>& latest) {
  HEADRACE_RETURN_NOT_OK(CheckSameTable(table));
  return StillStands(table, latest);
}

}  // namespace

Result<AttemptResult> TryCommit(const Table& table, const CommitPart& part, const SnapshotFacts& facts,
                                const std::optional<Snapshot>& latest) {
  HEADRACE_ASSIGN_OR_RETURN(const NewIndex index, IndexOf(table, part, latest));
  HEADRACE_RETURN_NOT_OK(CheckAgainstTable(table, part, latest, index));
  ManifestWriter writer(table);
  Result<Snapshot> prepared = PrepareSnapshot(table, part, facts, latest, index, &writer);
  if (!prepared.ok()) {
    writer.DeleteWritten();
    return prepared.status();
  }
  Snapshot snapshot = std::move(*prepared);
  const Result<bool> may_publish = MayPublish(table, latest);
  if (!may_publish.ok() || !*may_publish) {
    writer.DeleteWritten();
    HEADRACE_RETURN_NOT_OK(may_publish.status());
    return Lost(std::move(snapshot), LostTo::kReplacement);
  }
  const Result<PublishResult> published =
      table.store->PublishIfAbsent(SnapshotPath(table, snapshot.id), SerializeSnapshot(snapshot));
  // Any failure of the publish may hide a success: nothing is cleaned after it.
  if (!published.ok()) return Unknown(std::move(snapshot), published.status());
  if (*published == PublishResult::kExists) {
    writer.DeleteWritten();
    return Lost(std::move(snapshot), LostTo::kWriter);
  }
  return Acknowledge(table, std::move(snapshot), latest, part, &writer);
}

}  // namespace headrace
