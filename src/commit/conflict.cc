#include "commit/conflict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>

#include "format/deletion_vector.h"
#include "format/value.h"

namespace headrace {
namespace {

std::string Where(const Table& table, const ManifestEntry& entry) {
  return "file " + entry.file.name + " (" + table.Describe(entry.partition, entry.bucket) + ", level " +
         std::to_string(entry.file.level.value) + ")";
}

// Several numbers of buckets in one partition would make rows unreachable: a reader computes buckets from one.
Status CheckTotalBuckets(const Table& table, const std::vector<const ManifestEntry*>& entries) {
  std::map<BinaryRow, int32_t> totals;
  for (const ManifestEntry* entry : entries) {
    if (entry->total_buckets <= 0) continue;
    const auto [it, fresh] = totals.try_emplace(entry->partition, entry->total_buckets);
    if (fresh || it->second == entry->total_buckets) continue;
    return CommitConflict("committing to table ", table.name, ": ",
                          table.Describe(entry->partition, entry->bucket), " has files for ", it->second,
                          " buckets and would get some for ", entry->total_buckets,
                          "; the number of buckets of a partition changes only by overwriting it");
  }
  return Status::OK();
}

Status CheckDeletions(const Table& table, const std::vector<ManifestEntry>& live,
                      const std::vector<ManifestEntry>& delta) {
  std::unordered_set<std::string> identities;
  for (const ManifestEntry& entry : live) identities.insert(IdentityOf(entry));
  for (const ManifestEntry& entry : delta) {
    const bool is_live = identities.contains(IdentityOf(entry));
    if (entry.kind == EntryKind::kAdd && is_live)
      return CommitConflict("committing to table ", table.name, ": ", Where(table, entry),
                            " is in the table already");
    if (entry.kind == EntryKind::kDelete && !is_live)
      return CommitConflict("committing to table ", table.name, ": ", Where(table, entry),
                            " should be replaced, but another commit has removed it");
  }
  return Status::OK();
}

using LevelKey = std::tuple<BinaryRow, BucketId, Level>;

struct KeyRange {
  std::vector<Value> low;
  std::vector<Value> high;
  const ManifestEntry* entry;
};

int CompareKeys(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (const int order = CompareValues(a[i], b[i]); order != 0) return order;
  return 0;
}

Status CheckOneLevel(const Table& table, const std::vector<const ManifestEntry*>& files,
                     const std::vector<DataType>& key_types) {
  std::vector<KeyRange> ranges;
  for (const ManifestEntry* entry : files) {
    HEADRACE_ASSIGN_OR_RETURN(auto low, DecodeBinaryRow(entry->file.min_key, key_types));
    HEADRACE_ASSIGN_OR_RETURN(auto high, DecodeBinaryRow(entry->file.max_key, key_types));
    ranges.push_back({std::move(low), std::move(high), entry});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const KeyRange& a, const KeyRange& b) { return CompareKeys(a.low, b.low) < 0; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (CompareKeys(ranges[i - 1].high, ranges[i].low) < 0) continue;
    return CommitConflict("committing to table ", table.name, ": ", Where(table, *ranges[i].entry),
                          " overlaps file ", ranges[i - 1].entry->file.name,
                          " of the same level: another writer compacted this bucket meanwhile");
  }
  return Status::OK();
}

Status CheckLevels(const Table& table, const std::vector<ManifestEntry>& live,
                   const std::vector<ManifestEntry>& delta) {
  if (!table.schema->has_primary_key()) return Status::OK();
  // Only levels that gain files can start to overlap.
  std::map<LevelKey, std::vector<const ManifestEntry*>> levels;
  std::unordered_set<std::string> removed;
  const auto key_of = [](const ManifestEntry& entry) {
    return LevelKey(entry.partition, entry.bucket, entry.file.level);
  };
  for (const ManifestEntry& entry : delta) {
    if (entry.kind == EntryKind::kDelete)
      removed.insert(IdentityOf(entry));
    else if (entry.file.level > Level(0))
      levels[key_of(entry)].push_back(&entry);
  }
  for (const ManifestEntry& entry : live) {
    if (entry.file.level <= Level(0)) continue;
    const auto it = levels.find(key_of(entry));
    if (it != levels.end() && !removed.contains(IdentityOf(entry))) it->second.push_back(&entry);
  }
  const std::vector<DataType> key_types = table.schema->TypesOf(table.schema->TrimmedPrimaryKeys());
  for (const auto& [key, files] : levels) HEADRACE_RETURN_NOT_OK(CheckOneLevel(table, files, key_types));
  return Status::OK();
}

// What a compaction did with the deletes of one bucket.
struct Compacted {
  int64_t deletes = 0;  // that are in its inputs and not in its outputs
  int64_t newest = -1;  // the largest sequence number of an input that may hold deletes
  std::optional<Level> output;
  std::vector<const ManifestEntry*> inputs;
};

bool MayHoldDeletes(const ManifestEntry& entry) { return entry.file.delete_row_count.value_or(1) > 0; }

Result<bool> KeysOverlap(const ManifestEntry& a, const ManifestEntry& b,
                         const std::vector<DataType>& key_types) {
  HEADRACE_ASSIGN_OR_RETURN(const auto a_low, DecodeBinaryRow(a.file.min_key, key_types));
  HEADRACE_ASSIGN_OR_RETURN(const auto a_high, DecodeBinaryRow(a.file.max_key, key_types));
  HEADRACE_ASSIGN_OR_RETURN(const auto b_low, DecodeBinaryRow(b.file.min_key, key_types));
  HEADRACE_ASSIGN_OR_RETURN(const auto b_high, DecodeBinaryRow(b.file.max_key, key_types));
  return CompareKeys(a_low, b_high) <= 0 && CompareKeys(b_low, a_high) <= 0;
}

// A compaction drops deletes when it knows of nothing below them. A file that another writer added meanwhile, with older rows of the same
// keys, would come to light again.
Status CheckDroppedDeletes(const Table& table, const std::vector<ManifestEntry>& live,
                           const std::vector<ManifestEntry>& delta) {
  if (!table.schema->has_primary_key()) return Status::OK();
  std::map<BucketPlace, Compacted> buckets;
  std::unordered_set<std::string> removed;
  for (const ManifestEntry& entry : delta) {
    if (entry.bucket.value < 0) continue;  // waiting rows move with their deletes
    Compacted& bucket = buckets[{entry.partition, entry.bucket}];
    const bool is_input = entry.kind == EntryKind::kDelete;
    if (is_input) removed.insert(IdentityOf(entry));
    if (!is_input) bucket.output = std::max(bucket.output.value_or(Level(0)), entry.file.level);
    if (!MayHoldDeletes(entry)) continue;
    const int64_t deletes = entry.file.delete_row_count.value_or(entry.file.row_count);
    bucket.deletes += is_input ? deletes : -deletes;
    if (!is_input) continue;
    bucket.newest = std::max(bucket.newest, entry.file.max_sequence);
    bucket.inputs.push_back(&entry);
  }
  const std::vector<DataType> key_types = table.schema->TypesOf(table.schema->TrimmedPrimaryKeys());
  for (const ManifestEntry& entry : live) {
    const auto bucket = buckets.find({entry.partition, entry.bucket});
    if (bucket == buckets.end() || bucket->second.deletes <= 0) continue;
    // Above a deeper file a compaction keeps its deletes, or marks what they hide in deletion vectors: those missing lost to newer rows of
    // their keys. Where nothing else was left of it, it has no output.
    const Level nothing_left = table.options.deletion_vectors ? Level(0) : Level(INT32_MAX);
    if (entry.file.level > bucket->second.output.value_or(nothing_left)) continue;
    if (entry.file.min_sequence > bucket->second.newest || removed.contains(IdentityOf(entry))) continue;
    for (const ManifestEntry* input : bucket->second.inputs) {
      if (input->file.max_sequence < entry.file.min_sequence) continue;
      HEADRACE_ASSIGN_OR_RETURN(const bool overlap, KeysOverlap(*input, entry, key_types));
      if (overlap)
        return CommitConflict("committing to table ", table.name, ": the deletes of ", Where(table, *input),
                              " were dropped by a compaction, but they hide rows of file ", entry.file.name,
                              ", which another commit has added");
    }
  }
  return Status::OK();
}

std::vector<const ManifestEntry*> Pointers(const std::vector<ManifestEntry>& entries) {
  std::vector<const ManifestEntry*> pointers;
  for (const ManifestEntry& entry : entries) pointers.push_back(&entry);
  return pointers;
}

// An overwrite may change the number of buckets of a partition, if it leaves nothing of what was there.
Status CheckTotalAfter(const Table& table, const std::vector<ManifestEntry>& live,
                       const std::vector<ManifestEntry>& delta) {
  std::unordered_set<std::string> removed;
  std::vector<const ManifestEntry*> after;
  for (const ManifestEntry& entry : delta) {
    if (entry.kind == EntryKind::kAdd)
      after.push_back(&entry);
    else
      removed.insert(IdentityOf(entry));
  }
  if (after.empty()) return Status::OK();
  for (const ManifestEntry& entry : live)
    if (!removed.contains(IdentityOf(entry))) after.push_back(&entry);
  return CheckTotalBuckets(table, after);
}

}  // namespace

Status CheckDelta(const Table& table, const std::vector<ManifestEntry>& delta, CommitKind kind) {
  std::unordered_set<std::string> identities;
  for (const ManifestEntry& entry : delta) {
    if (!identities.insert(IdentityOf(entry)).second)
      return Invalid("committing to table ", table.name, ": ", Where(table, entry),
                     " is named twice in one change");
    if (entry.total_buckets > 0 && (entry.bucket.value < 0 || entry.bucket.value >= entry.total_buckets))
      return Invalid("committing to table ", table.name, ": ", Where(table, entry), " lies outside of the ",
                     entry.total_buckets, " buckets of its partition");
  }
  if (kind == CommitKind::kOverwrite) return Status::OK();
  return CheckTotalBuckets(table, Pointers(delta));
}

Status CheckConflicts(const Table& table, const std::vector<ManifestEntry>& live,
                      const std::vector<ManifestEntry>& delta, CommitKind kind) {
  if (kind != CommitKind::kOverwrite) {
    std::vector<const ManifestEntry*> all = Pointers(live);
    for (const ManifestEntry& entry : delta) all.push_back(&entry);
    HEADRACE_RETURN_NOT_OK(CheckTotalBuckets(table, all));
  }
  HEADRACE_RETURN_NOT_OK(CheckDeletions(table, live, delta));
  if (kind == CommitKind::kOverwrite) HEADRACE_RETURN_NOT_OK(CheckTotalAfter(table, live, delta));
  if (kind == CommitKind::kCompact) HEADRACE_RETURN_NOT_OK(CheckDroppedDeletes(table, live, delta));
  return CheckLevels(table, live, delta);
}

Status CheckDeletionVectors(const Table& table, const std::vector<ManifestEntry>& live,
                            const std::vector<ManifestEntry>& delta,
                            const std::vector<IndexManifestEntry>& index,
                            const std::vector<IndexManifestEntry>& added_index) {
  using Name = std::pair<BucketPlace, std::string>;
  const auto name_of = [](const ManifestEntry& entry) {
    return Name({entry.partition, entry.bucket}, entry.file.name);
  };
  std::set<Name> removed;
  std::set<Name> there;
  for (const ManifestEntry& entry : live) there.insert(name_of(entry));
  for (const ManifestEntry& entry : delta)
    if (entry.kind == EntryKind::kDelete) removed.insert(name_of(entry));
  for (const Name& name : removed) there.erase(name);
  for (const ManifestEntry& entry : delta) {
    if (entry.kind != EntryKind::kAdd) continue;
    there.insert(name_of(entry));
    removed.erase(name_of(entry));  // an upgrade
  }
  const auto is_added = [&](const IndexManifestEntry& entry) {
    return std::any_of(added_index.begin(), added_index.end(), [&](const IndexManifestEntry& added) {
      return added.kind == EntryKind::kAdd && added.file_name == entry.file_name;
    });
  };
  for (const IndexManifestEntry& entry : index) {
    if (entry.index_type != kDeletionVectorsIndex || !entry.deletion_vectors.has_value()) continue;
    const bool added = is_added(entry);
    for (const DeletionVectorRange& range : *entry.deletion_vectors) {
      const Name name({entry.partition, entry.bucket}, range.data_file);
      if (added ? there.contains(name) : !removed.contains(name)) continue;
      return CommitConflict("committing to table ", table.name, ": the deletion vector for file ",
                            range.data_file, " (", table.Describe(entry.partition, entry.bucket),
                            ") in index file ", entry.file_name,
                            added ? " is for a file that is not live: another commit has removed it"
                                  : " would be left without its file: another commit has deleted rows of it");
    }
  }
  return Status::OK();
}

std::vector<ManifestEntry> SharedSequences(const std::vector<ManifestEntry>& others,
                                           const std::vector<ManifestEntry>& delta) {
  std::map<BucketPlace, int64_t> first_sequence;
  for (const ManifestEntry& entry : delta) {
    // Rows that wait for a bucket have no numbers.
    if (entry.kind != EntryKind::kAdd || entry.file.level != Level(0) || entry.bucket.value < 0) continue;
    const auto [it, fresh] =
        first_sequence.try_emplace({entry.partition, entry.bucket}, entry.file.min_sequence);
    if (!fresh) it->second = std::min(it->second, entry.file.min_sequence);
  }
  std::vector<ManifestEntry> shared;
  for (const ManifestEntry& entry : others) {
    const auto it = first_sequence.find({entry.partition, entry.bucket});
    if (entry.kind == EntryKind::kAdd && it != first_sequence.end() && entry.file.max_sequence >= it->second)
      shared.push_back(entry);
  }
  return shared;
}

}  // namespace headrace
