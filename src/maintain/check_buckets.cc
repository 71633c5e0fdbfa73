// What holds among the live files of a state: files of a level do not overlap, buckets are counted alike.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "lsm/levels.h"
#include "maintain/check_states.h"

namespace headrace {
namespace {

struct PlacedFile {
  const ManifestEntry* entry;
  std::string path;
  EncodedKey min_key;
  EncodedKey max_key;
};

std::string PathText(const Root& root, const ManifestEntry& entry) {
  const Result<std::string> path = root.table.PathOf(entry);
  return path.ok() ? *path : entry.file.name;
}

void CheckDisjoint(CheckRun* run, int32_t level, std::vector<PlacedFile>* files) {
  std::sort(files->begin(), files->end(),
            [](const PlacedFile& a, const PlacedFile& b) { return a.min_key < b.min_key; });
  const PlacedFile* deepest = nullptr;  // of those before, the one that reaches furthest
  for (const PlacedFile& file : *files) {
    if (deepest != nullptr && deepest->max_key >= file.min_key) {
      run->Add(FindingKind::kLevelOverlap, file.path,
               Told("its keys overlap those of ", deepest->entry->file.name, ", both in level ", level),
               "files of one level above 0 have keys of their own");
    }
    if (deepest == nullptr || deepest->max_key < file.max_key) deepest = &file;
  }
}

void CheckLevels(CheckRun* run, const Root& root, const KeyOrder& order,
                 const std::vector<const ManifestEntry*>& bucket) {
  std::map<int32_t, std::vector<PlacedFile>> levels;
  for (const ManifestEntry* entry : bucket) {
    const int32_t level = entry->file.level.value;
    if (level <= 0) continue;
    if (level >= root.most_levels) {
      run->Add(FindingKind::kLevelBeyondMax, PathText(root, *entry), Told("level ", level),
               Told("at most ", root.most_levels - 1, ", one less than num-levels"));
    }
    const Result<TreeFilePtr> file = MakeTreeFile(order, entry->file);
    if (!file.ok()) continue;  // told where the file is looked at
    levels[level].push_back({entry, PathText(root, *entry), (*file)->min_key, (*file)->max_key});
  }
  for (auto& [level, files] : levels) CheckDisjoint(run, level, &files);
}

void CheckNames(CheckRun* run, const Root& root, const std::vector<const ManifestEntry*>& bucket) {
  std::set<std::string_view> names;
  for (const ManifestEntry* entry : bucket) {
    if (names.insert(entry->file.name).second) continue;
    run->Add(FindingKind::kFileListedTwice, PathText(root, *entry),
             Told("live twice in one bucket, once in level ", entry->file.level), "once");
  }
}

}  // namespace

void CheckBuckets(CheckRun* run, const Root& root, const NamedState& state,
                  const std::vector<ManifestEntry>& live) {
  using Place = std::pair<std::string_view, BucketId>;  // partition bytes
  std::map<Place, std::vector<const ManifestEntry*>> buckets;
  std::map<std::string_view, const ManifestEntry*> counted;  // a file of each partition
  for (const ManifestEntry& entry : live) {
    buckets[{entry.partition.bytes, entry.bucket}].push_back(&entry);
    if (entry.total_buckets <= 0) continue;
    const ManifestEntry*& first = counted[entry.partition.bytes];
    if (first == nullptr) first = &entry;
    if (first->total_buckets == entry.total_buckets) continue;
    run->Add(FindingKind::kBucketCountDiffers, PathText(root, entry),
             Told("written with ", entry.total_buckets, " buckets"),
             Told(first->total_buckets, " buckets, as ", first->file.name,
                  " of the same partition in snapshot ", state.snapshot.id));
  }
  const TableSchema& schema = *root.table.schema;
  const Result<KeyOrder> order = KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys()));
  for (const auto& [place, bucket] : buckets) {
    CheckNames(run, root, bucket);
    if (schema.has_primary_key() && order.ok()) CheckLevels(run, root, *order, bucket);
  }
}

}  // namespace headrace
